"""What happens in a case, and what follows what."""

from __future__ import annotations

import msgspec
import pytest

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.kinds.what_happens import CASE_BONUS, KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import step_ids
from tests.capabilities.code_analysis.support import cited


@pytest.mark.parametrize(
    "text",
    [
        "What happens when a tool call times out?",
        "What is the flow of a request?",
        "Show the call chain of `decide`",
        "Explain step by step how requests are handled",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "What is a lease?",
        "Why does it trace calls?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_of_a_name_its_calls_are_followed() -> None:
    assert "trace" in step_ids("Show the call chain of `decide`")


def test_a_case_in_words_is_a_question_for_an_answer() -> None:
    assert analyse("What happens when a tool call times out?").aspects == ("answer",)


def test_a_list_and_a_reason_are_told_first_where_a_question_asks_what_happens_too() -> None:
    assert analyse("List all signals and say what happens").kind == "list_all"
    assert analyse("Why is it unclear what happens?").kind == "why"


def test_code_that_says_it_is_there_for_the_case_gains() -> None:
    asked = analyse("What happens when a parcel is lost?")
    says = CodeFact(
        "definition", cited("a.py", 3), name="report", symbol_kind="function", docstring="Called when a parcel is lost."
    )
    assert KIND.bonus is not None
    assert KIND.bonus(asked, says, [says], {}) == CASE_BONUS
    section = msgspec.structs.replace(says, symbol_kind="section")
    assert KIND.bonus(asked, section, [section], {}) == 0.0
