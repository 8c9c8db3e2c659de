"""The pipeline that ships, and how far its loops go."""

from __future__ import annotations

from typing import Any

import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from runtime.agents.capability import Reasoner, StageContext, StageInput
from runtime.run.envelope import Envelope
from runtime.run.stage_view import StageView
from serve.answer_document import exit_status
from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, pipeline, reasoning, with_agents

QUESTION = "How does deliver_parcel work?"
A_HINT = "look at the vans, not at the depots"
PASS = ("intent", "planner", "traverser", "synthesizer", "critic")


def critic_saying(*script: str) -> Reasoner:
    """A critic that leaves every goal open and says these verdicts, pass by pass; the last one repeats."""

    async def reason(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        output = await CAPABILITY.agents["critic"].reasoners["rules"](context, view, given)
        verdict = script[min(len(view.goals.finished_rounds) + 1, len(script)) - 1]
        return {
            **output,
            "verdict": verdict,
            "goal_status": {goal.id: "partial" for goal in view.goals.remaining},
            # Progress is claimed, so that a run is not taken for stuck before its limit.
            "satisfied_goals": ["progress"],
            "refine_intent_hint": A_HINT,
        }

    return reason


def with_critic(relay: AnalysisHarness, *script: str) -> AnalysisHarness:
    return relay.variant(with_agents(critic=reasoning("critic", critic_saying(*script))))


def routes(envelope: Envelope) -> list[Any]:
    return [done.synthesis["route"] for done in envelope.goals.finished_rounds]


def visited(envelope: Envelope) -> list[str]:
    return [str(record.stage) for record in envelope.history]


def test_the_pipeline_that_ships_fits_the_capability() -> None:
    config = pipeline()
    assert config.capability_id == CAPABILITY.id
    assert config.name in CAPABILITY.pipelines
    assert set(config.stages) <= set(CAPABILITY.agents)
    for agent in config.agents:
        assert set(agent.allowed_tools) <= set(CAPABILITY.tools.names())
        hooks = CAPABILITY.agents[agent.name]
        assert ("rules" in hooks.reasoners) is agent.has_llm
        assert (hooks.process is not None) is not agent.has_llm


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("code_analysis", "intent"),
        ("code_analysis_small", "intent"),
        ("code_analysis_reviewed", "intent"),
        ("code_analysis_replan", "planner"),
    ],
)
def test_the_critic_has_one_way_back_and_the_planner_one_to_itself(name: str, target: str) -> None:
    config = pipeline(name)
    order = {agent.name: agent.stage_order for agent in config.agents}
    back = {
        (agent.name, target)
        for agent in config.agents
        for target in config.targets_of(agent)
        if target in order and order[target] <= order[agent.name]
    }
    assert back == {("critic", target), ("planner", "planner")}
    assert config.edge_limit_of["planner->planner"] == config.context_bounds["max_stages"]


@pytest.mark.parametrize(
    "name", ["code_analysis", "code_analysis_small", "code_analysis_reviewed", "code_analysis_replan"]
)
def test_only_the_traverser_and_the_planner_may_use_tools(name: str) -> None:
    reach = {agent.name: set(agent.allowed_tools) for agent in pipeline(name).agents if agent.allowed_tools}
    assert reach == {"planner": {"list_tools"}, "traverser": {tool["name"] for tool in CAPABILITY.tools.describe()}}


def test_every_route_of_the_critic_has_a_rule() -> None:
    rules = {rule.value: rule.target for rule in pipeline().stages["critic"].routing_rules}
    assert rules == {
        "reintent": "intent",
        "next_round": "intent",
        "complete": "integration",
        "complete_limit": "integration",
    }


async def test_a_run_without_loops_visits_each_agent_once(relay: AnalysisHarness) -> None:
    envelope = await relay.run(QUESTION)
    assert visited(envelope) == ["perception", *PASS, "integration"]
    assert routes(envelope) == ["complete"]


@pytest.mark.parametrize(("limit", "rounds"), [(None, 5), (6, 5), (5, 5), (4, 4), (1, 1), (0, 1)])
async def test_rounds_go_on_to_their_limit_and_no_further(
    relay: AnalysisHarness, limit: int | None, rounds: int
) -> None:
    limits = {} if limit is None else {"max_stages": limit}
    envelope = await with_critic(relay, "next_stage").run(QUESTION, limits=limits)
    assert routes(envelope) == ["next_round"] * (rounds - 1) + ["complete_limit"]
    assert visited(envelope) == ["perception", *PASS * rounds, "integration"]
    assert envelope.terminal_reason == "completed"


@pytest.mark.parametrize(("limit", "reintents"), [(None, 3), (4, 3), (3, 3), (2, 2), (1, 1), (0, 0)])
async def test_reintents_go_on_to_their_limit_and_no_further(
    relay: AnalysisHarness, limit: int | None, reintents: int
) -> None:
    limits = {} if limit is None else {"max_reintents": limit}
    envelope = await with_critic(relay, "reintent").run(QUESTION, limits=limits)
    assert routes(envelope) == ["reintent"] * reintents + ["complete_limit"]
    assert envelope.terminal_reason == "completed"
    assert envelope.outputs["integration"]["citations"]


async def test_the_hint_of_a_reintent_reaches_intent(relay: AnalysisHarness) -> None:
    envelope = await with_critic(relay, "reintent", "approved").run(QUESTION)
    assert routes(envelope) == ["reintent", "complete"]
    assert envelope.outputs["intent"]["hint_used"] == A_HINT


async def test_rounds_and_reintents_share_no_count(relay: AnalysisHarness) -> None:
    envelope = await with_critic(relay, "reintent", "next_stage", "reintent", "next_stage").run(QUESTION)
    assert routes(envelope) == ["reintent", "next_round", "reintent", *["next_round"] * 3, "complete_limit"]
    assert [done.number for done in envelope.goals.finished_rounds] == [1, 1, 2, 2, 3, 4, 5]


async def test_all_rounds_and_all_reintents_fit_into_the_bounds_of_a_run(relay: AnalysisHarness) -> None:
    envelope = await with_critic(relay, *["reintent"] * 3, "next_stage").run(QUESTION)
    assert routes(envelope) == ["reintent"] * 3 + ["next_round"] * 4 + ["complete_limit"]
    assert envelope.terminal_reason == "completed"
    assert envelope.usage.iterations == envelope.bounds.max_iterations == 7


async def test_a_reintent_never_leads_beyond_the_last_round(relay: AnalysisHarness) -> None:
    document = await with_critic(relay, "reintent").ask(QUESTION, limits={"max_stages": 1})
    assert document["usage"]["stages"] == 1


@pytest.mark.parametrize(
    ("script", "because"),
    [("next_stage", "round 5 is over, limit 5"), ("reintent", "the question was taken up anew 3 times, limit 3")],
)
async def test_an_answer_that_a_limit_of_the_critic_ended_is_partial_and_says_why(
    relay: AnalysisHarness, script: str, because: str
) -> None:
    document = await with_critic(relay, script).ask(QUESTION)
    assert document["terminal_reason"] == "completed"
    assert document["partial"] is True
    assert document["terminal_detail"] == because
    assert because in document["answer"]
    assert document["open_goals"]


async def test_an_answer_that_the_critic_approved_is_whole(relay: AnalysisHarness) -> None:
    document = await with_critic(relay, "approved").ask(QUESTION)
    assert (document["partial"], document["terminal_detail"]) == (False, None)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [(0, "max_iterations_exceeded"), (3, "max_iterations_exceeded"), (4, "completed"), (5, "completed")],
)
async def test_loops_are_counted_as_iterations_too(relay: AnalysisHarness, limit: int, reason: str) -> None:
    envelope = await with_critic(relay, "next_stage").run(QUESTION, limits={"max_iterations": limit})
    assert envelope.terminal_reason == reason
    assert envelope.usage.iterations == min(limit, 4)
    assert envelope.outputs["integration"]["citations"]


@pytest.mark.parametrize("hops", range(9))
async def test_any_number_of_hops_ends_gracefully(relay: AnalysisHarness, hops: int) -> None:
    document = await relay.ask(QUESTION, limits={"max_agent_hops": hops})
    assert document["usage"]["hops"] <= hops
    assert document["partial"] is (hops < 7)
    assert document["terminal_reason"] == ("completed" if hops >= 7 else "max_agent_hops_exceeded")
    assert bool(document["citations"]) is (hops >= 5)
    assert document["answer"]
    assert mark_faults(document["answer"], document["citations"]) == []


@pytest.mark.parametrize("calls", [0, 1, 2, 5, 100])
async def test_any_number_of_tool_calls_ends_gracefully(relay: AnalysisHarness, calls: int) -> None:
    document = await relay.ask(QUESTION, limits={"max_tool_calls": calls})
    assert document["usage"]["tool_calls"] <= calls
    assert document["terminal_reason"] == "completed"
    is_cut = calls < 100
    assert document["bound"] == ("max_tool_calls" if is_cut else None)
    assert document["partial"] is is_cut
    assert exit_status(document) == (5 if is_cut else 0)
    said = "all tool calls that the run may make are made" if document["citations"] else "a bound (max_tool_calls)"
    assert (said in document["answer"]) is is_cut
    assert "Nothing in this repository" not in document["answer"]
    assert document["answer"]
    assert mark_faults(document["answer"], document["citations"]) == []


@pytest.mark.parametrize("name", ["max_agent_hops", "max_iterations", "max_tool_calls", "max_llm_calls"])
async def test_a_request_cannot_raise_a_bound(relay: AnalysisHarness, name: str) -> None:
    envelope = await relay.run(QUESTION, limits={name: 10_000})
    assert getattr(envelope.bounds, name) == getattr(pipeline(), name)


async def test_a_request_lowers_context_bounds_for_its_own_run(relay: AnalysisHarness) -> None:
    envelope = await relay.run(QUESTION, limits={"max_stages": 2, "max_reintents": 9})
    assert envelope.bounds.context["max_stages"] == 2
    assert envelope.bounds.context["max_reintents"] == 3


@pytest.mark.parametrize("tokens", [0, 1, 20])
async def test_code_is_cut_where_its_budget_ends(relay: AnalysisHarness, tokens: int) -> None:
    envelope = await relay.run(QUESTION, limits={"max_total_code_tokens": tokens, "max_agent_hops": 6})
    facts = envelope.outputs["execution"]["facts"]
    assert facts
    assert sum(len(fact.get("text", "")) for fact in facts) <= 4 * tokens
    assert envelope.outputs["integration"]["citations"]
