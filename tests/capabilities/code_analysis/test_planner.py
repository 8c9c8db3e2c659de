"""Which steps a round has."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.agents import planner
from actors.capabilities.code_analysis.agents.planner import plan_steps
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.searches import MAX_NAMED, MAX_WORDS
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.question.aspects import Aspect
from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.agents.capability import StageInput
from runtime.agents.profile import AgentProfile
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalBoard
from tests.capabilities.code_analysis.support import ASPECTS, no_context, view

ALL_ASPECTS: list[Aspect] = sorted({aspect for aspects in ASPECTS.values() for aspect in aspects})


# Steps with a tool that `list_tools` does not name are left out of a plan.
PLANNED_WHERE_THERE_ARE = ("trace_entry_point", "explain_code_history")


def goals_for(*aspects: str) -> list[Goal]:
    return [Goal(GoalId(aspect), aspect, priority=number) for number, aspect in enumerate(aspects)]


def plan(question: str, round_number: int = 1) -> list[Step]:
    asked = analyse(question)
    return plan_steps(asked, goals_for(*asked.aspects), round_number)


def searched(steps: list[Step]) -> list[str]:
    return [step.arguments["query"] for step in steps if step.tool == "locate"]


def test_a_question_in_words_is_searched_for_and_the_best_is_read_as_ranked() -> None:
    steps = plan("How does routing pick a stage?")
    assert [(step.id, step.tool) for step in steps] == [
        ("answer", "locate"),
        ("read", "read_code"),
    ]
    assert searched(steps) == ["How does routing pick a stage?"]
    assert (steps[1].top_of, steps[1].as_ranked) == (("answer",), True)


def test_each_part_and_name_of_a_question_in_words_is_searched_for_by_itself() -> None:
    steps = plan("How does `Router` pick a stage, and what does it do when no rule matches the output?")
    assert [step.id for step in steps] == ["answer", "part0", "part1", "name0", "read"]
    assert [step.arguments.get("query") for step in steps[1:4]] == [
        "How does `Router` pick a stage",
        "what does it do when no rule matches the output?",
        "Router",
    ]
    assert steps[-1].top_of == ("answer", "part0", "part1", "name0")


def test_a_question_about_a_name_is_searched_for_read_and_asked_for_its_uses() -> None:
    steps = plan("How does Route.pick work?")
    assert [step.tool for step in steps if not step.passed_on] == [
        "locate",
        "locate",
        "read_code",
        "read_code",
        "map_module",
        "explore_symbol_usage",
        "explore_symbol_usage",
    ]
    assert [step.tool for step in steps if step.passed_on] == ["read_code", "trace_entry_point"]
    assert searched(steps) == ["How does Route.pick work?", "Route.pick"]
    assert set(steps[2].top_of) == {"find", "name0"}


def test_where_questions_need_no_uses() -> None:
    assert [step.tool for step in plan("Where are bounds enforced?")] == ["locate", "read_code"]
    assert [step.tool for step in plan("Where is `enforce` defined?")] == ["locate", "locate", "read_code"]


def test_an_overview_describes_the_repository_and_maps_it_where_that_is_not_enough() -> None:
    (step,) = plan("What does this project do?")
    assert (step.tool, step.arguments) == ("describe_folder", {"path": "."})
    again = plan("What does this project do?", 2)
    assert [step.tool for step in again] == ["describe_folder", "map_module", "read_code", "read_code", "read_code"]


def test_an_overview_of_a_folder_describes_that_folder() -> None:
    steps = plan("Describe this package runtime/codebase")
    assert steps[0].arguments == {"path": "runtime/codebase"}


def test_a_list_is_searched_for_and_filled_up_from_the_best_file() -> None:
    tools = ["find_choices", "locate", "locate", "map_module", "locate", "read_code", "explore_symbol_usage"]
    assert [step.tool for step in plan("List all errors")] == tools
    assert plan("List all parcel errors")[-1].arguments["symbol"] == "ParcelError"


def test_a_path_in_the_question_is_mapped() -> None:
    assert {"path": "runtime/bounds.py"} in [step.arguments for step in plan("Explain runtime/bounds.py")]


@pytest.mark.parametrize(("names", "looked_up"), [(MAX_NAMED - 1, MAX_NAMED - 1), (MAX_NAMED, 4), (MAX_NAMED + 1, 4)])
def test_so_many_names_are_looked_up_each_by_itself(names: int, looked_up: int) -> None:
    question = "Explain " + " ".join(f"the_name_{letter}" for letter in "abcdefgh"[:names])
    assert len(searched(plan(question))) == 1 + looked_up


@pytest.mark.parametrize(("words", "looked_up"), [(MAX_WORDS - 1, MAX_WORDS - 1), (MAX_WORDS, 6), (MAX_WORDS + 1, 6)])
def test_a_later_round_looks_for_each_word_too(words: int, looked_up: int) -> None:
    question = " ".join(["zebra", "yacht", "violin", "tomato", "salmon", "pillow", "lantern"][:words])
    first, second = searched(plan(question, 1)), searched(plan(question, 2))
    assert first == [question]
    assert [query for query in second if query == question] == first
    assert len(second) == 1 + looked_up


def test_one_word_that_is_the_whole_question_is_not_looked_for_twice() -> None:
    assert searched(plan("zebra", 2)) == searched(plan("zebra", 1)) == ["zebra"]


any_question = st.builds(
    Question,
    text=st.text(max_size=60),
    kind=st.sampled_from(sorted(ASPECTS)),
    subject=st.text(max_size=30),
    identifiers=st.lists(st.sampled_from(["a", "b", "Route", "zebra"]), max_size=6).map(tuple),
    paths=st.lists(st.sampled_from(["a.py", "b/c.py", "."]), max_size=4).map(tuple),
    terms=st.lists(st.sampled_from(["a", "b", "zebra", "rout"]), max_size=8).map(tuple),
)


@given(any_question, st.lists(st.sampled_from(ALL_ASPECTS), unique=True), st.integers(1, 9))
def test_a_plan_has_no_doubled_step_and_only_tools_that_there_are(
    question: Question, aspects: list[Aspect], number: int
) -> None:
    steps = plan_steps(question, goals_for(*aspects), number)
    calls = [(s.tool, sorted(s.arguments.items()), s.top_of, s.fill) for s in steps]
    assert all(calls.count(call) == 1 for call in calls)
    assert len({step.id for step in steps}) == len(steps)
    ids: set[str] = set()
    for step in steps:
        assert step.tool in {*TOOLS.names(), *PLANNED_WHERE_THERE_ARE}
        assert set(step.goals) <= set(aspects)
        assert step.goals
        assert not step.top_of or ids.intersection(step.top_of), "a step builds on earlier ones"
        filled: dict[str, object] = {name: 1 if name.endswith("_line") else "x" for name in step.fill}
        arguments = {name: value or "x" for name, value in step.arguments.items()}
        if step.tool in PLANNED_WHERE_THERE_ARE:
            continue
        TOOLS.get(step.tool).read_arguments({**arguments, **filled})
        ids.add(step.id)
    if not aspects:
        assert not steps


@given(any_question, st.lists(st.sampled_from(ALL_ASPECTS), unique=True, min_size=1), st.integers(1, 4))
def test_a_later_round_never_looks_for_less(question: Question, aspects: list[Aspect], number: int) -> None:
    first = {(s.tool, repr(s.arguments)) for s in plan_steps(question, goals_for(*aspects), 1)}
    later = {(s.tool, repr(s.arguments)) for s in plan_steps(question, goals_for(*aspects), number)}
    assert first <= later


@given(
    st.lists(st.sampled_from(["definition", "usage", "made_up", ""]), max_size=6),
    st.lists(st.sampled_from(["pending", "partial", "satisfied", "blocked", "dropped"]), min_size=2, max_size=2),
)
async def test_a_plan_aims_only_at_goals_that_remain(targets: list[str], statuses: list[str]) -> None:
    goals = msgspec.convert(
        [{"id": g, "text": g, "status": s} for g, s in zip(("definition", "usage"), statuses, strict=True)],
        tuple[Goal, ...],
    )
    board = GoalBoard(goals=goals)
    result = await planner.settle(no_context(), view(goals=board), {"steps": [], "target_goals": targets})
    assert set(result.output["target_goals"]) <= {goal.id for goal in board.remaining}
    assert result.output["target_goals"] == [t for t in targets if t in {g.id for g in board.remaining}]


async def test_the_planner_uses_no_tool_that_it_was_not_told_of() -> None:
    looked_at = view("Who calls decide?", goals=GoalBoard(goals=tuple(goals_for("definition", "usage"))))
    context = no_context()
    given_ = await planner.gather(context, looked_at)
    assert set(given_.facts["tools"]) == {tool["name"] for tool in TOOLS.describe()}
    fewer = StageInput({**given_.facts, "tools": ["locate", "rm"]})
    output = await planner.by_rules(context, looked_at, fewer)
    assert {step["tool"] for step in output["steps"]} == {"locate"}
    assert output["target_goals"] == ["definition", "usage"]
    assert (await planner.by_rules(context, looked_at, StageInput({**given_.facts, "tools": []})))["steps"] == []


@pytest.mark.parametrize(("enough", "route"), [(44, "go_on"), (45, "go_on"), (46, "again")])
async def test_the_feasibility_that_a_plan_needs_is_a_threshold_of_its_profile(enough: float, route: str) -> None:
    context = no_context()
    context.profile = AgentProfile(thresholds={"feasibility": enough})
    output = {"plan_id": "p", "steps": [], "target_goals": [], "feasibility_score": 45, "stage_number": 1}
    settled = await planner.settle(context, view("?"), output)
    assert settled.output["route"] == route
