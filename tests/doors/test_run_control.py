"""Runs that wait for a person: asked at the terminal, left waiting, and gone on with from the command line."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.store.run_log import SqliteRunLog
from tests.doors.program import JEEVES, STOPPED_IS_NOT_HANGING, Outcome, Program, processes_that_mention, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.doors.test_warm import is_agent, signal_all
from tests.examples import long_but

pytestmark = pytest.mark.long

REVIEWED = ("--pipeline", "code_analysis_reviewed")


def left_waiting(jeeves: Program, repo: Path, question: str = QUESTION) -> str:
    """A run of the reviewed pipeline that waits and that nobody drives; its id."""
    outcome = jeeves.ask(question, repo, *REVIEWED, "--wait")
    assert outcome.status == 4, outcome.err
    document = outcome.document
    assert document["terminal_reason"] is None
    assert f"jeeves runs resume {document['run_id']}" in outcome.err
    return str(document["run_id"])


def resume(jeeves: Program, *args: str) -> Outcome:
    return jeeves.run("runs", "resume", *args)


# --- without a system


def test_a_run_that_waits_is_gone_on_with_from_its_log(jeeves: Program, repo: Path) -> None:
    plain = jeeves.ask(QUESTION, repo).answers().document
    run_id = left_waiting(jeeves, repo)
    document = resume(jeeves, run_id, "--approve", "--json").answers().document
    assert (document["run_id"], document["terminal_reason"]) == (run_id, "completed")
    assert (document["answer"], document["citations"]) == (plain["answer"], plain["citations"])
    resume(jeeves, run_id, "--approve").complains(2, run_id, "over (completed)")


def test_the_answer_must_fit_the_question_and_nothing_is_changed_otherwise(jeeves: Program, repo: Path) -> None:
    run_id = left_waiting(jeeves, repo)
    log = SqliteRunLog(jeeves.state_dir / "runs" / "local.sqlite")
    before = log.events(RunId(run_id))
    resume(jeeves, run_id).complains(2, "approve, reject or modify")
    resume(jeeves, run_id, "--text", "fine").complains(2, "approve, reject or modify")
    resume(jeeves, run_id, "--approve", "--reject").complains(2, "mutually exclusive")
    resume(jeeves, run_id, "--modify", "[1]").complains(2, "object")
    resume(jeeves, run_id, "--modify", "{").complains(2, "JSON")
    resume(jeeves, run_id, "--approve", "--interrupt", "q-none").complains(2, "q-none", f"{run_id}-q1 is")
    resume(jeeves, "r-none", "--approve").complains(2, "r-none")
    assert log.events(RunId(run_id)) == before
    log.close()
    changed = resume(jeeves, run_id, "--modify", '{"final_response": "Ask Ada."}', "--json")
    assert (changed.status, changed.document["answer"]) == (3, "Ask Ada.")


def test_a_rejected_answer_is_a_failure(jeeves: Program, repo: Path) -> None:
    run_id = left_waiting(jeeves, repo)
    outcome = resume(jeeves, run_id, "--reject", "--json")
    assert (outcome.status, outcome.document["terminal_reason"]) == (1, "denied_by_policy")


def test_a_run_whose_system_died_is_gone_on_with_when_its_lease_is_over(jeeves: Program, repo: Path) -> None:
    run_id = left_waiting(jeeves, repo)
    log = SqliteRunLog(jeeves.state_dir / "runs" / "local.sqlite")
    log.take_over("one that was killed", SystemClock().now_ms(), 3_000)
    assert resume(jeeves, run_id, "--approve", "--json").answers().document["run_id"] == run_id
    assert log.lease(SystemClock().now_ms()) is None
    log.close()


def test_a_run_that_a_living_system_may_drive_is_left_to_it(jeeves: Program, repo: Path) -> None:
    run_id = left_waiting(jeeves, repo)
    log = SqliteRunLog(jeeves.state_dir / "runs" / "local.sqlite")
    epoch, until = log.take_over("one that lives", SystemClock().now_ms(), 60_000), threading.Event()

    def keep_alive() -> None:
        while not until.wait(0.1):
            log.renew(epoch, SystemClock().now_ms(), 60_000)

    living = threading.Thread(target=keep_alive)
    living.start()
    try:
        resume(jeeves, run_id, "--approve").complains(1, run_id, "one that lives", "alive")
    finally:
        until.set()
        living.join()
    log.close()


def test_one_question_may_follow_another(jeeves: Program, repo: Path) -> None:
    run_id = left_waiting(jeeves, repo, "why?")
    outcome = resume(jeeves, run_id, "--text", "MAX_LETTERS", "--json")
    assert (outcome.status, outcome.document["interrupt"]["kind"]) == (4, "agent_review")
    assert "--approve | --reject | --modify JSON" in outcome.err
    assert resume(jeeves, run_id, "--approve", "--json").answers().document["citations"]


def test_without_wait_a_question_is_the_end(jeeves: Program, repo: Path) -> None:
    outcome = jeeves.ask(QUESTION, repo, *REVIEWED).answers(4)
    assert outcome.document["terminal_reason"] == "confirmation_required"


@pytest.mark.parametrize("command", ["cancel", "pause"])
def test_without_a_system_it_is_said_that_none_is_up(jeeves: Program, command: str) -> None:
    jeeves.run("runs", command, "r-1").complains(2, "no system is up", "jeeves up")


def at_terminal(jeeves: Program, typed: str, *args: str) -> tuple[int, str]:
    """The command with a terminal for input and errors, on which something is typed; status, standard output."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [JEEVES, *args], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=jeeves.env, text=True, cwd="/"
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    said = b""
    try:
        while chunk := os.read(ours, 4_096):
            said += chunk
    except OSError:
        pass  # the other side has closed it
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert "approve, reject or modify" in said.decode(errors="replace") or "why?" in args
    return process.returncode, out


@pytest.mark.parametrize(
    ("typed", "status", "reason"),
    long_but(
        [
            ("approve\n", 0, "completed"),
            ("r\n", 1, "denied_by_policy"),
            ("what\nmodify\nAsk Ada.\n", 3, "completed"),
            ("\x04", 4, None),
        ],
        0,
        3,
    ),
)
def test_at_a_terminal_the_person_is_asked(
    jeeves: Program, repo: Path, typed: str, status: int, reason: str | None
) -> None:
    done, out = at_terminal(jeeves, typed, "ask", QUESTION, "--repo", str(repo), *REVIEWED, "--json")
    assert (done, json.loads(out)["terminal_reason"]) == (status, reason)


def test_at_a_terminal_a_clarification_is_asked_for_only_with_wait(jeeves: Program, repo: Path) -> None:
    done, out = at_terminal(jeeves, "", "ask", "why?", "--repo", str(repo), "--json")
    assert (done, json.loads(out)["interrupt"]["kind"]) == (4, "clarification")
    done, out = at_terminal(jeeves, "MAX_LETTERS\n", "ask", "why?", "--repo", str(repo), "--json", "--wait")
    assert (done, json.loads(out)["terminal_reason"]) == (0, "completed")


# --- with a system that is up


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("control")


@pytest.fixture(scope="module")
def warm_repo(folder: Path) -> Path:
    return write_files(folder / "repo", FILES)


@pytest.fixture(scope="module")
def warm(folder: Path) -> Iterator[Program]:
    """The program with a system that is up and has the reviewed pipeline ready."""
    program = Program(folder / "state", JEEVES_DEFAULT_PIPELINE="code_analysis_reviewed", **STOPPED_IS_NOT_HANGING)
    program.run("up").answers()
    yield program
    program.run("down").answers()
    wait_until(lambda: not processes_that_mention(str(folder)), 20)


@pytest.mark.ray
def test_a_run_left_waiting_in_the_system_is_watched_and_answered_there(warm: Program, warm_repo: Path) -> None:
    run_id = left_waiting(warm, warm_repo)
    watching = warm.start("runs", "watch", run_id)
    document = resume(warm, run_id, "--approve", "--json").answers().document
    assert (document["run_id"], document["terminal_reason"]) == (run_id, "completed")
    assert document["citations"]
    out, err = watching.communicate(timeout=60)
    assert (watching.returncode, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    assert "run.finished" in lines[-1]
    rest = warm.run("runs", "watch", run_id, "--after", str(len(lines) - 1), "--json").answers()
    assert rest.document["type"] == "run.finished"
    resume(warm, run_id, "--approve").complains(2, run_id, "over (completed)")


@pytest.mark.ray
def test_the_question_of_a_system_is_asked_at_the_terminal(warm: Program, warm_repo: Path) -> None:
    done, out = at_terminal(warm, "approve\n", "ask", QUESTION, "--repo", str(warm_repo), "--json")
    assert (done, json.loads(out)["terminal_reason"]) == (0, "completed")


@pytest.mark.ray
def test_a_run_that_waits_is_cancelled_and_cannot_be_twice(warm: Program, warm_repo: Path) -> None:
    run_id = left_waiting(warm, warm_repo)
    assert warm.run("runs", "cancel", run_id, "--reason", "enough").answers().out == f"{run_id} user_cancelled\n"
    warm.run("runs", "cancel", run_id).complains(2, "over (user_cancelled)")
    warm.run("runs", "pause", run_id).complains(2, "over (user_cancelled)")


@pytest.mark.ray
def test_only_a_run_that_works_is_paused(warm: Program, warm_repo: Path) -> None:
    run_id = left_waiting(warm, warm_repo)
    warm.run("runs", "pause", run_id).complains(2, "waiting", "running")
    warm.run("runs", "cancel", run_id).answers()


@pytest.mark.ray
@pytest.mark.parametrize("command", ["watch", "cancel", "pause", "resume"])
def test_a_run_that_the_system_does_not_know_is_said_to_be_unknown(warm: Program, command: str) -> None:
    warm.run("runs", command, "r-none").complains(2, "no run 'r-none'")


@pytest.mark.ray
def test_a_paused_run_waits_until_it_is_resumed(warm: Program, warm_repo: Path) -> None:
    # The agents are held, so that the run cannot be over before it is paused.
    held = [pid for pid in processes_that_mention(str(warm.state_dir)) if is_agent(pid)]
    endpoints = warm.run("status", "--json").answers().document["bus"]["endpoints"]
    assert len(held) == sum(name.startswith("agent:") for name in endpoints)
    signal_all(held, signal.SIGSTOP)
    try:
        before = len(runs_of(warm))
        asking = warm.start("ask", QUESTION, "--repo", str(warm_repo), "--json")
        wait_until(lambda: len(runs_of(warm)) > before)
        run_id = runs_of(warm)[0]
        paused = warm.run("runs", "pause", run_id, "--reason", "lunch").answers()
        assert f"jeeves runs resume {run_id}" in paused.out
        warm.run("runs", "pause", run_id).complains(2, "waiting")
        assert asking.poll() is None
    finally:
        signal_all(held, signal.SIGCONT)
    resumed = resume(warm, run_id, "--json")
    assert (resumed.status, resumed.document["terminal_reason"]) == (4, "confirmation_required")
    out, _ = asking.communicate(timeout=60)
    assert (asking.returncode, json.loads(out)["run_id"]) == (4, run_id)


def runs_of(program: Program) -> list[str]:
    return [run["run_id"] for run in json.loads(program.run("runs", "list", "--json", "--limit", "500").out)]
