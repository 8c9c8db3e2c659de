"""What the traverser asks of tools and keeps of their results, at each bound, and what facts save."""

from __future__ import annotations

from typing import Any

import pytest

from actors.capabilities.code_analysis.agents.context_limits import capped, may_read, slices_cut, texts_cut, tree_cut
from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from runtime.codebase.tool_registry import CodeTool, code_tool, code_tools
from serve.answer_document import exit_status
from tests.capabilities.code_analysis.support import AnalysisHarness, Produced, cited, pipeline, reasoning, with_agents
from tests.capabilities.code_analysis.test_analysis_pipeline import critic_saying

NAMES = [
    "code_analysis",
    "code_analysis_hedged",
    "code_analysis_replan",
    "code_analysis_reviewed",
    "code_analysis_small",
]
BOUNDS = {
    "max_tree_depth": 15,
    "max_tree_tokens": 2000,
    "max_grep_results": 50,
    "max_symbol_results": 100,
    "max_file_slice_tokens": 4000,
    "max_files_per_query": 50,
    "max_total_code_tokens": 12000,
    "max_traversal_depth": 10,
    "max_retries_per_step": 2,
    "max_stages": 5,
    "max_session_context_tokens": 10000,
}


CAPPED = {
    (tool.name, parameter): bound
    for tool in code_tools()
    if isinstance(tool, CodeTool)
    for parameter, bound in tool.capped_by.items()
}


def test_four_parameters_of_tools_have_a_bound_of_their_own_and_the_default_that_it_lowers() -> None:
    bounded = {
        ("locate", "max_results"): "max_grep_results",
        ("explore_symbol_usage", "max_results"): "max_symbol_results",
    }
    deep = {("map_module", "max_depth"): "max_tree_depth", ("trace_entry_point", "max_depth"): "max_traversal_depth"}
    assert {**bounded, **deep} == CAPPED
    defaults = {bound: declared(tool).default_of(parameter) for (tool, parameter), bound in CAPPED.items()}
    limits = {"max_grep_results": 20, "max_symbol_results": 50, "max_tree_depth": 15, "max_traversal_depth": 3}
    assert defaults == limits


def declared(tool: str) -> CodeTool:
    found = code_tool(tool)
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
def test_each_pipeline_ships_with_the_bounds_that_are_told(name: str) -> None:
    assert BOUNDS.items() <= pipeline(name).context_bounds.items()


@pytest.mark.parametrize(("tool", "parameter"), CAPPED)
@pytest.mark.parametrize(("asked", "given"), [(6, 6), (7, 7), (8, 7), (10_000, 7)])
def test_an_argument_is_lowered_to_its_bound_and_never_raised(
    tool: str, parameter: str, asked: int, given: int
) -> None:
    assert capped(tool, {parameter: asked, "x": "y"}, {CAPPED[tool, parameter]: 7}) == {parameter: given, "x": "y"}


@pytest.mark.parametrize(("tool", "parameter"), CAPPED)
def test_a_bound_of_nothing_makes_no_call_and_no_bound_changes_nothing(tool: str, parameter: str) -> None:
    assert capped(tool, {}, {CAPPED[tool, parameter]: 0}) is None
    assert capped(tool, {}, {}) == {}
    assert capped(tool, {}, {CAPPED[tool, parameter]: 1}) == {parameter: 1}


@pytest.mark.parametrize(("read", "may"), [(1, True), (2, False), (3, False)])
def test_so_many_files_are_read_in_a_query_and_those_again(read: int, may: bool) -> None:
    known = [f"f{n}" for n in range(read)]
    assert may_read("new", known, {"max_files_per_query": 2}) is may
    assert may_read("f0", known, {"max_files_per_query": 2})


@pytest.mark.parametrize(("chars", "kept"), [(39, 39), (40, 40), (41, 40)])
def test_a_slice_of_code_is_cut_to_its_tokens(chars: int, kept: int) -> None:
    (fact,) = slices_cut([CodeFact("code", cited("a", 1), text="x" * chars)], {"max_file_slice_tokens": 10})
    assert len(fact.text) == kept


@pytest.mark.parametrize(
    ("tokens", "kept"), [(0, []), (1, ["mod1"]), (2, ["mod1", "mod2"]), (3, ["mod1", "f001", "mod2"])]
)
def test_a_map_has_its_modules_before_what_they_hold(tokens: int, kept: list[str]) -> None:
    facts = [
        CodeFact("module", cited("a", 1), name="mod1"),
        CodeFact("definition", cited("a", 2), name="f001"),
        CodeFact("module", cited("b", 1), name="mod2"),
    ]
    assert [fact.name for fact in tree_cut(facts, {"max_tree_tokens": tokens})] == kept


@pytest.mark.parametrize("limit", [0, 1, 2])
async def test_a_run_reads_no_more_files_than_it_may(relay: AnalysisHarness, limit: int) -> None:
    document = await relay.ask("How does deliver_parcel work?", limits={"max_files_per_query": limit}, explain=True)
    assert document["terminal_reason"] == "completed"
    assert relay.last is not None
    assert len(relay.last.outputs["execution"]["files_read"]) <= limit


async def test_the_bound_of_a_request_reaches_the_tools(relay: AnalysisHarness) -> None:
    seen: list[Any] = []
    produced = Produced(relay.root)
    desk = relay.variant(produced.recording(CAPABILITY))
    await desk.run("Where is parcel?", limits={"max_grep_results": 3})
    seen = [len(result.data["results"]) for name, result in produced.results if name == "locate"]
    assert seen
    assert max(seen) <= 3


async def test_an_explanation_shows_intent_goals_plans_rounds_and_what_facts_saved(relay: AnalysisHarness) -> None:
    document = await relay.ask("How does deliver_parcel work?", explain=True)
    explained = document["explanation"]
    assert explained["intent"]["intent"] == "Explain deliver_parcel work"
    assert [goal["status"] for goal in explained["goals"]] == ["satisfied", "satisfied", "blocked"]
    (only,) = explained["rounds"]
    assert only["because"] == "approved"
    assert only["plan"]["feasibility_score"] >= 40
    assert {step["step"] for step in only["steps"]} >= {"find", "read"}
    assert 0 < only["context"]["fact_tokens"] < only["context"]["raw_tokens"]
    assert document["attempts"][0]["steps"]["find"]
    assert "explanation" not in await relay.ask("How does deliver_parcel work?")


@pytest.mark.parametrize("limit", [0, 1, 2])
@pytest.mark.parametrize(
    ("bound", "question", "false_word"),
    [
        ("max_symbol_results", "Who calls accept?", "No use of it was proven"),
        ("max_grep_results", "What happens when a depot is full?", "Nothing in this repository"),
    ],
)
async def test_a_bound_that_forbids_to_look_is_told_and_nothing_is_said_to_be_absent(
    relay: AnalysisHarness, bound: str, question: str, false_word: str, limit: int
) -> None:
    document = await relay.ask(question, limits={bound: limit})
    assert document["bound"] == (bound if limit == 0 else None)
    assert document["partial"] is (limit == 0)
    assert exit_status(document) == (5 if limit == 0 else 0)
    assert (bound in document["answer"]) is (limit == 0)
    assert bool(document["open_goals"]) >= (limit == 0)
    assert false_word not in document["answer"]


async def test_a_bound_that_forbids_what_no_open_goal_needs_is_not_told(relay: AnalysisHarness) -> None:
    document = await relay.ask("Where is deliver_parcel?", limits={"max_symbol_results": 0})
    assert (document["bound"], document["partial"]) == (None, False)


def code_chars(desk: AnalysisHarness) -> int:
    """Characters of code that all passes of the last run handed on, each text once."""
    assert desk.last is not None
    read = [text for done in desk.last.goals.finished_rounds for text in done.synthesis["code_read"]]  # type: ignore[attr-defined]
    return sum(longest_by_place(read).values())


def longest_by_place(read: list[Any]) -> dict[tuple[str, int], int]:
    longest: dict[tuple[str, int], int] = {}
    for file, start, chars in read:
        longest[file, start] = max(chars, longest.get((file, start), 0))
    return longest


@pytest.mark.long
@pytest.mark.parametrize("form", ["code_analysis", "code_analysis_hedged"])
async def test_the_code_of_all_passes_of_a_query_together_is_within_its_bound(
    relay: AnalysisHarness, form: str
) -> None:
    critic = reasoning("critic", critic_saying("next_stage"))
    desk = relay.variant(with_agents(critic=critic), pipeline(form))
    await desk.run("How does deliver_parcel work and where is a depot full?")
    whole = code_chars(desk)
    for tokens in (whole // 4 - 1, whole // 4, whole // 4 + 1, whole // 8, 1, 0):
        await desk.run(
            "How does deliver_parcel work and where is a depot full?", limits={"max_total_code_tokens": tokens}
        )
        assert code_chars(desk) == min(whole, 4 * tokens)


async def test_code_that_was_shown_in_an_earlier_pass_is_shown_again_and_counts_once(relay: AnalysisHarness) -> None:
    critic = reasoning("critic", critic_saying("next_stage"))
    desk = relay.variant(with_agents(critic=critic))
    await desk.run("How does deliver_parcel work?", limits={"max_total_code_tokens": 20})
    assert desk.last is not None
    passes = [sum(text[2] for text in done.synthesis["code_read"]) for done in desk.last.goals.finished_rounds]  # type: ignore[attr-defined]
    assert passes[0] == 80
    assert passes[1:] == [80] * 4


def read(step: str, line: int, size: int) -> CodeFact:
    return CodeFact("code", cited("a.py", line), step=step, text="x" * size)


def sizes(facts: list[CodeFact]) -> list[int]:
    return [len(fact.text) for fact in facts]


def test_the_best_find_of_each_search_is_read_before_the_second_best_of_any_and_what_was_asked_for_first() -> None:
    found = [read("s1", 1, 30), read("s1", 2, 30), read("s2", 3, 30), read("asked", 4, 30), read("s2", 5, 30)]
    assert sizes(texts_cut(found, 120, {}, {"s1", "s2"})) == [30, 10, 30, 30, 0]
    assert sizes(texts_cut(found, 150, {}, ())) == [30, 30, 30, 30, 30]


@pytest.mark.parametrize(("size", "shown"), [(3_999, [3_999, 1_001]), (4_000, [3_000, 2_000])])
def test_a_long_find_waits_for_a_shorter_one_of_the_next_rank(size: int, shown: list[int]) -> None:
    found = [read("s1", 1, size), read("s2", 2, 2_000)]
    assert sizes(texts_cut(found, 6_000, {}, {"s1", "s2"})) == shown


@pytest.mark.parametrize(("size", "shown"), [(74, 74), (75, 75), (76, 75)])
def test_a_sixth_of_the_code_is_kept_for_later_passes_unless_it_is_asked_for(size: int, shown: int) -> None:
    assert sizes(texts_cut([read("s1", 1, size)], 90, {}, {"s1"})) == [shown]
    assert sizes(texts_cut([read("s1", 1, size)], 90, {}, ())) == [size]
    assert sizes(texts_cut([read("s1", 1, size)], 0, {("a.py", 1): 50}, {"s1"})) == [50]
