"""The older form with replanning, and the small profile, whose limits are each reached by itself."""

from __future__ import annotations

from typing import Any

import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from runtime.agents.capability import StageContext, StageInput
from runtime.run.stage_view import StageView
from tests.capabilities.code_analysis.support import LLM_AGENTS, AnalysisHarness, pipeline, reasoning, with_agents
from tests.capabilities.code_analysis.test_analysis_pipeline import QUESTION, critic_saying, routes, visited


def replanning(relay: AnalysisHarness, *script: str) -> AnalysisHarness:
    return relay.variant(
        with_agents(critic=reasoning("critic", critic_saying(*script))), pipeline("code_analysis_replan")
    )


async def test_the_older_form_answers_like_the_newer_one(relay: AnalysisHarness) -> None:
    old = await relay.variant(relay.capability, pipeline("code_analysis_replan")).ask(QUESTION)
    new = await relay.ask(QUESTION)
    assert old["answer"] == new["answer"]


async def test_a_replan_goes_to_the_planner_and_not_to_intent(relay: AnalysisHarness) -> None:
    envelope = await replanning(relay, "replan", "next_stage", "replan").run(QUESTION)
    assert routes(envelope) == ["replan", "next_round", "replan", "replan", "replan", "complete"]
    assert visited(envelope).count("intent") == 1
    assert visited(envelope).count("planner") == 6


async def test_a_replan_by_rules_looks_for_what_the_hint_names(relay: AnalysisHarness) -> None:
    plans: list[dict[str, Any]] = []

    async def keeps_plans(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        plans.append(await CAPABILITY.agents["planner"].reasoners["rules"](context, view, given))
        return plans[-1]

    says = critic_saying("replan", "approved")

    async def hints(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        return {**await says(context, view, given), "refine_intent_hint": "look at `accept_letter` as well"}

    agents = with_agents(critic=reasoning("critic", hints), planner=reasoning("planner", keeps_plans))
    await relay.variant(agents, pipeline("code_analysis_replan")).run(QUESTION)
    named = ["accept_letter" in str(plan["steps"]) for plan in plans]
    assert named[:2] == [False, True]


@pytest.mark.parametrize(("limit", "loops"), [(None, 3), (4, 3), (3, 3), (2, 2), (0, 0)])
async def test_replans_of_one_round_go_on_to_their_limit(relay: AnalysisHarness, limit: int | None, loops: int) -> None:
    limits = {} if limit is None else {"max_loops_per_stage": limit}
    envelope = await replanning(relay, "replan").run(QUESTION, limits=limits)
    assert routes(envelope) == ["replan"] * loops + ["complete"]
    assert envelope.terminal_reason == "completed"


@pytest.mark.long
async def test_each_round_of_the_older_form_has_its_own_loops(relay: AnalysisHarness) -> None:
    script = (["replan"] * 3 + ["next_stage"]) * 5
    # A scripted critic repeats itself, which loop detection would end before the bounds that this is about.
    unwatched = pipeline("code_analysis_replan").model_copy(update={"loop_detection": {}})
    critic = with_agents(critic=reasoning("critic", critic_saying(*script)))
    envelope = await relay.variant(critic, unwatched).run(QUESTION)
    expected = (["replan"] * 3 + ["next_round"]) * 4 + ["replan"] * 3 + ["complete_limit"]
    assert routes(envelope) == expected
    assert envelope.terminal_reason == "completed"


async def test_an_approval_with_goals_left_is_a_next_round_in_the_older_form(relay: AnalysisHarness) -> None:
    document = await replanning(relay, "approved").ask(QUESTION)
    assert document["usage"]["stages"] == 5
    assert document["partial"] is True


SMALL = {"max_iterations": 3, "max_llm_calls": 10, "max_agent_hops": 21}
OF_SMALL_ALONE = {"max_tokens": 200_000, "deadline_s": 900}


def test_the_small_profile_differs_in_three_figures_and_bounds_tokens_and_time() -> None:
    small, whole = pipeline("code_analysis_small"), pipeline()
    told = {"name", "description", *SMALL, *OF_SMALL_ALONE}
    assert {name: getattr(small, name) for name in OF_SMALL_ALONE} == OF_SMALL_ALONE
    assert {name: getattr(whole, name) for name in OF_SMALL_ALONE} == dict.fromkeys(OF_SMALL_ALONE)
    assert small.model_dump(exclude=told) == whole.model_dump(exclude=told)
    assert {name: getattr(small, name) for name in SMALL} == SMALL
    assert {name: getattr(whole, name) for name in SMALL} == {
        "max_iterations": 7,
        "max_llm_calls": 28,
        "max_agent_hops": 45,
    }


def calling_a_model(agent: str) -> Any:
    """The rules of an agent, that reserve model calls as a model would."""

    async def reason(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        await context.budget.take_llm_call(0)
        rules = critic_saying("next_stage") if agent == "critic" else CAPABILITY.agents[agent].reasoners["rules"]
        return await rules(context, view, given)

    return reasoning(agent, reason)


@pytest.mark.parametrize("bound", SMALL)
async def test_each_limit_of_the_small_profile_ends_a_run_by_itself_with_what_was_found(
    relay: AnalysisHarness, bound: str
) -> None:
    others_far_away = dict.fromkeys(SMALL.keys() - {bound}, 1000)
    config = pipeline("code_analysis_small").model_copy(update=others_far_away)
    hooks = {agent: calling_a_model(agent) for agent in LLM_AGENTS}
    envelope = await relay.variant(with_agents(**hooks), config).run(QUESTION)
    assert envelope.terminal_reason == f"{bound}_exceeded"
    assert getattr(envelope.usage, bound.removeprefix("max_")) == SMALL[bound]
    assert envelope.outputs["integration"]["citations"]


async def test_the_small_profile_with_a_model_ends_by_its_calls(relay: AnalysisHarness) -> None:
    hooks = {agent: calling_a_model(agent) for agent in LLM_AGENTS}
    envelope = await relay.variant(with_agents(**hooks), pipeline("code_analysis_small")).run(QUESTION)
    assert envelope.terminal_reason == "max_llm_calls_exceeded"
    assert envelope.usage.llm_calls == 10
    assert len(envelope.goals.finished_rounds) == 2


async def test_the_shipped_bounds_let_a_run_with_a_model_reach_its_rounds_before_its_calls(
    relay: AnalysisHarness,
) -> None:
    hooks = {agent: calling_a_model(agent) for agent in LLM_AGENTS}
    envelope = await relay.variant(with_agents(**hooks)).run(QUESTION)
    assert envelope.terminal_reason == "completed"
    assert routes(envelope)[-1] == "complete_limit"
    assert envelope.usage.llm_calls == 20
