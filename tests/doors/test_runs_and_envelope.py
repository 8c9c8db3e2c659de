"""`jeeves runs` after a question, and `jeeves envelope`: the kernel as JSON on standard input and output."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from runtime.hosting.run_table import RunTable
from runtime.pipeline.loading import load_pipeline
from runtime.pipeline.pipeline_versions import encode_pipeline
from runtime.primitives.clock import FakeClock, SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.settings import shipped_config_dir
from runtime.store.run_log import SqliteRunLog
from runtime.supervision.events import CancelRequested, PauseRequested
from serve.cli.commands.envelope_json import MAX_DOCUMENT_BYTES, app
from tests.doors.program import Outcome, Program, snapshot
from tests.doors.sample_repo import FILES, QUESTION, write_files

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("perception", "intent", "planner", "traverser", "synthesizer", "critic", "integration")


class Tree(Program):
    """The program of the tree that these tests stand in, whichever is installed."""

    def __init__(self, state_dir: Path, **env: str) -> None:
        super().__init__(state_dir, JEEVES_RAY__MODE="in_process", PYTHONPATH=str(ROOT), **env)
        self.cwd = ROOT

    def start(
        self, *args: str | bytes | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "serve.cli.main", *args],
            cwd=cwd or self.cwd,
            env={**self.env, **(env or {})},
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            **options,
        )

    def given(self, stdin: bytes, *args: str, env: Mapping[str, str] | None = None) -> Outcome:
        """The command with something on its standard input."""
        command = [sys.executable, "-m", "serve.cli.main", *args]
        whole = {**self.env, **(env or {})}
        done = subprocess.run(command, check=False, input=stdin, capture_output=True, cwd=ROOT, env=whole)
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def told(command: str, given: Any, status: int = 0, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What `jeeves envelope COMMAND` makes of a document."""
    return here(command, json.dumps(given).encode(), env).answers(status).document


def here(command: str, stdin: bytes, env: Mapping[str, str] | None = None) -> Outcome:
    """`jeeves envelope COMMAND` in this process: starting one for each of so many would take minutes."""
    done = CliRunner().invoke(app, [command], input=stdin, env=env)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Outcome(done.exit_code, done.stdout, done.stderr)


class Asked:
    """A question that was asked, and the program that asked it."""

    def __init__(self, folder: Path) -> None:
        self.repo = write_files(folder / "repo", FILES)
        self.jeeves = Tree(folder / "state")
        self.document = self.jeeves.ask(QUESTION, self.repo).answers().document
        self.run_id = str(self.document["run_id"])

    def runs(self, command: str, *args: str, **options: Any) -> Outcome:
        return self.jeeves.run("runs", command, *args, **options)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """A run that is over; no test changes what is recorded of it."""
    return Asked(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """The program with a state folder of its own."""
    return Tree(tmp_path / "state")


# --- runs


def test_why_names_each_stage_in_order_the_rule_that_decided_and_the_end(asked: Asked) -> None:
    lines = asked.runs("why", asked.run_id).answers().out.splitlines()
    told = [line.split("'")[1] for line in lines if "was told to run" in line]
    assert told == list(STAGES)
    assert lines[0].endswith("  a caller asked")
    assert any(
        "'critic' succeeded; rule 3 matched: route = 'complete' leads to 'integration'" in line for line in lines
    )
    assert lines[-1] == "      → the run ended: completed"


def test_why_as_json_is_a_list_of_steps_that_grow(asked: Asked) -> None:
    reasons = json.loads(asked.runs("why", asked.run_id, "--json").answers().out)
    assert [reason["seq"] for reason in reasons] == sorted({reason["seq"] for reason in reasons})
    assert {"seq", "at_ms", "event", "stage", "what", "why"} == set(reasons[0])
    assert [reason["stage"] for reason in reasons][1:] == list(STAGES)


def test_a_run_that_is_over_is_watched_again_from_any_event_on_without_a_system(asked: Asked) -> None:
    events = [json.loads(line) for line in asked.runs("watch", asked.run_id, "--json").answers().out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run.accepted", "run.finished")
    for after in (1, len(events) - 1, len(events), len(events) + 1):
        rest = asked.runs("watch", asked.run_id, "--json", "--after", str(after)).answers().out.splitlines()
        assert [json.loads(line) for line in rest] == events[after:]
    asked.runs("watch", "r-none").complains(2, "no run 'r-none'")


def test_log_tells_the_events_of_a_run_as_lines_and_as_json(asked: Asked) -> None:
    events = [json.loads(line) for line in asked.runs("log", asked.run_id, "--json").answers().out.splitlines()]
    assert list(events[0]) == ["event_id", "timestamp_ms", "event_type", "agent", "payload", "envelope_id"]
    assert (events[0]["event_type"], events[-1]["event_type"]) == ("request", "response")
    started = [event["agent"] for event in events if event["payload"].get("to") == "started"]
    assert started == list(STAGES)
    calls = sum(event["event_type"] == "tool_call" for event in events)
    assert calls == asked.runs("show", asked.run_id).answers().document["usage"]["tool_calls"]
    lines = asked.runs("log", asked.run_id).answers().out.splitlines()
    assert len(lines) == len(events)
    assert "tool_call" in "".join(lines)


def test_log_and_why_number_events_as_a_fork_names_them(asked: Asked) -> None:
    in_log = [int(line.split()[0]) for line in asked.runs("log", asked.run_id).answers().out.splitlines()]
    in_why = [int(line.split()[0]) for line in asked.runs("why", asked.run_id).answers().out.splitlines()[::2]]
    assert in_log == sorted(in_log)
    assert in_log[0] == 1
    assert set(in_why) <= set(in_log)
    asked.runs("fork", asked.run_id, "--at", str(in_log[-1] + 1)).complains(2, f"no event {in_log[-1] + 1}")


def test_log_of_a_session_is_that_of_its_runs_one_after_the_other(tree: Tree, tmp_path: Path) -> None:
    repo = write_files(tmp_path / "repo", FILES)
    runs = [tree.ask(QUESTION, repo, "--session", "tour").answers().document["run_id"] for _ in range(2)]
    tree.ask(QUESTION, repo, "--session", "another").answers()
    lines = tree.run("runs", "log", "--session", "tour", "--json").answers().out.splitlines()
    assert list(dict.fromkeys(json.loads(line)["envelope_id"] for line in lines)) == runs
    tree.run("runs", "log", "--session", "none").complains(2, "no run of a session 'none'")
    tree.run("runs", "log").complains(2, "either a run id or --session")
    tree.run("runs", "log", runs[0], "--session", "tour").complains(2, "either a run id or --session")


def test_show_prints_the_envelope_as_it_ended(asked: Asked) -> None:
    envelope = asked.runs("show", asked.run_id).answers().document
    assert (envelope["run_id"], envelope["terminal_reason"]) == (asked.run_id, "completed")
    assert envelope["request"]["raw_input"] == QUESTION
    assert envelope["outputs"]["integration"]["final_response"] == asked.document["answer"]
    assert told("validate", envelope) == {"valid": True, "faults": []}


def test_an_answer_is_printed_again_as_it_was_printed_when_it_was_asked(asked: Asked) -> None:
    assert asked.runs("answer", asked.run_id).answers().out == f"{asked.document['answer']}\n"
    assert asked.runs("answer", asked.run_id, "--json").answers().document == asked.document
    asked.runs("answer", "r-none").complains(2, "no run 'r-none'")
    asked.runs("answer", "c-none").complains(2, "c-none is a session of a change", "jeeves runs show")


def test_a_run_that_is_under_way_has_no_answer_to_print_and_one_that_waits_has_its_question(
    tree: Tree, repo: Path
) -> None:
    run_id = begun_run(tree, repo)
    tree.run("runs", "answer", run_id).complains(2, f"run {run_id} is running: it has no answer yet")
    waits = tree.run("ask", "why?", "--repo", repo, "--wait", "--json")
    told = tree.run("runs", "answer", json.loads(waits.out)["run_id"])
    assert (told.status, told.out) == (0, f"{json.loads(waits.out)['answer']}\n")
    assert "jeeves runs resume" in told.err


def test_list_names_the_run_with_its_pipeline_and_its_question_and_how_much_is_recorded(asked: Asked) -> None:
    line = next(line for line in asked.runs("list").answers().out.splitlines() if line.startswith(asked.run_id))
    assert "code_analysis" in line
    assert line.endswith(f"  {QUESTION}")
    listed = json.loads(asked.runs("list", "--json", "--limit", "500").answers().out)
    (found,) = [run for run in listed if run["run_id"] == asked.run_id]
    assert (found["pipeline"], found["finished"], found["question"]) == ("code_analysis", True, QUESTION)
    assert found["events"] > len(STAGES)
    assert len(json.loads(asked.runs("list", "--json", "--limit", "1").answers().out)) == 1


def test_a_fork_answers_alike_and_leaves_its_source_as_it_was(asked: Asked) -> None:
    before = asked.runs("why", asked.run_id).out
    steps = json.loads(asked.runs("why", asked.run_id, "--json").out)
    for step in (steps[0]["seq"], steps[len(steps) // 2]["seq"]):
        forked, reason = asked.runs("fork", asked.run_id, "--at", str(step)).answers().out.split()
        assert (forked != asked.run_id, reason) == (True, "completed")
        envelope = asked.runs("show", forked).answers().document
        assert envelope["outputs"]["integration"]["final_response"] == asked.document["answer"]
    assert asked.runs("why", asked.run_id).out == before


def test_a_fork_at_the_end_is_over_at_once(asked: Asked) -> None:
    end = json.loads(asked.runs("why", asked.run_id, "--json").out)[-1]["seq"]
    forked, reason = asked.runs("fork", asked.run_id, "--at", str(end)).answers().out.split()
    assert reason == "completed"
    listed = json.loads(asked.runs("list", "--json", "--limit", "500").out)
    assert [run["finished"] for run in listed if run["run_id"] == forked] == [True]


def test_a_fork_of_a_run_that_waits_for_a_person_says_so_and_waits_for_nobody(tree: Tree, repo: Path) -> None:
    config = load_pipeline(shipped_config_dir() / "pipelines" / "code_analysis.yaml")
    log = SqliteRunLog(tree.state_dir / "runs" / "local.sqlite")
    runs = RunTable({config.name: config}, log, FakeClock())
    run_id, _ = runs.submit(Request(config.name, QUESTION, metadata={"repo": str(repo)}, wait=True))
    runs.handle(run_id, PauseRequested("lunch"))
    log.close()
    forked, state = tree.run("runs", "fork", run_id, "--at", "2").answers().out.split()
    assert (forked != run_id, state) == (True, "waiting")
    why = tree.run("runs", "why", forked).answers().out
    assert "a caller wanted the run to hold: lunch\n      → the run waits for an answer: lunch\n" in why


def test_what_a_run_says_of_itself_cannot_steer_a_terminal(tree: Tree) -> None:
    config = load_pipeline(shipped_config_dir() / "pipelines" / "code_analysis.yaml")
    log = SqliteRunLog(tree.state_dir / "runs" / "local.sqlite")
    runs = RunTable({config.name: config}, log, FakeClock())
    run_id, _ = runs.submit(Request(config.name, QUESTION))
    runs.handle(run_id, CancelRequested("\x1b[2Jgone"))
    log.close()
    assert "\x1b" not in tree.run("runs", "why", run_id).answers().out


@pytest.mark.parametrize("command", [["show"], ["why"], ["fork", "--at", "1"]], ids=lambda args: str(args[0]))
def test_an_unknown_run_is_said_to_be_so_in_one_line(asked: Asked, command: list[str]) -> None:
    asked.runs(command[0], "r-none", *command[1:]).complains(2, "no run 'r-none'", str(asked.jeeves.state_dir))


def test_an_event_that_a_run_does_not_have_is_said_to_be_so(asked: Asked) -> None:
    asked.runs("fork", asked.run_id, "--at", "9999").complains(2, f"run '{asked.run_id}' has no event 9999")


def changed_rules(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, str]:
    """The environment in which `code_analysis` is another pipeline."""
    shipped = yaml.safe_load((shipped_config_dir() / "pipelines" / "code_analysis.yaml").read_text())
    (folder / "pipelines").mkdir(parents=True)
    (folder / "pipelines" / "code_analysis.yaml").write_text(yaml.safe_dump(change(shipped)))
    return {"JEEVES_CONFIG_DIR": str(folder)}


def more_iterations(pipeline: dict[str, Any]) -> dict[str, Any]:
    return {**pipeline, "max_iterations": 6}


def no_critic_with_tools(pipeline: dict[str, Any]) -> dict[str, Any]:
    agents = [
        {**agent, "has_tools": True, "tool_access": "read", "allowed_tools": ["locate"]}
        if agent["name"] == "critic"
        else agent
        for agent in pipeline["agents"]
    ]
    return {**pipeline, "agents": agents}


def begun_run(tree: Tree, repo: Path, keeps_rules: bool = True) -> RunId:
    """A run under the shipped rules, cut off at its first stage."""
    config = load_pipeline(shipped_config_dir() / "pipelines" / "code_analysis.yaml")
    log = SqliteRunLog(tree.state_dir / "runs" / "local.sqlite")
    runs = RunTable({config.name: config}, log, SystemClock())
    run_id, _ = runs.submit(Request(config.name, QUESTION, metadata={"repo": str(repo), "repository": {}}))
    if keeps_rules:
        log.keep_rules(config.config_hash, encode_pipeline(config))
    log.close()
    if not keeps_rules:
        with sqlite3.connect(tree.state_dir / "runs" / "local.sqlite") as db:
            db.execute("DELETE FROM run_rules")
        db.close()
    return run_id


@pytest.mark.parametrize("command", [["show"], ["why"], ["fork", "--at", "1"]], ids=lambda args: str(args[0]))
def test_a_run_is_not_read_under_rules_that_have_changed(
    tree: Tree, repo: Path, tmp_path: Path, command: list[str]
) -> None:
    run_id = begun_run(tree, repo, keeps_rules=False)
    env = changed_rules(tmp_path / "config", more_iterations)
    outcome = tree.run("runs", command[0], run_id, *command[1:], env=env)
    outcome.complains(2, "pipeline 'code_analysis' has changed since run", run_id, "were not kept")
    listed = tree.run("runs", "list", env=env).answers().out
    assert "stays: pipeline 'code_analysis' has changed since it began; it cannot go on: the rules" in listed


def test_an_old_run_is_shown_and_explained_under_the_rules_that_were_kept(
    tree: Tree, repo: Path, tmp_path: Path
) -> None:
    run_id = begun_run(tree, repo)
    before = [tree.run("runs", command, run_id).answers().out for command in ("show", "why")]
    listed = tree.run("runs", "list").answers().out
    env = changed_rules(tmp_path / "config", more_iterations)
    assert [tree.run("runs", command, run_id, env=env).answers().out for command in ("show", "why")] == before
    assert tree.run("runs", "list", env=env).answers().out == listed
    assert "stays" not in before[0] + listed


def test_a_run_that_todays_agents_do_not_fit_is_listed_and_shown_with_the_reason(
    tree: Tree, repo: Path, tmp_path: Path
) -> None:
    run_id = begun_run(tree, repo)
    env = changed_rules(tmp_path / "config", no_critic_with_tools)
    why = (
        "pipeline 'code_analysis' has changed since it began; it cannot go on: of stage 'critic' there changed whether "
        "it uses tools, what its tools may do, which tools it may use"
    )
    assert tree.run("runs", "list", env=env).answers().out.endswith(f"  stays: {why}  {QUESTION}\n")
    (listed,) = json.loads(tree.run("runs", "list", "--json", env=env).answers().out)
    assert listed["stays"] == why
    shown = tree.run("runs", "show", run_id, env=env).answers().document
    assert (shown["stays"], shown["lifecycle"]) == (why, "running")


def test_a_run_that_a_living_system_drives_is_not_taken_from_it(tree: Tree, repo: Path) -> None:
    run_id = begun_run(tree, repo)
    log = SqliteRunLog(tree.state_dir / "runs" / "local.sqlite")
    epoch = log.take_over("supervisor-0 elsewhere", SystemClock().now_ms(), 60_000)
    for command in (["resume", run_id], ["fork", run_id, "--at", "1"]):
        tree.run("runs", *command).complains(1, run_id, "supervisor-0 elsewhere", "alive")
    assert len(log.events(run_id)) == 1
    log.release(epoch)
    log.close()
    assert tree.run("runs", "fork", run_id, "--at", "1").status == 0


def test_without_any_log_there_are_no_runs_and_nothing_is_made(tree: Tree) -> None:
    assert tree.run("runs", "list").answers().out == ""
    assert tree.run("runs", "list", "--json").answers().out == "[]\n"
    tree.run("runs", "why", "r-1").complains(2, "no run 'r-1'")
    assert not (tree.state_dir / "runs").exists()


@pytest.mark.parametrize("command", [["list"], ["show", "r-1"], ["why", "r-1"], ["fork", "r-1", "--at", "1"]])
def test_a_log_that_is_no_log_is_named_and_left_as_it_is(tree: Tree, command: list[str]) -> None:
    path = tree.state_dir / "runs" / "local.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database, not at all" * 500)
    before = snapshot(path.parent)
    tree.run("runs", *command).complains(1, str(path), "not a database")
    assert snapshot(path.parent) == before


def test_a_record_that_cannot_be_read_is_named_with_its_log_and_left_as_it_is(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    path = asked.jeeves.state_dir / "runs" / "local.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("UPDATE run_events SET body = x'c1' WHERE seq = 3")
    db.close()
    for command in (["show", asked.run_id], ["why", asked.run_id], ["fork", asked.run_id, "--at", "1"]):
        asked.runs(*command).complains(1, str(path), "no event")
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT hex(body) FROM run_events WHERE seq = 3").fetchall() == [("C1",)]
    db.close()


def test_a_log_of_a_newer_version_is_not_touched(tree: Tree) -> None:
    path = tree.state_dir / "runs" / "local.sqlite"
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=99")
    db.execute("CREATE TABLE other (x)")
    db.commit()
    db.close()
    tree.run("runs", "list").complains(1, str(path), "schema 99")
    db = sqlite3.connect(path)
    assert [row[0] for row in db.execute("SELECT name FROM sqlite_master")] == ["other"]
    db.close()


# --- envelope


REQUEST = {"pipeline": "code_analysis", "raw_input": "Where?"}


def stage_key(hop: int, run_id: str = "r-script") -> dict[str, Any]:
    return {"run_id": run_id, "hop": hop}


def succeeded(at_ms: int, hop: int, output: dict[str, Any]) -> dict[str, Any]:
    return {"at_ms": at_ms, "payload": {"type": "stage_succeeded", "key": stage_key(hop), "output": output}}


SCRIPT = {
    "request": REQUEST,
    "at_ms": 1_000,
    "events": [
        {"at_ms": 1_001, "payload": {"type": "stage_started", "key": stage_key(1)}},
        succeeded(1_002, 1, {"normalized_input": "Where?", "repository": {}}),
        succeeded(1_003, 1, {"late": True}),
        succeeded(1_004, 2, {"intent": "find", "question": {}}),
    ],
}


def test_create_gives_the_envelope_of_a_run_that_begins() -> None:
    envelope = told("create", REQUEST)
    assert envelope["request"] == REQUEST
    assert (envelope["lifecycle"], envelope["current_stage"]) == ("running", "perception")
    assert (envelope["schema_version"], envelope["stages"]) == (2, {"perception": "active"})
    assert told("validate", envelope) == {"valid": True, "faults": []}
    assert told("can-continue", envelope) == {"can_continue": True, "reason": None, "detail": None}
    result = told("result", envelope)
    assert (result["run_id"], result["lifecycle"], result["terminal_reason"]) == (envelope["run_id"], "running", None)
    assert told("create", REQUEST)["run_id"] != envelope["run_id"]


def test_process_tells_what_follows_from_a_script_and_always_the_same(tree: Tree) -> None:
    first, second = (tree.given(json.dumps(SCRIPT).encode(), "envelope", "process").answers().out for _ in range(2))
    assert first == second
    answer = json.loads(first)
    assert answer["envelope"]["usage"] == {"agent_hops": 3, "edges": {"perception->intent": 1, "intent->planner": 1}}
    assert [record["stage"] for record in answer["envelope"]["history"]] == ["perception", "intent"]
    assert answer["ignored"] == [{"event": 4, "reason": "no such stage is in flight"}]
    (stage,) = [command for command in answer["commands"] if command["type"] == "run_stage"]
    assert (stage["stage"], stage["key"]["hop"]) == ("planner", 3)
    assert stage["input"]["raw_input"] == "Where?"
    assert stage["input"]["outputs"]["intent"] == {"intent": "find", "question": {}}


def test_process_without_events_tells_of_the_first_stage() -> None:
    answer = told("process", {"request": REQUEST})
    assert [c["stage"] for c in answer["commands"] if c["type"] == "run_stage"] == ["perception"]
    assert answer["ignored"] == []


def test_process_ends_a_run_and_its_result_is_told() -> None:
    script = {"request": REQUEST, "events": [{"at_ms": 5, "payload": {"type": "cancel_requested", "reason": "enough"}}]}
    answer = told("process", script)
    assert answer["commands"][-1] == {"type": "finish", "run_id": "r-script", "reason": "user_cancelled"}
    assert told("can-continue", answer["envelope"]) == {
        "can_continue": False,
        "reason": "user_cancelled",
        "detail": "enough",
    }
    result = told("result", answer["envelope"])
    assert (result["lifecycle"], result["terminal_reason"], result["outputs"]) == ("terminated", "user_cancelled", {})


def test_can_continue_names_the_bound_that_stands_in_the_way() -> None:
    envelope = told("create", {**REQUEST, "limits": {"max_agent_hops": 2}})
    answer = told("can-continue", envelope)
    assert (answer["can_continue"], answer["reason"]) == (False, "max_agent_hops_exceeded")
    assert answer["detail"].startswith("1 stage executions made, limit 2 (1 kept for 'integration')")


def test_can_continue_knows_when_the_deadline_has_passed() -> None:
    answer = told("process", {"request": {**REQUEST, "deadline_s": 1}, "at_ms": 1_000})
    assert told("can-continue", answer["envelope"]) == {
        "can_continue": False,
        "reason": "deadline_exceeded",
        "detail": "it passed at 1970-01-01T00:00:02Z",
    }


def test_a_run_that_waits_for_a_person_cannot_continue() -> None:
    script = {
        "request": {**REQUEST, "wait": True},
        "events": [{"at_ms": 5, "payload": {"type": "pause_requested", "reason": "lunch"}}],
    }
    waiting = told("process", script)["envelope"]
    expected = {"can_continue": False, "reason": "waiting", "detail": "lunch"}
    assert told("can-continue", waiting) == expected


def test_fields_that_this_version_does_not_know_survive_and_do_no_harm() -> None:
    newer = {**REQUEST, "from_the_future": {"x": [1, None]}, "schema_version": 99, "outputs": {"no": {}}}
    for envelope in (told("create", newer), told("process", {"request": newer})["envelope"]):
        assert envelope["from_the_future"] == {"x": [1, None]}
        assert (envelope["schema_version"], "outputs" in envelope) == (2, False)
        assert told("validate", envelope) == {"valid": True, "faults": []}
        assert told("can-continue", envelope)["can_continue"] is True
        assert told("result", envelope)["lifecycle"] == "running"


def test_version_names_the_program_and_the_schema(tree: Tree) -> None:
    versions = tree.run("envelope", "version").answers().document
    assert versions["schema_version"] == 2
    assert versions["version"].count(".") >= 1


DEEP = b"[" * 100_000 + b"]" * 100_000
GARBAGE = [
    b"",
    b"{",
    b"null",
    b"[1]",
    b'"text"',
    b"\xff\xfe\x00",
    b'{"run_id": "\xff"}',
    DEEP,
    b'{"run_id": "r-1", "request": ' + DEEP + b"}",
    b'{"run_id": "r-1", "request": {"pipeline": "code_analysis", "raw_input": "?"}, "x": NaN}',
    b'{"run_id": "r-1", "request": {"pipeline": "code_analysis", "raw_input": "?"}, "x": 1' + b"0" * 40 + b"}",
    b'{"run_id": 7}',
    b'{"pipeline": 7, "raw_input": "?"}',
    b'{"request": {"pipeline": "p", "raw_input": "?"}, "events": [{"at_ms": 1, "payload": {"type": "no"}}]}',
]
GARBAGE_NAMES = [str(number) for number in range(len(GARBAGE))]


@pytest.mark.parametrize("command", ["create", "process", "can-continue", "result"])
@pytest.mark.parametrize("stdin", GARBAGE[:9], ids=GARBAGE_NAMES[:9])
def test_what_cannot_be_read_is_an_error_as_json_and_never_a_crash(command: str, stdin: bytes) -> None:
    error = here(command, stdin).answers(1).document
    assert set(error) == {"error", "code", "message"}
    assert (error["error"], error["code"]) == (True, "bad_input")
    assert error["message"].startswith("not a")


@pytest.mark.parametrize(("more", "is_read"), [(-1, True), (0, True), (1, False)])
def test_a_document_is_read_up_to_its_bound(more: int, is_read: bool) -> None:
    command = json.dumps(REQUEST).encode()
    outcome = here("create", command.ljust(MAX_DOCUMENT_BYTES + more))
    assert outcome.status == (0 if is_read else 1)
    assert is_read or outcome.document["message"].endswith(f"it has more than {MAX_DOCUMENT_BYTES} bytes")


@pytest.mark.parametrize("stdin", GARBAGE, ids=GARBAGE_NAMES)
def test_validate_says_what_is_no_envelope(stdin: bytes) -> None:
    answer = here("validate", stdin).answers().document
    assert answer["valid"] is False
    assert answer["faults"][0].startswith("not an envelope: ")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "Expected `object`, got `array`"),
        ({}, "Object missing required field `run_id`"),
        ({"run_id": "r-1", "request": REQUEST, "lifecycle": "odd"}, "Invalid enum value 'odd' - at `$.lifecycle`"),
    ],
)
def test_what_is_no_envelope_is_told_in_words_about_the_document(document: Any, told: str) -> None:
    stdin = json.dumps(document).encode()
    assert here("result", stdin).answers(1).document["message"] == f"not an envelope: {told}"
    assert here("validate", stdin).answers().document["faults"] == [f"not an envelope: {told}"]


@pytest.mark.parametrize(
    ("command", "stdin"), [("create", GARBAGE[12]), ("process", GARBAGE[13])], ids=["create", "process"]
)
def test_a_document_of_the_wrong_shape_is_told_where_it_is_wrong(command: str, stdin: bytes) -> None:
    error = here(command, stdin).answers(1).document
    assert error["code"] == "bad_input"
    assert "$." in error["message"]


@pytest.mark.parametrize(("command", "wrapped"), [("create", False), ("process", True)])
def test_a_question_with_a_character_that_no_text_may_have_is_refused(command: str, wrapped: bool) -> None:
    request = {**REQUEST, "raw_input": "What\0 is it?"}
    error = told(command, {"request": request} if wrapped else request, 1)
    assert "raw_input holds the character U+0000" in str(error)


@pytest.mark.parametrize("command", ["create", "process", "result"])
@pytest.mark.parametrize("stdin", [b"", b"\xff\xfe", DEEP], ids=["nothing", "no text", "deep"])
def test_the_program_itself_says_so_too(tree: Tree, command: str, stdin: bytes) -> None:
    assert tree.given(stdin, "envelope", command).answers(1).document["code"] == "bad_input"


def test_a_pipeline_that_is_not_there_is_an_error_with_the_known_ones() -> None:
    error = told("create", {**REQUEST, "pipeline": "nope"}, 1)
    assert (error["error"], error["code"]) == (True, "unknown_name")
    assert "no pipeline is named 'nope'; known: code_analysis" in error["message"]


def test_settings_that_cannot_be_used_are_an_error_as_json() -> None:
    error = told("create", REQUEST, 1, env={"JEEVES_HTTP__PORT": "many"})
    assert error["error"] is True
    assert error["message"]
