"""A plan that is hardly feasible is made once more, once in each round, and the answer says that it was weak."""

from __future__ import annotations

from typing import Any

import pytest

from actors.capabilities.code_analysis.agents.planner import MIN_FEASIBILITY
from actors.capabilities.code_analysis.capability import CAPABILITY
from runtime.agents.capability import AgentHooks, StageContext, StageInput
from runtime.run.stage_view import StageView
from tests.capabilities.code_analysis.support import AnalysisHarness, pipeline, reasoning, with_agents
from tests.capabilities.code_analysis.test_analysis_pipeline import QUESTION, critic_saying, visited

FORMS = ["code_analysis", "code_analysis_replan", "code_analysis_small"]


def planner_scoring(*scores: Any) -> AgentHooks:
    """A planner whose plans have these scores, one after the other; the last one repeats."""
    made = iter(scores)
    last = scores[-1]

    async def reason(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        plan = await CAPABILITY.agents["planner"].reasoners["rules"](context, view, given)
        return {**plan, "feasibility_score": next(made, last)}

    return reasoning("planner", reason)


def plans(envelope: Any) -> int:
    return visited(envelope).count("planner")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("score", "made"), [(MIN_FEASIBILITY - 1, 2), (MIN_FEASIBILITY, 1), (MIN_FEASIBILITY + 1, 1), ("much", 2), (-5, 2)]
)
async def test_a_plan_below_the_least_feasibility_gets_one_more_try(
    relay: AnalysisHarness, form: str, score: Any, made: int
) -> None:
    desk = relay.variant(with_agents(planner=planner_scoring(score)), pipeline(form))
    envelope = await desk.run(QUESTION)
    assert plans(envelope) == made
    assert envelope.terminal_reason == "completed"
    assert ("The last search was a weak one" in envelope.outputs["integration"]["final_response"]) is (made == 2)


async def test_a_second_plan_that_is_better_is_no_weak_one(relay: AnalysisHarness) -> None:
    envelope = await relay.variant(with_agents(planner=planner_scoring(10, 90))).run(QUESTION)
    assert plans(envelope) == 2
    assert "weak" not in envelope.outputs["integration"]["final_response"]


async def test_each_round_has_one_more_try_and_a_reintent_none_of_its_own(relay: AnalysisHarness) -> None:
    critic = reasoning("critic", critic_saying("reintent", "next_stage", "approved"))
    desk = relay.variant(with_agents(planner=planner_scoring(10), critic=critic))
    envelope = await desk.run(QUESTION)
    assert plans(envelope) == 5
    assert envelope.usage.edges["planner->planner"] == 2


async def test_weak_plans_in_all_rounds_stay_within_the_limit_of_the_edge(relay: AnalysisHarness) -> None:
    critic = reasoning("critic", critic_saying("next_stage"))
    desk = relay.variant(with_agents(planner=planner_scoring(0), critic=critic))
    envelope = await desk.run(QUESTION)
    assert envelope.terminal_reason == "completed"
    assert envelope.usage.edges["planner->planner"] == 5


async def test_an_overview_is_feasible_without_a_word_to_look_for(relay: AnalysisHarness) -> None:
    assert plans(await relay.run("What does this project do?")) == 1
