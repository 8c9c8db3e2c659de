"""An answer says of a path that the question names and nobody may read why it was not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.agents.unreadable_paths import MAX_REPORTED, folders_not_read, not_read
from runtime.codebase.codebase import Codebase
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, write_files

OUTSIDE = "is no path of this repository; nothing outside it is read."


@pytest.fixture
async def desk(tmp_path: Path) -> AnalysisHarness:
    root = tmp_path / "repo"
    write_files(root, {**FILES, "relay/bundle.min.js": "x" * 1_000_001, "docs/plan.md": "# Plan\n", "plan.md": "# P\n"})
    (root / "relay" / "photo.png").write_bytes(b"\0\1\2")
    (root / "away.py").symlink_to("/etc/hostname")
    return await AnalysisHarness.open(root, tmp_path / "state")


def of(desk: AnalysisHarness) -> Codebase:
    codebase: Codebase = desk.services.codebase(desk.repository)
    return codebase


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is in ../outside/.env?", f"`../outside/.env` {OUTSIDE}"),
        ("Read /etc/passwd!", f"`/etc/passwd` {OUTSIDE}"),
        ("Read relay/../../x.py.", f"`relay/../../x.py` {OUTSIDE}"),
        ("What is in `~/.ssh/config`?", f"`~/.ssh/config` {OUTSIDE}"),
        ("What is in .env?", "`.env` may hold secrets; it is neither read nor cited."),
        ("What does bundle.min.js do?", "`relay/bundle.min.js` is larger than what is read, and was not looked at."),
        ("What is relay/photo.png?", "`relay/photo.png` is binary and was not looked at."),
        ("What is away.py?", "`away.py` is a link that leads outside the repository; it is not followed."),
    ],
)
async def test_a_path_that_nobody_may_read_is_told_with_the_reason(
    desk: AnalysisHarness, question: str, said: str
) -> None:
    assert said in (await desk.ask(question))["answer"].split("\n\n")


@pytest.mark.parametrize(
    "question",
    [
        "What does relay/van.py do?",
        "Where is self.key set?",
        "What is relay/../relay/van.py?",
        "Why a / b?",
        "What does <b>van</b> do?",
    ],
)
async def test_a_path_that_may_be_read_and_a_dotted_name_are_not_told(desk: AnalysisHarness, question: str) -> None:
    assert not_read(of(desk), question, "") == []


async def test_a_route_that_the_answer_has_is_no_path_outside(desk: AnalysisHarness) -> None:
    assert not_read(of(desk), "Who serves /parcels/new?", 'app.route("/parcels/new")') == []
    assert len(not_read(of(desk), "Who serves /parcels/new?", "nothing")) == 1


@pytest.mark.parametrize(
    ("question", "cited", "is_told"),
    [
        ("Why is /console refused?", ["relay/routes.py"], False),
        ("Why is /health refused?", ["relay/routes.py"], False),
        ("Why is /console refused?", ["relay/van.py", "relay/nowhere.py"], True),
        ("Why is /cons refused?", ["relay/routes.py"], True),
        ("Read ../console", ["relay/routes.py"], True),
    ],
    ids=["in double quotes", "in single quotes", "not in a cited file", "a part of it", "not absolute"],
)
async def test_a_route_that_stands_in_quotes_in_a_file_that_the_answer_cites_is_no_path_outside(
    tmp_path: Path, question: str, cited: list[str], is_told: bool
) -> None:
    routes = 'CONSOLE = "/console"\nHEALTH = \'/health\'\nUP = "../console"\n'
    write_files(tmp_path / "repo", {**FILES, "relay/routes.py": routes})
    desk = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    assert bool(not_read(of(desk), question, "", cited)) is is_told


async def test_a_question_that_names_a_route_is_answered_without_a_word_on_paths_outside(tmp_path: Path) -> None:
    routes = 'CONSOLE = "/console"\n\n\ndef refuse_console() -> int:\n    """Refuse a host."""\n    return 400\n'
    write_files(tmp_path / "repo", {**FILES, "relay/routes.py": routes})
    desk = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    answer = (await desk.ask("Where is refuse_console, for /console?"))["answer"]
    assert "relay/routes.py:4" in answer
    assert OUTSIDE not in answer


@pytest.mark.parametrize("count", [MAX_REPORTED - 1, MAX_REPORTED, MAX_REPORTED + 1])
async def test_at_most_so_many_paths_are_told(desk: AnalysisHarness, count: int) -> None:
    question = " ".join(f"../x{number}" for number in range(count))
    assert len(not_read(of(desk), question, "")) == min(count, MAX_REPORTED)


async def test_an_answer_says_that_names_which_are_no_text_were_left_out(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", FILES)
    (tmp_path / "repo" / "relay" / "two\nlines.py").write_text("def hidden():\n    return 1\n")
    answer = (await (await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")).ask("Where is hidden?"))[
        "answer"
    ]
    assert "Not all folders were read: relay/ has 1 names that are no UTF-8 or hold a line break: left out." in answer


@pytest.mark.parametrize(
    ("count", "more"), [(MAX_REPORTED, ""), (MAX_REPORTED + 1, "; 1 more."), (MAX_REPORTED + 2, "; 2 more.")]
)
def test_so_many_folders_are_told_and_the_number_of_the_rest(count: int, more: str) -> None:
    (said,) = folders_not_read([f"d{number} cannot be read" for number in range(count)])
    assert said.endswith(more)
    assert said.count("cannot be read") == MAX_REPORTED
    assert folders_not_read([]) == []
