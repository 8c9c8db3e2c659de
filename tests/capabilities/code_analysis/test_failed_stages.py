"""A stage that fails: tried once more, and when it fails for good the answer still tells what was found until then."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from runtime.agents.capability import AgentHooks, StageContext, StageInput, StageResult
from runtime.agents.stage_runner import Agent
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.scripted import ScriptedModel
from runtime.primitives.clock import FakeClock, SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse
from runtime.run.stage_view import StageView
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.transitions import BACKOFF_FIRST_MS
from serve.answer_document import EXIT_ANSWERED, EXIT_FAILED, Ask, document_of, exit_status
from serve.runtimes.answering import request_of
from tests.capabilities.code_analysis.model_desk import ModelDesk, agent_of, by_agent
from tests.capabilities.code_analysis.support import (
    AnalysisHarness,
    mark_faults,
    pipeline,
    processing,
    reasoning,
    with_agents,
)
from tests.capabilities.code_analysis.test_model_reasoners import GOOD

FORMS = (
    "code_analysis",
    "code_analysis_hedged",
    "code_analysis_replan",
    "code_analysis_reviewed",
    "code_analysis_small",
)
QUESTION = "How does a depot accept a parcel?"
traverse = CAPABILITY.agents["traverser"].process
DAY_S = 24 * 3600.0


def failing(times: int) -> AgentHooks:
    """A traverser that fails so many times and works then."""
    left = [times]

    async def process(context: StageContext, view: StageView) -> StageResult:
        left[0] -= 1
        if left[0] >= 0:
            raise ConnectionError("the disk was away")
        assert traverse is not None
        return await traverse(context, view)

    return processing(process)


async def broken(_context: StageContext, _view: StageView, _given: StageInput) -> dict[str, Any]:
    raise ValueError("no claim can be read [relay/depot.py:1]")


class WithoutBackoff(SystemClock):
    """The machine's clock, on which nobody waits for a retry."""

    async def sleep(self, delay_s: float) -> None:
        await super().sleep(delay_s if delay_s > BACKOFF_FIRST_MS / 1000 else 0)


async def answered(desk: AnalysisHarness) -> tuple[dict[str, Any], Envelope]:
    """A whole run whose reviewer, where it has one, approves; its document and envelope."""
    clock = WithoutBackoff()
    agents = {
        agent.name: Agent(agent, desk.capability, "rules", {}, clock, desk.queries, desk.services)
        for agent in desk.config.agents
    }
    runner = LocalRunner({desk.config.name: desk.config}, {desk.config.name: agents}, MemoryRunLog(), clock)
    ask = Ask(QUESTION, str(desk.root), desk.config.name, wait=True)
    try:
        run_id = await runner.submit(request_of(ask, desk.repository))
        async for event in runner.watch(run_id):
            if event.type == "interrupt.raised":
                response = InterruptResponse(decision="approve")
                await runner.answer(run_id, str(event.data["id"]), "local", response)
        envelope = runner.envelope(run_id)
    finally:
        await runner.close()
    return document_of(ask, envelope, "rules"), envelope


def statuses(envelope: Envelope, stage: str) -> list[str]:
    return [record.status for record in envelope.history if record.stage == stage and record.item == 0]


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
async def test_a_stage_that_fails_once_is_tried_again_and_the_answer_is_whole(
    relay: AnalysisHarness, form: str
) -> None:
    desk = relay.variant(with_agents(traverser=failing(1)), pipeline(form))
    document, envelope = await answered(desk)
    assert statuses(envelope, "traverser")[:2] == ["error", "success"]
    assert (document["terminal_reason"], document["partial"], exit_status(document)) == (
        "completed",
        False,
        EXIT_ANSWERED,
    )
    assert "failures" not in document


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
async def test_a_stage_that_fails_for_good_leaves_an_answer_of_what_was_found(
    relay: AnalysisHarness, form: str
) -> None:
    desk = relay.variant(with_agents(synthesizer=reasoning("synthesizer", broken)), pipeline(form))
    document, envelope = await answered(desk)
    assert statuses(envelope, "synthesizer") == ["error", "error"]
    hangs_on_it = form == "code_analysis_hedged"
    assert document["terminal_reason"] == ("unsatisfiable_dependencies" if hangs_on_it else "completed")
    assert [failure["stage"] for failure in document["failures"]] == ["synthesizer"]
    assert (document["partial"], exit_status(document)) == (True, EXIT_FAILED)
    assert "relay/depot.py" in [citation["file"] for citation in document["citations"]]
    assert "This answer is partial: stage `synthesizer` failed (ValueError: no claim can be read" in document["answer"]
    assert mark_faults(document["answer"], document["citations"]) == []


@pytest.mark.long
@pytest.mark.parametrize("stage", ["intent", "planner", "critic"])
async def test_whichever_stage_fails_nothing_is_said_not_to_be_there(relay: AnalysisHarness, stage: str) -> None:
    desk = relay.variant(with_agents(**{stage: reasoning(stage, broken)}))
    document, _ = await answered(desk)
    assert document["failures"] == [{"stage": stage, "error": "ValueError: no claim can be read [relay/depot.py:1]"}]
    assert "Nothing in this repository" not in document["answer"]
    assert f"stage `{stage}` failed" in document["answer"]
    assert bool(document["citations"]) is (stage == "critic")
    assert mark_faults(document["answer"], document["citations"]) == []


class Talk:
    """A run of one pipeline under a clock of the test's own, whose caller waits."""

    def __init__(self, desk: AnalysisHarness, question: str) -> None:
        self.clock = FakeClock()
        agents = {
            agent.name: Agent(agent, desk.capability, "rules", {}, self.clock, desk.queries, desk.services)
            for agent in desk.config.agents
        }
        pipelines, hosted = {desk.config.name: desk.config}, {desk.config.name: agents}
        self.runner = LocalRunner(pipelines, hosted, MemoryRunLog(), self.clock)
        self._ask = Ask(question, str(desk.root), desk.config.name, wait=True, clarify=True)
        self._repository = desk.repository

    async def begin(self) -> RunId:
        return await self.runner.submit(request_of(self._ask, self._repository))

    async def settled(self, run_id: RunId) -> Envelope:
        """The run when it waits for a person or is over."""
        async with aclosing(self.runner.watch(run_id)) as events:
            async for _ in events:
                if self.runner.envelope(run_id).lifecycle == "waiting":
                    break
        return self.runner.envelope(run_id)


async def test_a_question_that_nobody_answers_in_time_costs_the_older_form_no_answer(relay: AnalysisHarness) -> None:
    talk = Talk(relay.variant(CAPABILITY, pipeline("code_analysis_replan")), "How does `deliver_letter` work?")
    run_id = await talk.begin()
    waiting = await talk.settled(run_id)
    assert waiting.interrupt is not None
    assert waiting.interrupt.kind == "clarification"
    await talk.clock.advance(DAY_S - 0.001)
    assert talk.runner.envelope(run_id).lifecycle == "waiting"
    await talk.clock.advance(0.001)
    ended = await talk.settled(run_id)
    assert (ended.terminal_reason, ended.interrupts_raised) == ("completed", 1)
    assert ended.outputs["integration"]["final_response"]
    await talk.runner.close()


async def test_who_waits_for_a_repository_that_takes_too_long_to_open_may_have_it_tried_again(
    relay: AnalysisHarness,
) -> None:
    perceive = CAPABILITY.agents["perception"].process
    hangs = [True, True, False]

    async def process(context: StageContext, view: StageView) -> StageResult:
        if hangs.pop(0):
            await asyncio.Event().wait()
        assert perceive is not None
        return await perceive(context, view)

    config = pipeline("code_analysis_reviewed")
    talk = Talk(relay.variant(with_agents(perception=processing(process)), config), QUESTION)
    timeout_s = config.stages["perception"].timeout_s
    assert timeout_s is not None
    run_id = await talk.begin()
    await talk.clock.advance(timeout_s)
    await talk.clock.advance(BACKOFF_FIRST_MS / 1000)
    await talk.clock.advance(timeout_s)
    waiting = await talk.settled(run_id)
    assert waiting.interrupt is not None
    assert (waiting.interrupt.kind, waiting.interrupt.stage) == ("timeout", "perception")
    await talk.runner.answer(run_id, waiting.interrupt.id, "local", InterruptResponse(approved=True))
    drafted = await talk.settled(run_id)
    assert drafted.interrupt is not None
    assert drafted.interrupt.kind == "agent_review"
    assert drafted.outputs["draft"]["citations"]
    await talk.runner.close()


@pytest.mark.parametrize(
    ("key", "limit", "reason"),
    [("max_tokens", 0, "max_tokens_exceeded"), ("deadline_s", 0.001, "deadline_exceeded")],
)
async def test_the_small_pipeline_bounds_tokens_and_time_and_says_which_ended_it(
    relay: AnalysisHarness, key: str, limit: float, reason: str
) -> None:
    small = pipeline("code_analysis_small")
    assert getattr(small, key) > limit
    desk = relay.variant(CAPABILITY, small.model_copy(update={key: limit}))
    document = await ModelDesk(desk, ScriptedModel([by_agent(GOOD)])).ask(QUESTION)
    assert (document["terminal_reason"], document["usage"]["tokens_in"]) == (reason, 0)


async def test_the_thorough_plan_is_drawn_so_that_one_model_does_not_plan_the_same_twice(
    relay: AnalysisHarness,
) -> None:
    quick = msgspec.structs.replace(CAPABILITY.agents["planner_quick"], reasoners={"llm": broken})
    desk = relay.variant(CAPABILITY, pipeline("code_analysis_hedged"))
    model = ScriptedModel([by_agent(GOOD)])
    document = await ModelDesk(desk, model, with_agents(planner_quick=quick)).ask("How does deliver_parcel work?")
    assert document["terminal_reason"] == "completed"
    drawn = {agent_of(request): request.sampling.temperature for request in model.requests}
    assert drawn == {"intent": None, "planner": 0.7, "synthesizer": None, "critic": None}
