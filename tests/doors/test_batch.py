"""`jeeves batch`: many questions side by side, whatever happens to one of them, and again after a kill."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import InputError
from runtime.settings import shipped_config_dir
from serve.batch.output_file import BatchFile
from serve.cli.commands.batch import read_lines
from tests.doors.evidence_checker import document_faults
from tests.doors.program import Outcome, Program, wait_until
from tests.doors.sample_repo import write_files
from tests.doors.test_runs_and_envelope import Tree
from tests.examples import long_but

QUESTIONS = [
    "How does PostOffice.deliver handle a full box?",
    "What is MAX_LETTERS?",
    "Who calls Box.put?",
    "Where is BoxFullError raised?",
    "What does frobnicate_quux do?",
]


def lines_for(repo: Path, questions: list[str]) -> list[dict[str, Any]]:
    return [{"id": f"q{number}", "question": text, "repo": str(repo)} for number, text in enumerate(questions)]


class Batch:
    """Input and output of a batch."""

    def __init__(self, jeeves: Program, folder: Path) -> None:
        self.jeeves = jeeves
        self.source = folder / "in.jsonl"
        self.out = folder / "out.jsonl"

    def write(self, lines: list[dict[str, Any]]) -> None:
        self.source.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    def run(self, *args: str, **options: Any) -> Outcome:
        return self.jeeves.run("batch", self.source, "--out", self.out, *args, **options)

    @property
    def answers(self) -> dict[str, dict[str, Any]]:
        documents = [json.loads(text) for text in self.out.read_text().split("\n") if text]
        assert len({document["id"] for document in documents}) == len(documents)
        return {document["id"]: document for document in documents}


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(Tree(tmp_path / "state"), tmp_path)


@pytest.mark.long
def test_every_line_is_answered_by_its_id_whatever_the_order(batch: Batch, repo: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS))
    outcome = batch.run("--concurrency", "3")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "5 answered, 0 failed, 0 kept\n")
    answers = batch.answers
    assert {name: answer["question"] for name, answer in answers.items()} == {
        f"q{number}": text for number, text in enumerate(QUESTIONS)
    }
    assert [fault for answer in answers.values() for fault in document_faults(answer, repo)] == []
    assert answers["q4"]["citations"] == []


@pytest.mark.long
def test_lines_whose_runs_a_bound_ends_before_anything_is_found_are_not_answered(repo: Path, tmp_path: Path) -> None:
    shipped = shipped_config_dir() / "pipelines" / "code_analysis_small.yaml"
    short = shipped.read_text().replace("max_agent_hops: 21", "max_agent_hops: 2")
    write_files(
        tmp_path / "config", {"pipelines/brief.yaml": short.replace("name: code_analysis_small", "name: brief")}
    )
    batch = Batch(Tree(tmp_path / "state", JEEVES_CONFIG_DIR=str(tmp_path / "config")), tmp_path)
    batch.write(lines_for(repo, QUESTIONS[:2]))
    assert batch.run("--pipeline", "brief").err == "2 answered, 0 failed, 0 kept\n"
    ends = [(each["bound"], each["status"], each["confidence"]) for each in batch.answers.values()]
    assert ends == [("max_agent_hops_exceeded", "not_found", 0.0)] * 2


@pytest.mark.long
def test_a_batch_stands_behind_others_and_the_status_counts_its_tasks(batch: Batch, repo: Path) -> None:
    assert batch.jeeves.run("status", "--json").answers(1).document["queues"] == {}
    batch.write([*lines_for(repo, QUESTIONS[:1]), {"id": "bad", "question": "?", "repo": str(repo / "none")}])
    batch.run()
    run = batch.jeeves.run("runs", "show", batch.answers["q0"]["run_id"]).answers().document
    assert run["request"]["priority"] == "low"
    ((name, queue),) = batch.jeeves.run("status", "--json").answers(1).document["queues"].items()
    counted = {state: queue[state] for state in ("ready", "leased", "delayed", "completed", "dead")}
    assert counted == {"ready": 0, "leased": 0, "delayed": 0, "completed": 1, "dead": 1}
    told = f"queue {name}: 0 ready, 0 under way, 0 to be tried again, 1 done, 1 given up\n"
    assert batch.jeeves.run("status").answers(1).out.startswith(f"not up\n{told}")


@pytest.mark.long
def test_more_at_once_changes_no_answer(batch: Batch, repo: Path, tmp_path: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS))
    batch.run("--concurrency", "1")
    one = {name: answer["answer"] for name, answer in batch.answers.items()}
    batch.out.unlink()
    batch.run("--concurrency", "8")
    assert {name: answer["answer"] for name, answer in batch.answers.items()} == one


@pytest.mark.long
def test_repositories_are_found_below_the_root_that_is_given(batch: Batch, repo: Path) -> None:
    batch.write([{"id": "a", "question": QUESTIONS[0], "repo": repo.name}])
    assert batch.run("--repo-root", str(repo.parent), cwd=Path("/")).status == 0
    assert batch.answers["a"]["repo"] == str(repo)


def test_a_line_that_cannot_be_answered_is_told_and_stops_no_other(batch: Batch, repo: Path) -> None:
    good, nowhere, empty, long, zero = lines_for(repo, QUESTIONS)
    nowhere["repo"] = "/nowhere/at/all"
    empty["question"] = "   "
    long["question"] = "x" * 100_001
    zero["repo"] = "a\0b"
    batch.write([nowhere, empty, long, zero, good])
    outcome = batch.run()
    assert (outcome.status, outcome.err) == (1, "1 answered, 4 failed, 0 kept\n")
    answers = batch.answers
    assert document_faults(answers["q0"], repo) == []
    assert answers["q1"]["error"]["code"] == "bad_repository"
    assert answers["q2"]["error"]["code"] == "bad_question"
    assert {name: answer["question"] for name, answer in answers.items()}["q2"] == "   "
    assert {"q3", "q4"} == {name for name in answers if name > "q2"}


@pytest.mark.long
def test_odd_characters_in_questions_are_only_characters(batch: Batch, repo: Path) -> None:
    odd = [
        "what is\u2028MAX_LETTERS?",
        "\x01\x1b[31m MAX_LETTERS",
        "\u0085\x0b\x0c MAX_LETTERS",
        "最大 MAX_LETTERS 📬",
    ]
    batch.write(lines_for(repo, odd))
    outcome = batch.run()
    assert (outcome.status, outcome.err) == (0, "4 answered, 0 failed, 0 kept\n")
    assert sorted(answer["question"] for answer in batch.answers.values()) == sorted(text.strip() for text in odd)
    assert batch.run("--resume").err == "0 answered, 0 failed, 4 kept\n"
    assert len(batch.answers) == 4


def test_lines_that_are_wrong_are_all_told_and_nothing_is_asked(batch: Batch, repo: Path) -> None:
    good = json.dumps(lines_for(repo, QUESTIONS)[0])
    wrong = [
        '{"id": "s", "question": "\\ud800", "repo": "r"}',
        "{",
        '{"id": "x"}',
        '{"id": 1, "question": "q", "repo": "r"}',
        "[]",
        good,
        good,
    ]
    batch.source.write_text("\n".join(wrong) + "\n")
    told = batch.run().complains(2, "in.jsonl")
    for number in (1, 2, 3, 4, 5, 7):
        assert f"line {number}:" in told
    assert "line 6:" not in told
    assert not batch.out.exists()


@pytest.mark.parametrize("content", long_but([b"", b"\n\n", b"\xef\xbb\xbf"], 2))
def test_an_empty_input_is_answered_at_once(batch: Batch, content: bytes) -> None:
    batch.source.write_bytes(content)
    outcome = batch.run()
    assert (outcome.status, outcome.err) == (0, "0 answered, 0 failed, 0 kept\n")


@pytest.mark.long
def test_an_input_that_is_not_there_or_no_text_is_refused(batch: Batch, tmp_path: Path) -> None:
    batch.run().complains(2, "in.jsonl")
    batch.source.write_bytes(b"\xff\xfe")
    batch.run().complains(2, "in.jsonl")
    batch.source.unlink()
    batch.source.mkdir()
    batch.run().complains(2, "in.jsonl")


def test_an_output_that_is_there_is_not_written_over(batch: Batch, repo: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS[:1]))
    batch.out.write_text("precious\n")
    batch.run().complains(2, "out.jsonl exists", "--resume")
    assert batch.out.read_text() == "precious\n"


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_asked(batch: Batch, repo: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS[:1]))
    batch.out = batch.out.parent / "nowhere" / "out.jsonl"
    batch.run().complains(2, "nowhere")
    batch.out = repo
    batch.run("--resume").complains(2, str(repo))


def test_an_unknown_pipeline_leaves_no_output_behind(batch: Batch, repo: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS[:1]))
    batch.run("--pipeline", "nonsense").complains(2, "'nonsense'")
    assert not batch.out.exists()


@pytest.mark.long
def test_going_on_skips_what_is_answered_and_drops_a_torn_line(batch: Batch, repo: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS[:2]))
    batch.run()
    kept = batch.out.read_bytes().split(b"\n")[0]
    name = json.loads(kept)["id"]
    torn = json.dumps({"id": "q1", "answer": "ü" * 50}, ensure_ascii=False).encode()
    batch.out.write_bytes(kept + b"\n" + torn[: torn.index("ü".encode()) + 1])
    batch.write(lines_for(repo, QUESTIONS))
    outcome = batch.run("--resume")
    assert (outcome.status, outcome.err) == (0, "4 answered, 0 failed, 1 kept\n")
    assert len(batch.answers) == 5
    assert kept in batch.out.read_bytes()
    assert batch.answers[name] == json.loads(kept)


@pytest.mark.long
def test_going_on_asks_again_what_had_failed(batch: Batch, repo: Path) -> None:
    (line,) = lines_for(repo.parent / "later", QUESTIONS[:1])
    batch.write([line])
    assert batch.run().status == 1
    repo.rename(repo.parent / "later")
    assert batch.run("--resume").err == "1 answered, 0 failed, 0 kept\n"
    assert "error" not in batch.answers["q0"]


def test_going_on_from_nothing_begins(batch: Batch, repo: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS[:1]))
    assert batch.run("--resume").err == "1 answered, 0 failed, 0 kept\n"


def test_going_on_with_rubbish_keeps_nothing_of_it(batch: Batch, repo: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS[:1]))
    batch.out.write_bytes(b'5\n[]\n{"a": 1}\n\xff\xfe\n{"id": "q0", "error": {}}\n')
    assert batch.run("--resume").err == "1 answered, 0 failed, 0 kept\n"
    assert list(batch.answers) == ["q0"]


@pytest.mark.long
def test_after_a_kill_everything_is_answered_once(batch: Batch, repo: Path) -> None:
    many = lines_for(repo, QUESTIONS * 40)
    batch.write(many)
    process = batch.jeeves.start("batch", batch.source, "--out", batch.out)
    wait_until(lambda: batch.out.exists() and batch.out.read_bytes().count(b"\n") >= 3)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    kept = batch.out.read_bytes().count(b"\n")
    assert kept < len(many)
    outcome = batch.run("--resume")
    assert outcome.err == f"{len(many) - kept} answered, 0 failed, {kept} kept\n"
    assert sorted(batch.answers) == sorted(line["id"] for line in many)


@pytest.mark.long
@pytest.mark.ray
def test_through_ray_the_answers_are_the_same(batch: Batch, ray_jeeves: Program, repo: Path) -> None:
    batch.write(lines_for(repo, QUESTIONS))
    batch.run()
    local = {name: answer["answer"] for name, answer in batch.answers.items()}
    batch.out.unlink()
    batch.jeeves = ray_jeeves
    outcome = batch.run("--concurrency", "4")
    assert (outcome.status, outcome.err) == (0, "5 answered, 0 failed, 0 kept\n")
    assert {name: answer["answer"] for name, answer in batch.answers.items()} == local


@pytest.mark.long
def test_places_alone_are_given_without_agents(batch: Batch, repo: Path) -> None:
    batch.write([*lines_for(repo, QUESTIONS), {"id": "gone", "question": "Where?", "repo": str(repo / "nowhere")}])
    outcome = batch.run("--mode", "locate")
    assert (outcome.status, outcome.err.splitlines()[-1]) == (1, "5 answered, 1 failed, 0 kept")
    answers = batch.answers
    assert answers["q1"]["citations"][0]["file"] == "post/boxes.py"
    for name in ("q0", "q1", "q2", "q3"):
        assert "answer" not in answers[name]
        assert 0 < len(answers[name]["citations"]) <= 20
        for place in answers[name]["citations"]:
            assert sorted(place) == ["end_line", "file", "start_line"]
            lines = (repo / place["file"]).read_text().split("\n")
            assert 1 <= place["start_line"] <= place["end_line"] <= len(lines)
    assert answers["gone"]["error"]["code"] == "bad_repository"
    assert batch.run("--mode", "locate", "--resume").err.splitlines()[-1] == "0 answered, 1 failed, 5 kept"


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to(os.devnull)


def too_large(path: Path) -> None:
    path.touch()
    os.truncate(path, 100_000_001)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("make", "told"),
    [(pipe, "it is no regular file"), (device, "it is no regular file"), (too_large, "at most 100000000 allowed")],
)
def test_what_is_no_file_of_lines_is_refused_by_name_instead_of_being_read(
    tmp_path: Path, make: Callable[[Path], None], told: str
) -> None:
    make(tmp_path / "in.jsonl")
    with pytest.raises(InputError, match=rf"in\.jsonl.*{told}"):
        read_lines(tmp_path / "in.jsonl")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [pipe, device])
@pytest.mark.parametrize("resume", [False, True])
def test_an_output_that_is_no_regular_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], resume: bool
) -> None:
    make(tmp_path / "out.jsonl")
    with pytest.raises(InputError, match=r"out\.jsonl is no regular file"):
        BatchFile(tmp_path / "out.jsonl").check(resume)
