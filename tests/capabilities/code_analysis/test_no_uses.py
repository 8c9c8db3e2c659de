"""What an answer says of uses and tests that were not found: only of what was searched to the end, by its name."""

from __future__ import annotations

from typing import Any

import pytest

from actors.capabilities.code_analysis.answers.absence.no_uses import no_uses
from actors.capabilities.code_analysis.evidence.facts import CodeFact, FactKind
from actors.capabilities.code_analysis.evidence.steps import StepReport
from tests.capabilities.code_analysis.support import AnalysisHarness, cited

EXPLORED = StepReport("use", "explore_symbol_usage", "ok")


def explored(**more: Any) -> CodeFact:
    return CodeFact("definition", cited("depot.py", 10, 20), step="use", name="Depot.accept", about="accept", **more)


def use(kind: FactKind, line: int, **more: Any) -> CodeFact:
    return CodeFact(kind, cited("van.py", line, line), step="use", name="load", about="accept", **more)


def test_what_was_explored_to_the_end_is_named_in_full() -> None:
    assert no_uses([], [explored()], [EXPLORED]) == {
        "usage": "No use of `Depot.accept` was proven in this repository.",
        "tests": "No test was proven to use `Depot.accept`.",
    }


@pytest.mark.parametrize(
    "report",
    [
        StepReport("use", "explore_symbol_usage", "ok", truncated=True),
        StepReport("use", "explore_symbol_usage", "ok", errors=["timed out"]),
        StepReport("use", "explore_symbol_usage", "partial"),
        StepReport("use", "explore_symbol_usage", "error"),
        StepReport("use", "locate", "ok"),
    ],
)
def test_nothing_is_said_after_a_search_that_did_not_come_to_its_end(report: StepReport) -> None:
    assert no_uses(["accept"], [explored()], [report]) == {}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ([use("caller", 3)], {"tests"}),
        ([use("reference", 3)], {"tests"}),
        ([use("importer", 3), use("caller", 4)], {"tests"}),
        ([use("mention", 3)], set()),
        ([use("test", 3, is_test=True)], {"usage"}),
        ([use("caller", 3, is_test=True)], {"usage"}),
    ],
)
def test_a_use_or_a_call_that_may_be_one_forbids_the_sentence(facts: list[CodeFact], said: set[str]) -> None:
    told = no_uses([], [explored(), *facts], [EXPLORED])
    assert set(told) == said
    if "usage" in told:
        assert told["usage"] == "No use of `Depot.accept` outside of tests was proven in this repository."


def test_calls_whose_receiver_is_not_known_forbid_both_sentences() -> None:
    assert no_uses([], [explored(unproven=1)], [EXPLORED]) == {}


def test_of_what_is_only_imported_no_other_use_was_proven() -> None:
    told = no_uses([], [explored(), use("importer", 3)], [EXPLORED])
    assert told["usage"] == "But for imports, no use of `Depot.accept` was proven in this repository."
    assert set(told) == {"usage", "tests"}


def test_a_name_that_is_nowhere_is_named_and_nothing_is_said_of_what_was_explored_instead() -> None:
    nowhere = StepReport("use0", "explore_symbol_usage", "not_found")
    assert no_uses(["drain"], [], [nowhere])["usage"] == "No use of `drain` was proven in this repository."
    assert no_uses(["drain"], [explored(), use("caller", 3)], [nowhere, EXPLORED]) == {
        "usage": "No use of `drain` was proven in this repository.",
        "tests": "No test was proven to use `drain`.",
    }
    assert no_uses(["drain"], [explored()], [EXPLORED]) == {}
    assert no_uses([], [], []) == {}


async def test_an_answer_says_nothing_of_it(relay: AnalysisHarness) -> None:
    for question in ("Where is drain_idle_parcels called?", "Who calls accept?", "Who uses Depot?"):
        document = await relay.ask(question)
        assert "No use of it" not in document["answer"]
        assert "use it." not in document["answer"]
