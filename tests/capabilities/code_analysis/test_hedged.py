"""The hedged pipeline: two planners race, independent steps run side by side, and the answer is the same."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.agents.planner import HEAD_START_S, independent_groups, thoroughly
from actors.capabilities.code_analysis.agents.traverser import gather_groups
from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.agents.capability import Capability, StageContext, StageInput
from runtime.bus.queries import LocalQueries
from runtime.errors import ModelFailedError
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId, StageKey
from runtime.run.envelope import Envelope
from runtime.run.stage_view import StageView
from runtime.settings import shipped_config_dir
from runtime.tools.executor import ToolExecutor
from tests.capabilities.code_analysis.support import (
    AnalysisHarness,
    mark_faults,
    no_context,
    reasoning,
    view,
    with_agents,
)

pytestmark = pytest.mark.long

HEDGED = load_pipeline(shipped_config_dir() / "pipelines" / "code_analysis_hedged.yaml")

RELAY_QUESTIONS = [
    "How does a depot accept a parcel?",
    "What is Depot?",
    "Who calls is_full?",
    "Explain relay/depot.py",
    "List all errors",
    "What does this project do?",
    "Which settings configure the timeout of a depot?",
]
STARLETTE_QUESTIONS = [
    "How does the router match a request to an endpoint?",
    "What is BackgroundTask?",
    "Who calls `get_route_path`?",
    "List all exceptions",
    "What does this package do?",
    "How does Mount.matches relate to Route.matches in routing.py?",
]


@pytest.fixture(scope="module")
def starlette(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalysisHarness]:
    spec = importlib.util.find_spec("starlette")
    assert spec is not None
    assert spec.origin is not None
    yield asyncio.run(AnalysisHarness.open(Path(spec.origin).parent, tmp_path_factory.mktemp("starlette")))


async def compared(desk: AnalysisHarness, question: str) -> Envelope:
    """Ask in both pipelines; they must answer alike. The hedged run's envelope."""
    plain = await desk.ask(question)
    hedged_desk = desk.variant(CAPABILITY, HEDGED)
    hedged = await hedged_desk.ask(question)
    same = ("answer", "citations", "findings", "files_examined", "open_goals", "terminal_reason", "partial")
    for field in same:
        assert hedged[field] == plain[field], field
    assert mark_faults(hedged["answer"], hedged["citations"]) == []
    assert hedged["answer"]
    assert hedged_desk.last is not None
    return hedged_desk.last


@pytest.mark.parametrize("question", RELAY_QUESTIONS)
async def test_the_hedged_pipeline_answers_as_the_plain_one_about_a_small_repository(
    relay: AnalysisHarness, question: str
) -> None:
    envelope = await compared(relay, question)
    assert envelope.stages["planner_quick"] == "success"


@pytest.mark.parametrize("question", STARLETTE_QUESTIONS)
async def test_the_hedged_pipeline_answers_as_the_plain_one_about_a_real_package(
    starlette: AnalysisHarness, question: str
) -> None:
    envelope = await compared(starlette, question)
    assert envelope.stages["planner_quick"] == "success"


async def never(_context: StageContext, _view: StageView, _given: StageInput) -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError("an event that nobody sets was set")


async def fails(_context: StageContext, _view: StageView, _given: StageInput) -> dict[str, Any]:
    raise ModelFailedError("no idea")


async def at_once(context: StageContext, view_: StageView, given_: StageInput) -> dict[str, Any]:
    """The thorough plan without its head start, for tests that need not wait for it."""
    return await thoroughly(_without_waiting(context), view_, given_)


def _without_waiting(context: StageContext) -> StageContext:
    class Now(FakeClock):
        async def sleep(self, delay_s: float) -> None:
            assert delay_s == HEAD_START_S

    return StageContext(context.key, Now(), context.tools, context.queries, context.services, context.cancelled)


def planners(quick: Any, thorough: Any) -> Capability:
    """The capability with other reasoners for its two racing planners; None: as shipped."""
    changed = {"planner_quick": quick, "planner_thorough": thorough}
    return with_agents(**{name: reasoning(name, reasoner) for name, reasoner in changed.items() if reasoner})


def attempts(envelope: Envelope, stage: str) -> list[str]:
    return [record.status for record in envelope.history if record.stage == stage]


async def test_the_planner_that_loses_is_cancelled_and_leaves_no_output(relay: AnalysisHarness) -> None:
    envelope = await relay.variant(planners(None, never), HEDGED).run("What is Depot?")
    assert attempts(envelope, "planner_thorough") == ["cancelled"]
    assert attempts(envelope, "planner_quick") == ["success"]
    assert (envelope.stages["planner_thorough"], envelope.terminal_reason) == ("cancelled", "completed")
    assert "planner_thorough" not in envelope.outputs
    assert envelope.outputs["planner"] == envelope.outputs["planner_quick"]


@pytest.mark.parametrize("quick", [never, fails], ids=["hangs", "fails"])
async def test_when_the_quick_planner_gives_nothing_the_thorough_one_saves_the_run(
    relay: AnalysisHarness, quick: Any
) -> None:
    desk = relay.variant(planners(quick, at_once), HEDGED)
    document = await desk.ask("What is Depot?")
    assert document["terminal_reason"] == "completed"
    assert document["citations"]
    assert desk.last is not None
    assert desk.last.outputs["planner"] == desk.last.outputs["planner_thorough"]
    # One that fails may do so while it is being cancelled, because the other was sooner.
    assert attempts(desk.last, "planner_quick") in ([["cancelled"]] if quick is never else [["error"], ["cancelled"]])


async def test_when_both_planners_fail_the_run_fails_and_names_the_last(relay: AnalysisHarness) -> None:
    envelope = await relay.variant(planners(fails, fails), HEDGED).run("What is Depot?")
    assert envelope.terminal_reason == "llm_failed_fatally"
    assert "no idea" in str(envelope.terminal_detail)


async def test_the_quick_planner_has_a_head_start() -> None:
    clock = FakeClock()
    plain = no_context()
    context = StageContext(
        StageKey(RunId("r-1"), 1),
        clock,
        ToolExecutor(CAPABILITY.tools, frozenset(), plain.budget),
        LocalQueries(),
        None,
        asyncio.Event(),
    )
    asked = msgspec.to_builtins(analyse("Where is the parcel weighed?"))
    facts = {"question": asked, "goals": [], "round": 1, "pass": 1, "is_wider": False, "tools": ["locate"]}
    plan = asyncio.create_task(thoroughly(context, view(), StageInput(facts)))
    await clock.advance(HEAD_START_S - 0.001)
    assert not plan.done()
    await clock.advance(0.001)
    assert plan.done()
    assert (await plan)["stage_number"] == 1


async def test_independent_steps_are_a_fan_out_and_their_results_stand_in_the_plans_order(
    starlette: AnalysisHarness,
) -> None:
    question = "Compare `Mount.matches` and `Route.matches` in routing.py"
    envelope = await starlette.variant(CAPABILITY, HEDGED).run(question)
    plan = envelope.outputs["planner"]
    assert len(plan["groups"]) > 1
    items = [record.item for record in envelope.history if record.stage == "traverser"]
    assert sorted(items) == list(range(len(plan["groups"])))
    assert len({record.hop for record in envelope.history if record.stage == "traverser"}) == 1
    order = [step["id"] for step in plan["steps"]]
    assert [report["step"] for report in envelope.outputs["execution"]["results"]] == order
    execution = envelope.outputs["execution"]
    assert list(execution["attempt_history"]) == order
    told = {report["step"]: report["attempts"] for report in execution["results"]}
    assert told == {step: len(attempts) for step, attempts in execution["attempt_history"].items()}
    assert any(told.values())
    places = [order.index(fact["step"]) for fact in envelope.outputs["execution"]["facts"]]
    assert places == sorted(places)


async def test_a_plan_without_steps_gives_results_without_facts() -> None:
    seen = view("?", planner={"steps": [], "groups": [], "target_goals": []}, traversed={"items": []})
    output = (await gather_groups(no_context(), seen)).output
    assert (output["results"], output["facts"], output["ranges"], output["all_succeeded"]) == ([], [], [], True)


async def test_an_unintelligible_question_is_asked_back_in_both_pipelines(relay: AnalysisHarness) -> None:
    for desk in (relay, relay.variant(CAPABILITY, HEDGED)):
        assert (await desk.run("?!")).terminal_reason == "clarification_required"


async def test_at_the_limit_the_hedged_pipeline_too_says_what_was_found(relay: AnalysisHarness) -> None:
    desk = relay.variant(CAPABILITY, HEDGED)
    for hops in range(1, 10):
        document = await desk.ask("What is Depot?", limits={"max_agent_hops": hops})
        assert document["terminal_reason"] == "max_agent_hops_exceeded"
        assert desk.last is not None
        assert desk.last.usage.agent_hops <= hops
        assert mark_faults(document["answer"], document["citations"]) == []


# --- groups


@st.composite
def plans(draw: st.DrawFn) -> list[Step]:
    """Steps of which each may build on any that come before it."""
    steps: list[Step] = []
    for number in range(draw(st.integers(0, 12))):
        earlier = [step.id for step in steps]
        tops = draw(st.lists(st.sampled_from(earlier), unique=True, max_size=3)) if earlier else []
        steps.append(Step(f"s{number}", "find", "locate", {}, ("g",), "why", tuple(tops)))
    return steps


@given(plans())
def test_groups_hold_each_step_once_in_order_and_nothing_depends_on_another_group(steps: list[Step]) -> None:
    groups = independent_groups(steps)
    assert sorted((step.id for group in groups for step in group), key=lambda name: int(name[1:])) == [
        step.id for step in steps
    ]
    place = {step.id: number for number, step in enumerate(steps)}
    group_of = {step.id: number for number, group in enumerate(groups) for step in group}
    for group in groups:
        assert [place[step.id] for step in group] == sorted(place[step.id] for step in group)
    for step in steps:
        assert all(group_of[top] == group_of[step.id] for top in step.top_of)
    firsts = [place[group[0].id] for group in groups]
    assert firsts == sorted(firsts)


@given(plans())
def test_groups_are_as_many_as_the_dependencies_allow(steps: list[Step]) -> None:
    joined: dict[str, set[str]] = {step.id: {step.id} for step in steps}
    for step in steps:
        for top in step.top_of:
            both = joined[top] | joined[step.id]
            for name in both:
                joined[name] = both
    assert len(independent_groups(steps)) == len({frozenset(names) for names in joined.values()})


def test_a_step_that_names_one_that_is_not_there_stands_alone() -> None:
    steps = [Step("a", "find", "locate", {}, (), ""), Step("b", "read", "read_code", {}, (), "", ("gone",))]
    assert [[step.id for step in group] for group in independent_groups(steps)] == [["a"], ["b"]]
