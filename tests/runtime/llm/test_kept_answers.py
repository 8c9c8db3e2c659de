"""Answers of models in the journal: an agent that dies after its model has answered does not make anybody pay twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.agents.capability import AgentHooks, Capability, StageContext, StageInput, StageResult
from runtime.agents.stage_runner import Agent
from runtime.bus.queries import LocalQueries
from runtime.effects.journal import MemoryJournal
from runtime.effects.remote_journal import QueryJournal, journal_queries
from runtime.errors import InvalidOutputError, JeevesError, ModelDownError, NoHandlerError, QueryTimeoutError
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.client import ModelClient
from runtime.llm.kept_answers import KeptAnswers
from runtime.llm.messages import Message, ModelRequest
from runtime.llm.scripted import ScriptedModel
from runtime.llm.stage_llm import ModelAsked, StageLlm
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId, StageKey
from runtime.run.bounds import Grant
from runtime.run.envelope import Envelope, Request
from runtime.run.stage_budget import StageBudget
from runtime.run.stage_view import StageView
from runtime.store.run_log import MemoryRunLog
from runtime.testing import PipelineBuilder
from runtime.tools.registry import ToolRegistry
from tests.runtime.llm.test_model_client import models

RUN = RunId("r-1")
TOKENS = 16 + 16 + 1


def numbered(request: ModelRequest) -> str:
    """What was asked, so that answers tell whose they are."""
    return f"answer to {request.messages[0].content}"


class RepeatedVisit:
    """A model and a journal that outlive the attempts of a visit."""

    def __init__(self, *script: Any, queries: Any = None) -> None:
        self.model = ScriptedModel(script or (numbered,), 4_096)
        self.clock = FakeClock()
        self.client = ModelClient(models(), {"main": self.model}, self.clock)
        self._queries = queries
        if queries is None:
            self._queries = LocalQueries()
            self._queries.register(journal_queries(MemoryJournal()))

    def attempt(
        self, number: int, grant: Grant | None = None, retries: int = 0, hop: int = 1, **asked: Any
    ) -> tuple[StageLlm, StageBudget]:
        budget = StageBudget(grant or Grant(llm_calls=9))
        key = StageKey(RUN, hop, attempt=number)
        kept = KeptAnswers(QueryJournal(self._queries, self.clock, 5.0), key, retries)
        use = ModelAsked(**{"role": "planner", **asked})
        until_ms = self.clock.now_ms() + 100_000
        return StageLlm(self.client, use, budget, str(key), "ann", self.clock, until_ms, kept), budget


async def asked(llm: StageLlm, *texts: str) -> list[str]:
    return [(await llm.generate([Message("user", text)])).text for text in texts]


async def test_what_an_earlier_attempt_was_answered_is_not_asked_again() -> None:
    desk = RepeatedVisit()
    first, _ = desk.attempt(1)
    answers = await asked(first, "a", "b", "a")
    second, _ = desk.attempt(2)
    assert await asked(second, "a", "b", "a", "c") == [*answers, "answer to c"]
    assert [request.messages[0].content for request in desk.model.requests] == ["a", "b", "a", "c"]


async def test_an_answer_that_is_at_hand_takes_no_call_and_its_tokens_are_counted_once() -> None:
    desk = RepeatedVisit()
    lost, granted = desk.attempt(1, Grant(llm_calls=1))
    await asked(lost, "a")
    second, budget = desk.attempt(2, Grant())
    await asked(second, "a")
    assert budget.llm_calls == 0
    assert (budget.tokens_in, budget.tokens_out) == (granted.tokens_in, granted.tokens_out) == (TOKENS, 11)


async def test_where_tokens_are_bounded_the_grant_of_the_lost_attempt_stands_for_them() -> None:
    desk = RepeatedVisit()
    await asked(desk.attempt(1)[0], "a")
    second, budget = desk.attempt(2, Grant(tokens=0))
    await asked(second, "a")
    assert (budget.llm_calls, budget.tokens_in, budget.tokens_out) == (0, 0, 0)


@pytest.mark.parametrize(
    "other", [{"retries": 1}, {"hop": 2}, {"role": "default"}, {"max_tokens": 20}, {"temperature": 0.9}]
)
async def test_a_retry_a_new_visit_and_another_request_are_asked(other: dict[str, Any]) -> None:
    desk = RepeatedVisit()
    await asked(desk.attempt(1)[0], "a")
    await asked(desk.attempt(2, **other)[0], "a")
    assert len(desk.model.requests) == 2


async def test_another_question_under_the_same_number_and_another_schema_are_asked() -> None:
    desk = RepeatedVisit()
    await asked(desk.attempt(1)[0], "a")
    second, _ = desk.attempt(2)
    assert await asked(second, "b", "a") == ["answer to b", "answer to a"]
    third, _ = desk.attempt(3)
    await third.generate([Message("user", "a")], {"type": "object"})
    assert len(desk.model.requests) == 4


async def test_a_failure_is_not_kept() -> None:
    desk = RepeatedVisit(ModelDownError("down", permanent=True), "here I am")
    with pytest.raises(ModelDownError):
        await asked(desk.attempt(1)[0], "a")
    assert await asked(desk.attempt(2)[0], "a") == ["here I am"]


async def test_who_watches_an_answer_being_written_sees_a_kept_one_whole() -> None:
    desk = RepeatedVisit("x" * 90)
    await asked(desk.attempt(1)[0], "a")
    seen: list[str] = []
    second, _ = desk.attempt(2)
    await second.generate([Message("user", "a")], on_written=seen.append)
    assert seen == ["x" * 90]


class Away:
    """Queries that nobody answers."""

    def __init__(self, error: JeevesError) -> None:
        self._error = error
        self.asked: list[tuple[str, float]] = []

    async def query(self, type_: str, _body: dict[str, Any], timeout_s: float = 30.0) -> dict[str, Any]:
        self.asked.append((type_, timeout_s))
        raise self._error


@pytest.mark.parametrize("error", [QueryTimeoutError("no answer"), NoHandlerError("nobody"), JeevesError("a bug")])
async def test_without_its_journal_a_model_is_asked_as_before_and_nobody_waits_for_long(error: JeevesError) -> None:
    away = Away(error)
    desk = RepeatedVisit(queries=away)
    assert await asked(desk.attempt(1)[0], "a") == ["answer to a"]
    assert away.asked == [("journal.find", 5.0), ("journal.done", 5.0)]


async def test_an_answer_that_an_other_version_wrote_is_asked_for_again() -> None:
    journal = MemoryJournal()
    queries = LocalQueries()
    queries.register(journal_queries(journal))
    desk = RepeatedVisit(queries=queries)
    await asked(desk.attempt(1)[0], "a")
    (key,) = journal._records[RUN]
    journal.forget(RUN)
    journal.done(key, b"\xc1 nonsense")
    assert await asked(desk.attempt(2)[0], "a") == ["answer to a"]
    assert len(desk.model.requests) == 2


class House:
    """Runs of one stage with a model; each `life` is a process that finds the log and the journal of the one before."""

    def __init__(self, *script: Any, journals: bool = True, retries: int = 0) -> None:
        self.model = ScriptedModel(script or ("well said",), 4_096)
        self.clock = FakeClock()
        self.log = MemoryRunLog()
        self.queries = LocalQueries()
        self.queries.register(journal_queries(MemoryJournal()))
        self._settings = {"journal_models": journals}
        stage = {"has_llm": True, "model_role": "planner", "max_retries": retries}
        self.config = PipelineBuilder(max_llm_calls=1 + retries).stage("a", **stage).build()
        self.has_answered = asyncio.Event()
        self.dies = False

    async def reason(self, context: StageContext, view: StageView, _given: StageInput) -> dict[str, Any]:
        assert context.llm is not None
        said = (await context.llm.generate([Message("user", view.raw_input)])).text
        self.has_answered.set()
        if self.dies:
            await asyncio.Event().wait()
        if said == "nonsense":
            raise InvalidOutputError("it is nonsense")
        return {"said": said}

    def life(self) -> LocalRunner:
        hooks = AgentHooks(reasoners={"llm": self.reason}, post_process=_as_it_is)
        capability = Capability("house", (self.config.name,), {"a": hooks}, ToolRegistry([]), dict)
        client = ModelClient(models(), {"main": self.model}, self.clock)
        stage = self.config.stages["a"]
        agent = Agent(stage, capability, "llm", self._settings, self.clock, self.queries, models=client)
        return LocalRunner({self.config.name: self.config}, {self.config.name: {"a": agent}}, self.log, self.clock)

    async def die_after_the_answer(self) -> Envelope:
        """The first life ends after its model has answered; what the second one makes of the run."""
        self.dies = True
        first = self.life()
        run_id = await first.submit(Request(self.config.name, "what is it?"))
        await self.has_answered.wait()
        await first.close()
        self.dies = False
        second = self.life()
        await second.resume(run_id)
        async for _ in second.watch(run_id):
            pass
        return second.envelope(run_id)


async def _as_it_is(_context: StageContext, _view: StageView, output: dict[str, Any]) -> StageResult:
    return StageResult(output)


async def test_an_agent_that_dies_after_its_model_answered_is_issued_again_and_the_model_is_called_once() -> None:
    house = House()
    envelope = await house.die_after_the_answer()
    assert (envelope.terminal_reason, envelope.outputs["a"]) == ("completed", {"said": "well said"})
    assert [(record.attempt, record.status) for record in envelope.history] == [(1, "error"), (2, "success")]
    assert len(house.model.requests) == 1
    usage = envelope.usage
    took = 16 + 16 + len("what is it?")
    assert (usage.llm_calls, usage.tokens_in, usage.tokens_out) == (1, took, len("well said"))


async def test_without_the_journal_of_models_the_call_is_made_again_and_counts() -> None:
    house = House(journals=False)
    envelope = await house.die_after_the_answer()
    assert envelope.terminal_reason == "max_llm_calls_exceeded"
    assert len(house.model.requests) == 1


async def test_a_stage_that_failed_with_its_answer_asks_anew_when_it_is_retried() -> None:
    house = House("nonsense", "well said", retries=1)
    runner = house.life()
    running = asyncio.create_task(runner.run(Request(house.config.name, "what is it?")))
    while not running.done():
        await house.clock.advance(0.25)
    envelope = running.result()
    assert (envelope.terminal_reason, envelope.outputs["a"]) == ("completed", {"said": "well said"})
    assert (len(house.model.requests), envelope.usage.llm_calls) == (2, 2)
