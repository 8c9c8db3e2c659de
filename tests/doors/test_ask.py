"""`jeeves ask`: the answer document, what it says is true of the files, exit statuses and bounds."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from runtime.settings import shipped_config_dir
from tests.doors.evidence_checker import document_faults
from tests.doors.program import JEEVES, Outcome, Program, processes_that_mention, snapshot, wait_until
from tests.doors.sample_repo import QUESTION
from tests.examples import long_but

QUESTIONS = [
    QUESTION,
    "What is MAX_LETTERS?",
    "Who calls Box.put?",
    "Where is BoxFullError raised?",
    "Give me an overview of this repository",
    "Which tests are there for the post office?",
    "Which files are in the package post?",
]


def own_pipeline(folder: Path, **changes: object) -> dict[str, str]:
    """Settings under which `code_analysis` has other values."""
    shipped = (shipped_config_dir() / "pipelines" / "code_analysis.yaml").read_text()
    (folder / "pipelines").mkdir(parents=True)
    (folder / "pipelines" / "code_analysis.yaml").write_text(yaml.safe_dump({**yaml.safe_load(shipped), **changes}))
    return {"JEEVES_CONFIG_DIR": str(folder)}


@pytest.mark.long
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_citation_of_an_answer_is_true_of_the_files(jeeves: Program, repo: Path, question: str) -> None:
    document = jeeves.ask(question, repo).answers().document
    assert document_faults(document, repo) == []
    assert document["citations"]
    assert (document["question"], document["repo"], document["schema_version"]) == (question, str(repo), 1)
    assert (document["terminal_reason"], document["reasoner"], document["commit"]) == ("completed", "rules", None)
    assert document["usage"]["hops"] >= 7
    assert document["usage"]["tool_calls"] >= 1


def test_the_first_citation_is_what_was_asked_about(jeeves: Program, repo: Path) -> None:
    first = jeeves.ask(QUESTION, repo).document["citations"][0]
    assert (first["file"], first["symbol"]) == ("post/office.py", "PostOffice.deliver")


def test_the_commit_is_that_of_the_work_tree(jeeves: Program, repo: Path) -> None:
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert jeeves.ask(QUESTION, repo).document["commit"] == head


@pytest.mark.long
def test_asking_writes_nothing_under_the_repository(jeeves: Program, repo: Path) -> None:
    before = snapshot(repo)
    jeeves.ask(QUESTION, repo, cwd=repo).answers()
    jeeves.run("index", "--repo", repo, cwd=repo).answers()
    jeeves.run("tool", "locate", '{"query": "Box"}', "--repo", repo, cwd=repo).answers()
    assert snapshot(repo) == before


@pytest.mark.long
def test_a_second_question_finds_the_file_as_it_is_now(jeeves: Program, repo: Path) -> None:
    jeeves.ask(QUESTION, repo).answers()
    office = repo / "post" / "office.py"
    office.write_text("# one more line\n" + office.read_text())
    document = jeeves.ask(QUESTION, repo).document
    assert document_faults(document, repo) == []
    assert document["citations"]


def test_the_repository_is_the_folder_that_one_is_in_unless_told(jeeves: Program, repo: Path) -> None:
    document = jeeves.run("ask", QUESTION, "--json", cwd=repo).answers().document
    assert document["repo"] == str(repo)
    assert document_faults(document, repo) == []


@pytest.mark.long
def test_a_relative_repository_and_a_link_to_one_are_followed(jeeves: Program, repo: Path) -> None:
    (repo.parent / "link").symlink_to(repo)
    assert jeeves.ask(QUESTION, "repo", cwd=repo.parent).answers().document["repo"] == str(repo)
    assert jeeves.ask(QUESTION, "link", cwd=repo.parent).answers().document["repo"] == str(repo)


@pytest.mark.long
def test_piped_output_is_plain_text_with_the_same_answer(jeeves: Program, repo: Path) -> None:
    piped = jeeves.run("ask", QUESTION, "--repo", repo).answers()
    assert "\x1b" not in piped.out
    assert "\r" not in piped.out
    assert piped.out.strip() == jeeves.ask(QUESTION, repo).document["answer"].strip()


@pytest.mark.long
def test_control_characters_of_a_file_do_not_reach_the_output(jeeves: Program, repo: Path) -> None:
    (repo / "post" / "bell.py").write_text(
        'def ring() -> str:\n    """Rings \x1b[31mred\x1b[0m \x07."""\n    return "x"\n'
    )
    piped = jeeves.run("ask", "What does ring do?", "--repo", repo).answers()
    assert "ring" in piped.out
    assert [char for char in piped.out if ord(char) < 32 and char not in "\n\t"] == []
    assert document_faults(jeeves.ask("What does ring do?", repo).document, repo) == []


def test_a_mark_in_a_file_is_not_taken_for_a_citation(jeeves: Program, repo: Path) -> None:
    (repo / "post" / "liar.py").write_text('def lie() -> None:\n    """Tells lies, see [post/secret.py:1-9]."""\n')
    assert document_faults(jeeves.ask("What does lie do?", repo).document, repo) == []


@pytest.mark.long
def test_on_a_terminal_stages_are_shown_and_the_answer_follows(jeeves: Program, repo: Path) -> None:
    master, slave = pty.openpty()
    env = {**jeeves.env, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(
        [JEEVES, "ask", QUESTION, "--repo", repo], env=env, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            shown += os.read(master, 65_536)
        except OSError:
            break
    os.close(master)
    assert process.wait(timeout=60) == 0
    assert b"\x1b[" in shown
    assert b"perception" in shown
    assert b"post/office.py" in shown


@pytest.mark.long
def test_explain_adds_what_was_tried(jeeves: Program, repo: Path) -> None:
    assert "attempts" not in jeeves.ask(QUESTION, repo).document
    assert jeeves.ask(QUESTION, repo, "--explain").document["attempts"]


@pytest.mark.long
def test_a_session_remembers_what_was_asked(jeeves: Program, repo: Path) -> None:
    jeeves.ask(QUESTION, repo, "--session", "s1").answers()
    again = jeeves.ask("Who calls it?", repo, "--session", "s1")
    alone = jeeves.ask("Who calls it?", repo, "--session", "s2")
    assert again.status == 0
    assert document_faults(again.document, repo) == []
    assert alone.document["citations"] != again.document["citations"]


@pytest.mark.long
def test_nothing_found_is_said_and_has_status_3(jeeves: Program, repo: Path) -> None:
    document = jeeves.ask("What does frobnicate_quux do?", repo).answers(3).document
    assert document["citations"] == []
    assert "frobnicate_quux" in document["answer"]
    assert document_faults(document, repo) == []


@pytest.mark.long
def test_a_question_that_cannot_be_understood_is_asked_back_with_status_4(jeeves: Program, repo: Path) -> None:
    asked = jeeves.ask("why?", repo).answers(4)
    assert asked.document["terminal_reason"] == "clarification_required"
    assert asked.document["answer"].endswith("?")
    piped = jeeves.run("ask", "why?", "--repo", repo).answers(4)
    assert piped.out.strip() == asked.document["answer"]


@pytest.mark.parametrize("hops", range(8))
def test_a_run_makes_no_more_hops_than_it_is_allowed(jeeves: Program, repo: Path, hops: int) -> None:
    outcome = jeeves.ask(QUESTION, repo, "--max-agent-hops", str(hops)).answers(0 if hops >= 7 else 5)
    document = outcome.document
    assert document["usage"]["hops"] <= hops
    assert document["terminal_reason"] == ("completed" if hops >= 7 else "max_agent_hops_exceeded")
    assert document_faults(document, repo) == []
    assert bool(document["citations"]) is (hops >= 5)
    # From the first hop on there is room for the final stage, which says what was found.
    assert document["answer"].startswith("The run ended without an answer") is (hops == 0)


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_run_makes_no_more_tool_calls_than_it_is_allowed(jeeves: Program, repo: Path, calls: int) -> None:
    document = jeeves.ask(QUESTION, repo, "--max-tool-calls", str(calls)).document
    assert document["usage"]["tool_calls"] <= calls
    assert document_faults(document, repo) == []


@pytest.mark.parametrize("stages", [1, 2])
def test_a_run_has_no_more_rounds_than_it_is_allowed(jeeves: Program, repo: Path, stages: int) -> None:
    document = jeeves.ask(QUESTION, repo, "--max-stages", str(stages)).document
    assert document["usage"]["stages"] <= stages
    assert document_faults(document, repo) == []


def test_a_limit_given_with_a_question_cannot_raise_that_of_the_pipeline(
    jeeves: Program, repo: Path, tmp_path: Path
) -> None:
    env = own_pipeline(tmp_path / "config", max_agent_hops=5)
    document = jeeves.ask(QUESTION, repo, "--max-agent-hops", "500", env=env).answers(5).document
    assert document["usage"]["hops"] == 5
    assert document["terminal_reason"] == "max_agent_hops_exceeded"


def test_a_deadline_ends_the_run_with_status_5(jeeves: Program, repo: Path) -> None:
    document = jeeves.ask(QUESTION, repo, "--deadline-s", "0.001").answers(5).document
    assert document["terminal_reason"] == "deadline_exceeded"
    assert document_faults(document, repo) == []


@pytest.mark.long
@pytest.mark.parametrize(("stage", "reason"), [("perception", "internal_error"), ("intent", "completed")])
def test_a_run_that_fails_has_status_1_and_says_why(
    jeeves: Program, repo: Path, tmp_path: Path, stage: str, reason: str
) -> None:
    shipped = yaml.safe_load((shipped_config_dir() / "pipelines" / "code_analysis.yaml").read_text())
    for agent in shipped["agents"]:
        agent["required_output_fields"] = ["never_there"] if agent["name"] == stage else []
    env = own_pipeline(tmp_path / "config", agents=shipped["agents"])
    document = jeeves.ask(QUESTION, repo, env=env).answers(1).document
    assert (document["terminal_reason"], document["partial"]) == (reason, True)
    assert "never_there" in document["terminal_detail"]
    # What has an error route leaves it to integration to say so.
    failed = [failure["stage"] for failure in document.get("failures", [])]
    assert failed == ([stage] if reason == "completed" else [])
    assert document_faults(document, repo) == []


@pytest.mark.long
@pytest.mark.ray
def test_through_ray_the_answer_is_the_same(ray_jeeves: Program, jeeves: Program, repo: Path) -> None:
    through_ray = ray_jeeves.ask(QUESTION, repo).answers().document
    in_process = jeeves.ask(QUESTION, repo).answers().document
    assert document_faults(through_ray, repo) == []
    for document in (through_ray, in_process):
        del document["run_id"], document["usage"]["duration_ms"]
    assert through_ray == in_process


@pytest.mark.long
@pytest.mark.ray
def test_agents_that_die_meanwhile_change_neither_answer_nor_output(ray_jeeves: Program, repo: Path) -> None:
    process = ray_jeeves.start("ask", QUESTION, "--repo", repo, "--json")
    agents = wait_until(lambda: [pid for pid in processes_that_mention(str(ray_jeeves.state_dir)) if is_agent(pid)], 60)
    for pid in agents:
        os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    document = Outcome(process.returncode, out, err).answers().document
    assert document_faults(document, repo) == []
    assert document["citations"]


def is_agent(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::AgentActor")
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.parametrize(("number", "status"), long_but([(signal.SIGINT, 130), (signal.SIGTERM, 143)], 0))
def test_a_question_that_is_broken_off_leaves_no_process(
    ray_jeeves: Program, repo: Path, number: signal.Signals, status: int
) -> None:
    process = ray_jeeves.start("ask", QUESTION, "--repo", repo, "--json")
    wait_until(lambda: [pid for pid in processes_that_mention(str(ray_jeeves.state_dir)) if is_agent(pid)], 60)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (status, "")
    assert "Traceback" not in err
    wait_until(lambda: not processes_that_mention(str(ray_jeeves.state_dir)), 20)


@pytest.mark.ray
def test_through_ray_too_a_question_that_is_no_utf8_is_refused(ray_jeeves: Program, repo: Path) -> None:
    ray_jeeves.ask(b"what is \xff\xfe?", repo).complains(2, "UTF-8")


@pytest.mark.long
def test_a_reader_that_goes_away_is_no_error(jeeves: Program, repo: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [str(JEEVES), "ask", QUESTION, "--repo", str(repo)]
    process = subprocess.Popen(command, env=jeeves.env, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "")


@pytest.mark.long
def test_the_document_can_be_read_when_the_locale_is_plain_ascii(jeeves: Program, repo: Path) -> None:
    outcome = jeeves.ask("Was macht «deliver» für Kästen?", repo, env={"LANG": "C", "LC_ALL": "C"})
    assert json.loads(outcome.out)["question"] == "Was macht «deliver» für Kästen?"


@pytest.mark.long
def test_an_index_that_another_program_has_locked_is_told_of_while_it_is_waited_for(
    jeeves: Program, repo: Path
) -> None:
    jeeves.ask(QUESTION, repo).answers()
    (index,) = (jeeves.state_dir / "index").glob("*/index.sqlite")
    with closing(sqlite3.connect(index, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        process = jeeves.start("ask", QUESTION, "--repo", repo, "--json")
        assert process.stderr is not None
        line = process.stderr.readline()
        other.execute("ROLLBACK")
    out, rest = process.communicate(timeout=60)
    assert line.startswith(
        f"jeeves: waiting up to 60 s for the index {index}: another program has locked this database"
    )
    assert (process.returncode, rest, bool(json.loads(out)["citations"])) == (0, "", True)
