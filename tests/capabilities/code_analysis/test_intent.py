"""Goals from a question, when a person is asked back, and what «it» means."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.agents import intent
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from runtime.agents.capability import StageResult
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalBoard
from tests.capabilities.code_analysis.support import ASPECTS, AnalysisHarness, no_context, view

ONE_OF_EACH = {
    "where": "Where are bounds enforced?",
    "what": "What is RunTable?",
    "how": "How does routing pick a stage?",
    "who_calls": "Who calls decide?",
    "what_happens": "What happens on a timeout?",
    "why": "Why is the deadline kept apart?",
    "changed": "Who last changed decide?",
    "changes_with": "What else changes with decide?",
    "tested": "Which tests cover decide?",
    "configured": "Where is the port configured?",
    "default_value": "What is the default port?",
    "extend": "How do I add a tool?",
    "compare": "Compare LocalRuntime and RayRuntime",
    "list_all": "List all errors",
    "third_party": "List the dependencies",
    "overview": "What does this project do?",
}

# Those that are asked in words here have the goal of an answer, and the relations that they ask for besides.
GOALS_IN_WORDS = {
    **dict.fromkeys(("where", "how", "what_happens", "why", "configured", "default_value"), ("answer",)),
    "extend": ("answer", "precedents"),
    "changes_with": ("answer", "together"),
}


async def reasoned(question: str, turns: list[dict[str, Any]] | None = None, hint: str | None = None) -> dict[str, Any]:
    hinted = {"verdict": "reintent", "refine_intent_hint": hint, "route": "reintent", "because": "asked_again"}
    looked_at = view(question, critic=hinted) if hint else view(question)
    looked_at.outputs["perception"]["memory_context"]["turns"] = turns or []
    context = no_context()
    return await intent.by_rules(context, looked_at, await intent.gather(context, looked_at))


async def settled(question: str, board: GoalBoard | None = None) -> StageResult:
    return await intent.settle(no_context(), view(goals=board), await reasoned(question))


def turn(question: str, *symbols: str) -> dict[str, Any]:
    return {"question": question, "answer": "", "at_ms": 1, "symbols": list(symbols)}


@pytest.mark.parametrize("kind", ASPECTS)
async def test_each_kind_of_question_has_its_goals_in_order(kind: str) -> None:
    result = await settled(ONE_OF_EACH[kind])
    assert result.output["question"]["kind"] == kind
    assert result.interrupt is None
    assert result.goals is not None
    assert [goal.id for goal in result.goals.add] == list(GOALS_IN_WORDS.get(kind, ASPECTS[kind]))
    assert [goal.priority for goal in result.goals.add] == list(range(len(result.goals.add)))
    assert all("{" not in goal.text for goal in result.goals.add)
    assert result.output["goal_priorities"] == {goal.id: goal.priority for goal in result.goals.add}


async def test_a_goal_speaks_of_the_subject_and_for_usage_of_the_name() -> None:
    result = await settled("Who calls the function decide?")
    assert result.goals is not None
    assert [goal.text for goal in result.goals.add] == [
        "Find where decide is defined",
        "Show who uses decide",
        "Find the tests of decide",
    ]


async def test_goals_are_added_in_the_first_round_alone() -> None:
    known = GoalBoard(goals=(Goal(GoalId("definition"), "Find it"),))
    result = await settled("Where are bounds enforced?", known)
    assert result.goals is None


@pytest.mark.parametrize("question", ["", "???", "How does it work?", "the of and", "[?:1]", "[a/[?]:1-2]"])
async def test_a_person_is_asked_back_when_there_is_nothing_to_look_for(question: str) -> None:
    result = await settled(question)
    assert result.goals is None
    assert result.interrupt is not None
    assert result.interrupt.kind == "clarification"
    assert "Which function, file" in result.interrupt.question
    assert ":1]" not in result.interrupt.question


@pytest.mark.parametrize("question", ["Where is xyzzy?", "xyzzy", "What does this project do?", "src/a.py", "über"])
async def test_nobody_is_asked_back_when_there_is_anything_to_look_for(question: str) -> None:
    assert (await settled(question)).interrupt is None


async def test_a_missing_question_text_is_made_up_for() -> None:
    unclear = {**await reasoned("Where?"), "clarification_needed": True, "clarification_question": None}
    result = await intent.settle(no_context(), view(), unclear)
    assert result.interrupt is not None
    assert result.interrupt.question.endswith("?")


async def test_it_means_what_the_last_turn_was_about() -> None:
    turns = [turn("What is Router?", "Router"), turn("What is RunTable?", "RunTable", "RunTable.submit", "other")]
    output = await reasoned("Who calls it?", turns)
    question = msgspec.convert(output["question"], Question)
    assert question.identifiers == ("RunTable", "RunTable.submit")
    assert "runtable" in question.terms
    assert "RunTable" in question.subject
    assert not output["clarification_needed"]


async def test_without_symbols_it_means_the_names_in_the_last_question() -> None:
    output = await reasoned("How does it work?", [turn("What does `apply_patch` do?")])
    question = msgspec.convert(output["question"], Question)
    assert question.identifiers == ("apply_patch",)
    assert not output["clarification_needed"]


@pytest.mark.parametrize("question", ["How does this library parse headers?", "Where are bounds enforced?"])
async def test_a_question_with_a_subject_of_its_own_is_not_mixed_with_the_last_turn(question: str) -> None:
    output = await reasoned(question, [turn("What is RunTable?", "RunTable")])
    assert msgspec.convert(output["question"], Question) == analyse(question)


async def test_what_the_hint_of_the_critic_names_is_looked_for() -> None:
    output = await reasoned("Where are bounds?", hint="look at `hop_count` in limits.py")
    question = msgspec.convert(output["question"], Question)
    assert "hop_count" in question.identifiers
    assert question.paths == ("limits.py",)
    assert question.kind == "where"


CLOSED = {"verdict": "next_stage", "route": "next_round"}


async def test_a_hint_from_a_round_that_was_closed_is_no_hint() -> None:
    looked_at = view("Where?", critic={**CLOSED, "refine_intent_hint": "look at `hop_count`"})
    assert (await intent.gather(no_context(), looked_at)).facts["hint"] is None


LOOPS: dict[str, Any] = {
    "goals": [{"id": "a", "text": "A"}, {"id": "b", "text": "B", "priority": 7}, {"id": "c", "text": "C"}],
    "goal_dependencies": {"b": ["a", "unknown"], "c": ["b"]},
    "goal_priorities": {"a": 2, "c": 1},
}


async def test_goals_have_the_dependencies_and_priorities_that_intent_gives_them() -> None:
    output = {**await reasoned("Where are bounds?"), **LOOPS}
    result = await intent.settle(no_context(), view(), output)
    assert result.goals is not None
    assert [(goal.id, goal.priority, goal.depends_on) for goal in result.goals.add] == [
        ("a", 2, ()),
        ("b", 7, ("a",)),
        ("c", 1, ("b",)),
    ]


async def test_goals_that_the_critic_proposes_are_added_and_dropped_by_intent() -> None:
    board = GoalBoard((Goal(GoalId("definition"), "D"), Goal(GoalId("usage"), "U")))
    critic = {
        "verdict": "reintent",
        "route": "reintent",
        "because": "asked_again",
        "refine_intent_hint": "look at the vans as well",
        "add_goals_hint": ["Say what a van is"],
        "drop_goals_hint": ["usage", "definition", "unknown"],
    }
    looked_at = view("Where are bounds?", goals=board, critic=critic)
    context = no_context()
    output = await intent.by_rules(context, looked_at, await intent.gather(context, looked_at))
    result = await intent.settle(context, looked_at, output)
    assert result.goals is not None
    assert [goal.text for goal in result.goals.add] == ["Say what a van is"]
    assert result.goals.drop == ("usage",)


async def test_not_all_goals_are_dropped_at_once() -> None:
    board = GoalBoard((Goal(GoalId("usage"), "U"),))
    output = {**await reasoned("Where are bounds?"), "drop_goals": ["usage"]}
    assert (await intent.settle(no_context(), view(goals=board), output)).goals is None


@pytest.mark.parametrize(
    ("question", "ambiguities"),
    [
        ("Where is RunTable?", []),
        ("Who calls it?", ["it refers back, and nothing that was asked before tells to what"]),
        ("How do `load` and `dump` work?", ["it names 2 things; the first is looked at first"]),
        ("Compare `load` and `dump`", []),
    ],
)
async def test_what_may_be_meant_in_two_ways_is_told(question: str, ambiguities: list[str]) -> None:
    assert (await reasoned(question))["ambiguities"] == ambiguities


async def test_the_hint_of_the_critic_is_passed_on() -> None:
    assert (await reasoned("Where are bounds?", hint="look at the hop count"))["hint_used"] == "look at the hop count"


@given(st.text(max_size=200), st.lists(st.text(max_size=30), max_size=3))
async def test_any_text_gives_goals_or_a_question_back(text: str, symbols: list[str]) -> None:
    output = await reasoned(text, [turn(text, *symbols)])
    result = await intent.settle(no_context(), view(), output)
    assert (result.interrupt is None) == bool(result.goals and result.goals.add)


async def test_a_follow_up_in_a_session_is_answered_about_the_earlier_subject(relay: AnalysisHarness) -> None:
    await relay.ask("What is `deliver_parcel`?", session_id="follow-up")
    document = await relay.ask("Where is it defined?", session_id="follow-up")
    assert document["terminal_reason"] == "completed"
    assert document["answer"].startswith("`deliver_parcel` is a function in `relay/van.py`")


async def test_the_same_follow_up_without_a_session_is_asked_back(relay: AnalysisHarness) -> None:
    document = await relay.ask("Where is it defined?")
    assert document["terminal_reason"] == "clarification_required"
    assert document["citations"] == []
