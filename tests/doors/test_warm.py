"""`jeeves up`, `down`, `status`, and questions to a system that is warm."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.primitives.ids import RunId
from runtime.store.run_log import SqliteRunLog
from runtime.supervision.events import CancelRequested
from tests.doors.evidence_checker import document_faults
from tests.doors.program import STOPPED_IS_NOT_HANGING, Program, processes_that_mention, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files

pytestmark = [pytest.mark.ray, pytest.mark.long]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warm")


@pytest.fixture(scope="module")
def warm_repo(folder: Path) -> Path:
    return write_files(folder / "repo", FILES)


@pytest.fixture(scope="module")
def warm(folder: Path) -> Iterator[Program]:
    """The program with a system that is up."""
    program = Program(folder / "state", **STOPPED_IS_NOT_HANGING, JEEVES_CODE_INDEX__EMBEDDINGS="true")
    program.run("up").answers()
    yield program
    program.run("down").answers()
    wait_until(lambda: not processes_that_mention(str(folder)), 20)


def record_of(program: Program) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((program.state_dir / "warm" / "record.json").read_text())
    return read


class Line:
    """A connection to the socket of a warm system."""

    def __init__(self, program: Program) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(30)
        self.socket.connect(record_of(program)["socket"])
        self._file = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> dict[str, Any] | None:
        line = self._file.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def test_a_second_up_says_that_it_is_up_already(warm: Program) -> None:
    assert warm.run("up").answers().out == f"already up: process {record_of(warm)['pid']}\n"


def test_up_with_other_settings_is_refused(warm: Program) -> None:
    warm.run("up", env={"JEEVES_LOGGING__LEVEL": "debug"}).complains(1, "other settings", "jeeves down")


def test_a_warm_answer_is_the_same_as_a_cold_one(warm: Program, warm_repo: Path) -> None:
    # Both have the same vectors; those of the warm system are made by its own process.
    assert (
        warm.run("index", "--repo", warm_repo, "--wait-vectors", "--json").answers().document["vectors"]["ready"] == 1
    )
    answered = warm.ask(QUESTION, warm_repo).answers().document
    alone = warm.ask(QUESTION, warm_repo, env={"JEEVES_RAY__MODE": "in_process"}).answers().document
    assert document_faults(answered, warm_repo) == []
    for document in (answered, alone):
        del document["run_id"], document["usage"]["duration_ms"]
    assert answered == alone


def test_a_warm_question_imports_neither_ray_nor_settings(warm: Program, warm_repo: Path) -> None:
    outcome = warm.ask(QUESTION, warm_repo, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert outcome.status == 0
    imported = {line.rpartition("|")[2].strip() for line in outcome.err.splitlines()}
    assert "serve.runtimes.warm" in imported
    heavy = {"ray", "vllm", "torch", "fastapi", "tree_sitter", "numpy", "pydantic", "typer", "yaml"}
    assert {name for name in imported if name.partition(".")[0] in heavy} == set()


def test_a_question_that_reads_settings_gets_the_same_answer_as_one_that_needs_none(
    warm: Program, warm_repo: Path
) -> None:
    # A value behind `=` is left to Typer, and then settings are read.
    lines = (("--repo", str(warm_repo)), (f"--repo={warm_repo}",))
    documents = [warm.run("ask", QUESTION, *line, "--json").answers().document for line in lines]
    for document in documents:
        del document["run_id"], document["usage"]["duration_ms"]
    assert documents[0] == documents[1]
    assert warm.run("status", "--json").answers().document["questions_answered"] >= 2


def test_settings_of_another_folder_or_file_are_read(warm: Program, warm_repo: Path, tmp_path: Path) -> None:
    own = tmp_path / "jeeves.yaml"
    own.write_text("limits: {max_question_chars: 5}\n", encoding="utf-8")
    warm.ask(QUESTION, warm_repo, "--config", str(own)).complains(2, "at most 5")
    warm.ask(QUESTION, warm_repo, "--system", "Nightly!").complains(2, "cannot be the name of a system")


def test_the_exit_status_of_a_warm_question_says_how_it_ended(warm: Program, warm_repo: Path) -> None:
    assert warm.ask("What does frobnicate_quux do?", warm_repo).status == 3
    assert warm.ask("why?", warm_repo).status == 4
    assert warm.ask(QUESTION, warm_repo, "--max-agent-hops", "6").status == 5


def test_errors_of_a_warm_question_are_one_line_too(warm: Program, warm_repo: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    warm.ask(QUESTION, tmp_path / "empty").complains(2)
    warm.ask(QUESTION, warm_repo, "--mode", "nonsense").complains(2, "no mode 'nonsense'")
    warm.ask(QUESTION, warm_repo, "--session", "..").complains(2)
    warm.ask(QUESTION, tmp_path / "none", "--mode", "nonsense").complains(2, "no mode 'nonsense'")
    warm.ask(QUESTION, warm_repo, "--pipeline", "nonsense").complains(2, "'nonsense'")
    warm.ask(b"what is \xff?", warm_repo).complains(2)


def test_many_may_ask_at_once(warm: Program, warm_repo: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(lambda _: warm.ask(QUESTION, warm_repo), range(6)))
    assert [outcome.status for outcome in outcomes] == [0] * 6
    assert len({outcome.document["run_id"] for outcome in outcomes}) == 6
    assert len({outcome.document["answer"] for outcome in outcomes}) == 1


def test_a_session_is_remembered_between_warm_questions(warm: Program, warm_repo: Path) -> None:
    warm.ask(QUESTION, warm_repo, "--session", "s1").answers()
    assert document_faults(warm.ask("Who calls it?", warm_repo, "--session", "s1").answers().document, warm_repo) == []


def test_the_status_tells_what_is_up(warm: Program, warm_repo: Path) -> None:
    before = warm.run("status", "--json").answers().document
    warm.ask(QUESTION, warm_repo).answers()
    after = warm.run("status", "--json").answers().document
    assert after["up"] is True
    assert after["pid"] == record_of(warm)["pid"]
    assert after["questions_answered"] == before["questions_answered"] + 1
    assert after["runs_under_way"] == 0
    assert set(after["bus"]["endpoints"].values()) == {"connected"}
    assert len(after["bus"]["endpoints"]) == 11
    assert "code_change" in after["bus"]["endpoints"]
    assert after["bus"]["dead_letters"] == 0
    assert after["bus"]["parked"] == 0
    assert set(after["bus"]["middleware"]) >= {"deduplication", "metrics"}
    assert (after["queues"], after["models"]) == ({}, {})
    tools = {tool["tool"]: tool for tool in after["tools"]}
    assert tools["locate"]["calls"] >= 1
    assert {(tool["failures"], tool["open_in"]) for tool in after["tools"]} == {(0, 0)}
    assert "\ntool locate: " in warm.run("status").answers().out
    assert (
        "11 endpoints on the bus, away: none; 0 frames parked, 0 dead letters, 0 types of queries failing"
        in warm.run("status").answers().out
    )


def test_the_status_tells_how_far_vectors_are_that_are_made_in_the_background(warm: Program) -> None:
    cache = VectorCache(warm.state_dir / "index" / "vectors.sqlite")
    cache.note("somebody", 3, 7)
    told = warm.run("status", "--json").answers().document["meaning"]
    assert (told["made"], told["wanted"]) == (3, 7)
    assert ", 3 of 7 requested computed\n" in warm.run("status").answers().out
    cache.note("somebody", 7, 7)
    cache.close()
    assert "requested computed" not in warm.run("status").answers().out


def test_a_client_that_hangs_up_has_its_run_cancelled(warm: Program, warm_repo: Path) -> None:
    # The agents are held, so that the run cannot be over before the client has gone.
    held = [pid for pid in processes_that_mention(str(warm.state_dir)) if is_agent(pid)]
    assert len(held) == 7
    line = Line(warm)
    signal_all(held, signal.SIGSTOP)
    try:
        ask = {"question": QUESTION, "repo": str(warm_repo), "pipeline": "code_analysis"}
        line.send(json.dumps({"op": "ask", "ask": ask}).encode() + b"\n")
        run_id = accepted_run(line)
        line.close()
        log = SqliteRunLog(warm.state_dir / "runs" / "supervisor-0.sqlite")
        assert wait_until(lambda: cancellations(log, run_id), 20) == ["the caller went away"]
        log.close()
    finally:
        signal_all(held, signal.SIGCONT)
    assert warm.run("status", "--json").answers().document["runs_under_way"] == 0
    assert warm.ask(QUESTION, warm_repo).status == 0


def accepted_run(line: Line) -> RunId:
    while (said := line.read()) is not None:
        if "event" in said:
            return RunId(said["event"]["run_id"])
    raise AssertionError("the connection ended before a run began")


def signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        os.kill(pid, number)


def cancellations(log: SqliteRunLog, run_id: RunId) -> list[str]:
    return [event.payload.reason for event in log.events(run_id) if isinstance(event.payload, CancelRequested)]


def is_agent(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::AgentActor")


@pytest.mark.parametrize(
    "request_line",
    [
        b"\n",
        b"rubbish\n",
        b"[]\n",
        b"{}\n",
        b'{"op": "shout"}\n',
        b'{"op": "ask"}\n',
        b'{"op": "ask", "ask": {"question": 1}}\n',
        b'{"op": "ask", "ask": {"question": "x", "repo": "/nowhere", "pipeline": "code_analysis"}}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_request_gets_an_error_and_the_door_stays_open(warm: Program, request_line: bytes) -> None:
    line = Line(warm)
    line.send(request_line)
    said = line.read()
    assert said is not None
    assert {"code", "message"} <= set(said["error"])
    assert said["error"]["code"] != "internal"
    line.close()


def test_a_client_that_goes_without_a_word_does_no_harm(warm: Program) -> None:
    for data in (b"", b'{"op"'):
        line = Line(warm)
        line.send(data)
        line.close()
    warm.run("status").answers()


def test_only_its_owner_may_use_the_socket(warm: Program) -> None:
    assert Path(record_of(warm)["socket"]).stat().st_mode & 0o077 == 0


def test_a_system_of_another_version_is_refused_and_told_how_to_mend_it(warm: Program, warm_repo: Path) -> None:
    path = warm.state_dir / "warm" / "record.json"
    record = path.read_text()
    other = re.sub(r'"code_version":"[^"]*"', '"code_version":"0.0.1+000000000000"', record)
    path.write_text(re.sub(r'"code_stamp":"[^"]*"', '"code_stamp":"000000000000000000000000"', other))
    try:
        warm.ask(QUESTION, warm_repo).complains(1, "0.0.1+000000000000", "jeeves down", "jeeves up")
    finally:
        path.write_text(record)


def test_a_record_that_cannot_be_read_is_told_how_to_mend(warm: Program, warm_repo: Path) -> None:
    path = warm.state_dir / "warm" / "record.json"
    record = path.read_text()
    path.write_text("rubbish")
    try:
        warm.ask(QUESTION, warm_repo).complains(1, "record.json", "end the process that holds")
    finally:
        path.write_text(record)


def test_without_a_system_status_and_down_say_so(jeeves: Program) -> None:
    assert jeeves.run("status").answers(1).out == "not up\n"
    assert jeeves.run("status", "--json").answers(1).document == {"up": False, "queues": {}, "callers": []}
    assert jeeves.run("down").answers().out == "not up\n"


def test_without_ray_nothing_can_stay_up(jeeves: Program) -> None:
    jeeves.run("up").complains(2, "in_process")


def test_a_system_that_cannot_come_up_says_why(ray_jeeves: Program) -> None:
    env = {"JEEVES_RAY__MODE": "attach", "JEEVES_RAY__ADDRESS": "127.0.0.1:1"}
    ray_jeeves.run("up", env=env).complains(1, "did not come up", "127.0.0.1:1")
    ray_jeeves.run("status").answers(1)


def test_two_that_start_at_the_same_time_get_one_system_and_down_ends_all_of_it(ray_jeeves: Program) -> None:
    starting = [ray_jeeves.start("up") for _ in range(2)]
    said = [process.communicate(timeout=120) for process in starting]
    assert [process.returncode for process in starting] == [0, 0], said
    pid = record_of(ray_jeeves)["pid"]
    assert all(f"process {pid}" in out and err == "" for out, err in said)
    assert processes_that_mention(str(ray_jeeves.state_dir))
    assert ray_jeeves.run("down").answers().out == f"down: process {pid}\n"
    wait_until(lambda: not processes_that_mention(str(ray_jeeves.state_dir)), 20)
    assert ray_jeeves.run("status").status == 1


def test_a_killed_system_leaves_no_process_and_its_record_is_passed_over(ray_jeeves: Program, repo: Path) -> None:
    ray_jeeves.run("up").answers()
    os.kill(record_of(ray_jeeves)["pid"], signal.SIGKILL)
    wait_until(lambda: not processes_that_mention(str(ray_jeeves.state_dir)), 20)
    assert ray_jeeves.run("status").answers(1).out == "not up\n"
    assert ray_jeeves.run("down").answers().out == "not up\n"
    ray_jeeves.run("up").answers()
    assert ray_jeeves.ask(QUESTION, repo).status == 0
    ray_jeeves.run("down").answers()
