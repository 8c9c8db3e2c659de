"""Facts of a run, and how a context is cut to an agent's budget."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runtime.context.answer_context import AnswerContext, Excerpt
from runtime.context.budget import CUT_ORDER, Budget, estimated_tokens, fit_context
from runtime.context.models import Fact, FactCategory, Understanding


def fact(name: str, statement: str = "x" * 40, **more: object) -> Fact:
    usual = {"category": FactCategory.CODE_STRUCTURE, "confidence": 0.9, "source": "read_code:code"}
    return Fact.model_validate({"id": name, "statement": statement, **usual, **more})


def context(facts: int = 0, excerpts: int = 0, recent: int = 0) -> AnswerContext:
    """Each item has ten tokens."""
    return AnswerContext(
        agent="synthesizer",
        task="t" * 40,
        goals=("g" * 40,),
        understanding=Understanding(facts=tuple(fact(f"f{n}") for n in range(facts))),
        excerpts=tuple(Excerpt(place="a" * 9, text="e" * 30, fact=f"f{n}") for n in range(excerpts)),
        recent=tuple(f"{n}" * 40 for n in range(recent)),
    )


ROOM = Budget(1_000, 1_000, 1_000, 1_000)


def test_a_fact_is_frozen_validated_and_rounded() -> None:
    assert fact("f1", confidence=0.876).confidence == 0.88
    with pytest.raises(ValidationError):
        fact("f1").statement = "other"  # type: ignore[misc]


@pytest.mark.parametrize("wrong", [{"confidence": 1.01}, {"confidence": -0.01}, {"statement": ""}, {"odd": 1}])
def test_a_fact_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        fact(**{"name": "f1", **wrong})  # type: ignore[arg-type]


def test_a_fact_gives_way_to_the_one_that_supersedes_it_and_stays_on_record() -> None:
    known = Understanding(facts=(fact("f1"), fact("f2", supersedes="f1"), fact("f3", confidence=0.5)))
    assert [each.id for each in known.active] == ["f2", "f3"]
    assert [each.id for each in known.above(0.8)] == ["f2"]
    assert [each.id for each in known.facts] == ["f1", "f2", "f3"]
    assert known.of(FactCategory.ERROR) == ()


def test_two_facts_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="f1"):
        Understanding(facts=(fact("f1"), fact("f1")))


def test_a_context_survives_pickling() -> None:
    made = context(2, 1, 1)
    assert pickle.loads(pickle.dumps(made)) == made


def test_what_fits_is_shown_whole() -> None:
    shown = fit_context(context(3, 2, 1), ROOM)
    assert shown.context == context(3, 2, 1)
    assert shown.cut == ()
    assert shown.tokens == {"task": 10, "goals": 10, "facts": 30, "excerpts": 20, "recent": 10}
    assert shown.total_tokens == 80


@pytest.mark.parametrize(("facts_tokens", "kept"), [(0, 0), (29, 2), (30, 3), (31, 3)])
def test_a_part_is_cut_to_its_own_budget_from_its_end(facts_tokens: int, kept: int) -> None:
    shown = fit_context(context(facts=4), Budget(1_000, facts_tokens, 0, 0))
    assert [each.id for each in shown.context.understanding.facts] == [f"f{n}" for n in range(kept)]
    assert [(cut.part, cut.items, cut.tokens) for cut in shown.cut] == [("facts", 4 - kept, 10 * (4 - kept))]


@pytest.mark.parametrize(
    ("total_tokens", "left"),
    [
        (80, (2, 2, 2)),
        (79, (2, 1, 2)),
        (60, (2, 0, 2)),
        (59, (1, 0, 2)),
        (40, (0, 0, 2)),
        (39, (0, 0, 1)),
        (20, (0, 0, 0)),
        (0, (0, 0, 0)),
    ],
)
def test_excerpts_give_way_first_then_facts_then_what_went_before(total_tokens: int, left: tuple[int, ...]) -> None:
    shown = fit_context(context(2, 2, 2), Budget(total_tokens, 1_000, 1_000, 1_000)).context
    assert (len(shown.understanding.facts), len(shown.excerpts), len(shown.recent)) == left
    assert shown.task == "t" * 40
    assert shown.goals == ("g" * 40,)


sizes = st.integers(0, 200)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), sizes, sizes, sizes, sizes)
def test_a_budget_holds_and_what_was_cut_is_on_record(
    facts: int, excerpts: int, recent: int, total: int, of_facts: int, of_excerpts: int, of_recent: int
) -> None:
    whole = context(facts, excerpts, recent)
    shown = fit_context(whole, Budget(total, of_facts, of_excerpts, of_recent))
    assert shown.total_tokens <= max(total, 20)
    cut = {part.part: part.items for part in shown.cut}
    assert len(shown.context.understanding.facts) + cut.get("facts", 0) == facts
    assert len(shown.context.excerpts) + cut.get("excerpts", 0) == excerpts
    assert len(shown.context.recent) + cut.get("recent", 0) == recent
    assert set(cut) <= set(CUT_ORDER)
    assert fit_context(shown.context, Budget(total, of_facts, of_excerpts, of_recent)).context == shown.context


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_tokens_are_estimated_by_length(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens
