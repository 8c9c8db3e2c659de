"""Which tests cover a thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.agents.synthesizer import write_claims
from actors.capabilities.code_analysis.answers import uses
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.uses import MAX_TESTS_ASKED_FOR
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import FITTING, CodeFact
from actors.capabilities.code_analysis.kinds.tested import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.relevance import rank_entities
from tests.capabilities.code_analysis.kinds.asking import step_ids, told_of
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, write_files


@pytest.mark.parametrize(
    "text",
    [
        "Which tests cover decide?",
        "How is the router tested?",
        "What are the tests of Route?",
        "Where do we test that a late parcel is sent back?",
        "Where is it tested that a late parcel is sent back?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "Show me all the tests",
        "What does test_route do?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_the_tests_that_belong_to_the_best_place_are_asked_for() -> None:
    assert step_ids("Which tests cover `decide`?") == ["find", "name0", "read", "tests", "use0", "use"]


def test_tests_that_fit_are_looked_for_where_nothing_is_named() -> None:
    assert "fitting" in step_ids("Which tests cover that a late parcel is sent back?")
    assert "fitting" not in step_ids("Who sends a late parcel back?")


def test_only_who_asks_for_tests_gets_those_of_the_file() -> None:
    assert "tests" not in step_ids("Who calls `decide`?")
    assert "tests" in step_ids("Who calls `decide`, and which tests cover it?")


async def test_the_tests_of_a_thing_are_told_by_the_line_that_uses_it(vehicles: AnalysisHarness) -> None:
    told = await told_of(vehicles, "Which tests cover `deliver_parcel`?")
    assert "- `test_a_van_delivers`: `assert deliver_parcel(a, b) == 1` [tests/test_van.py:6]" in told


def uses_told(count: int) -> list[Claim]:
    place = CodeFact("definition", cited("van.py", 5), name="deliver", symbol_kind="function", score=1.0)
    uses = [
        CodeFact("test", cited("t.py", n, quote="deliver()"), name=f"test_{n}", about="deliver", is_test=True)
        for n in range(1, count + 1)
    ]
    asked = analyse("Which tests cover `deliver`?")
    facts = [place, *uses]
    return write_claims(Evidence(asked, facts, rank_entities(asked, facts)), ["tests"])["tests"]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_who_asks_for_tests_gets_so_many(more: int) -> None:
    assert len(uses_told(MAX_TESTS_ASKED_FOR + more)) == min(MAX_TESTS_ASKED_FOR, MAX_TESTS_ASKED_FOR + more)


LATE = "Which tests cover that a late parcel is sent back?"


def claims_of(text: str, lead: str, *tests: CodeFact) -> list[Claim]:
    place = CodeFact("definition", cited("van.py", 5), name=lead, symbol_kind="function", score=1.0)
    question = analyse(text)
    return uses.tests_of(Evidence(question, list(tests), rank_entities(question, [place])))


def of_lead(lead: str) -> CodeFact:
    return CodeFact("test", cited("t.py", 3, quote=f"{lead}()"), name="test_it_runs", about=lead, is_test=True)


def fitting(name: str, line: int) -> CodeFact:
    return CodeFact("test", cited("t.py", line, quote=name), name=name, symbol_kind=FITTING, is_test=True)


def test_those_that_fit_are_told_under_a_heading_of_their_own_and_no_others() -> None:
    told = claims_of(LATE, "deliver_parcel", fitting("sends back", 9), fitting("is late", 7), of_lead("deliver_parcel"))
    assert [(claim.role, claim.subject) for claim in told] == [
        ("likely_test", "sends back"),
        ("likely_test", "is late"),
    ]


@pytest.mark.parametrize(("lead", "is_told"), [("deliver_parcel", True), ("Cli", False)])
def test_the_tests_of_what_leads_are_told_if_the_question_has_a_word_of_its_name(lead: str, is_told: bool) -> None:
    assert bool(claims_of(LATE, lead, of_lead(lead))) is is_told


async def test_the_tests_that_fit_stand_first(tmp_path: Path) -> None:
    write_files(
        tmp_path / "repo",
        {
            "van.py": 'def take(parcel):\n    """Take a parcel, or send it back when late."""\n    return parcel\n',
            "tests/test_van.py": "def test_a_late_parcel_is_sent_back():\n    assert send_back('late parcel')\n",
        },
    )
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    told = await told_of(harness, LATE)
    assert told.startswith("**Tests that fit best**\n\n- `test_a_late_parcel_is_sent_back`: `")
    assert "No test" not in told
