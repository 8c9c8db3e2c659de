"""Who uses what a question describes, and parts of a question that point back to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.answers import uses
from actors.capabilities.code_analysis.answers.composition import compose
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.relevance import Entity
from runtime.codebase.citation import Citation
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal
from tests.capabilities.code_analysis.support import AnalysisHarness, write_files

FILES = {
    "shop/clock.py": '''"""Time for people."""


def spell_out(seconds):
    """Turn a count of seconds into words, such as "2 hours 3 minutes"."""
    hours, rest = divmod(seconds, 3600)
    words = [f"{hours} hours"] if hours else []
    return " ".join([*words, f"{rest // 60} minutes"])
''',
    "shop/queue.py": '''"""Waiting."""

from shop.clock import spell_out


def waiting(seconds):
    """Tell how many minutes and seconds a customer waits."""
    told = spell_out(seconds)
    if not told:
        told = "no minutes, no hours"
    return told


def is_long(seconds):
    """Tell whether a count of seconds is too long a wait."""
    minutes = seconds // 60
    if minutes > 30:
        return True
    return False
''',
    "tests/test_clock.py": "from shop.clock import spell_out\n\n\ndef test_words():\n    assert spell_out(60)\n",
}
NO_USE = "No use of `spell_out` outside of tests was proven in this repository."
IN_WORDS = "There is a function that turns seconds into words. Who uses it?"


def claim(role: ClaimRole, name: str, line: int, code: str = "") -> Claim:
    return Claim(role, f"`{name}`", (Citation("time.py", line, line, name, "x"),), code=code, subject=name)


def entity(name: str, file: str, *, is_test: bool = False) -> Entity:
    return Entity(name, "function", Citation(file, 1, 5, name, f"def {name}()"), "", "", 1.0, (), is_test)


def told(question: str, *claims: Claim, usage: tuple[Claim, ...] = ()) -> str:
    findings = [Finding(Goal(GoalId("answer"), ""), claims), Finding(Goal(GoalId("usage"), ""), usage)]
    return compose(analyse(question), findings, {}, None, unused={"usage": NO_USE})


@pytest.mark.parametrize(
    ("question", "further", "aspects"),
    [
        ("What is the hash table in here good for? Does anything use it at all?", ("who_calls",), ("answer", "usage")),
        ("How does it retry a request? Which tests cover it?", ("tested",), ("answer", "tests")),
        ("Explain the retry logic. Which tests cover it and who wrote it?", ("tested", "changed"), ("answer", "tests")),
        ("What does `Lease` do for a shop? Is anything using it?", ("who_calls",), ("answer", "usage")),
        # It does not point back, and is no other kind.
        ("How does it retry a request? Can a request be dropped?", (), ("answer",)),
        ("Who uses the hash table? Does anything else use it?", (), ("answer", "usage")),
    ],
)
def test_a_part_that_points_back_asks_for_a_relation_of_what_the_question_is_about(
    question: str, further: tuple[str, ...], aspects: tuple[str, ...]
) -> None:
    asked = analyse(question)
    assert asked.further == further
    assert asked.aspects[: len(aspects)] == aspects


def test_that_nothing_uses_it_stands_right_behind_it() -> None:
    answer = told(IN_WORDS, claim("lead", "spell_out", 1), claim("point", "watch", 9, "watch()\nwait()"))
    assert answer.index("`spell_out` [time.py:1]") < answer.index(NO_USE) < answer.index("`watch`")
    assert answer.count(NO_USE) == 1


def test_that_nothing_uses_it_stands_at_the_end_where_nobody_asked_for_uses() -> None:
    answer = told("How are seconds turned into words?", claim("lead", "spell_out", 1), claim("point", "watch", 9))
    assert answer.index("`watch`") < answer.index(NO_USE)


def test_uses_stand_ahead_of_further_places_and_apart_from_them() -> None:
    callers = (claim("caller", "report", 20),)
    question = "How are seconds turned into words? Who uses it?"
    answer = told(question, claim("lead", "spell_out", 1), claim("point", "watch", 9), usage=callers)
    assert answer.split("\n\n") == [
        "`spell_out` [time.py:1]",
        "**Used by**",
        "- `report` [time.py:20]",
        "**Further places**",
        "- `watch` [time.py:9]",
    ]


def test_further_places_have_no_heading_where_no_list_stands_ahead_of_them() -> None:
    answer = told("How are seconds turned into words?", claim("lead", "spell_out", 1), claim("point", "watch", 9))
    assert "Further places" not in answer


async def test_who_uses_what_is_described_is_told_its_uses_and_shown_no_other_code(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", FILES)
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    question = "There is a function that turns a count of seconds into words like hours and minutes. Who uses it?"
    answer = (await harness.ask(question))["answer"]
    assert answer.startswith("`spell_out` in `shop/clock.py`")
    assert "**Used by**\n\n- `waiting`: `told = spell_out(seconds)` [shop/queue.py:8]" in answer
    assert "`test_words`" in answer
    assert answer.count("```") == 2


@pytest.mark.parametrize(
    ("question", "lead", "test", "is_told"),
    [
        ("Which tests protect the watch command?", "watch_query", "test_watch_command", True),
        ("Which tests protect the watch command?", "watch_query", "test_once_command", False),
        ("Which tests would catch a break of the line ends of a file?", "_determine", "test_catch_signal", False),
        ("Which tests would catch a break of the line ends of a file?", "_determine", "test_line_ends", True),
    ],
)
def test_a_test_is_told_that_is_called_after_what_leads_or_after_more_than_one_word_of_the_question(
    question: str, lead: str, test: str, is_told: bool
) -> None:
    places = [entity(lead, "main.py"), entity(test, "tests/test_main.py", is_test=True)]
    told = uses.tests_of(Evidence(analyse(question), [], places))
    assert [claim.subject for claim in told] == ([test] if is_told else [])
