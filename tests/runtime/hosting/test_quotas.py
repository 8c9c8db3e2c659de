"""Quotas while runs are under way: who waited goes on when there is room, and who has spent all is stopped."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import InterruptError, OverloadedError, RateLimitedError
from runtime.hosting.limits.admission import AdmissionQueue, Candidate, Quotas
from runtime.hosting.limits.spending import Spending
from runtime.hosting.run_table import RunTable
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptRequest, InterruptResponse, Request
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.commands import Command, RunStage
from runtime.supervision.events import BudgetRequested, CancelRequested, StageSucceeded, StageUsage, TimerFired
from runtime.testing import START_MS, PipelineBuilder

DAY_S = 86_400
DAY_MS = DAY_S * 1000
ONE_AT_A_TIME = Quotas(running=1)
FIRST, SECOND = RunId("r-1"), RunId("r-2")


class Table:
    """A run table whose stages are answered by hand."""

    def __init__(self, quotas: Quotas, **settings: Any) -> None:
        model = {"has_llm": True, "model_role": "m"}
        builder = PipelineBuilder(**settings).stage("a", default_next="b", **model).stage("b", **model)
        self.clock = FakeClock(START_MS)
        self.log = MemoryRunLog()
        self.config = builder.build()
        self.runs = RunTable({"sample": self.config}, self.log, self.clock, quotas)
        self.stages: dict[RunId, RunStage] = {}

    def submit(self, run_id: RunId, **fields: Any) -> None:
        _, commands = self.runs.submit(Request("sample", "?", **{"user_id": "u", "wait": True, **fields}), run_id)
        self.take(run_id, commands)

    def take(self, run_id: RunId, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, RunStage):
                self.stages[run_id] = command

    def succeed(self, run_id: RunId, question: str = "", **usage: int) -> None:
        key = self.stages.pop(run_id).key
        asked = InterruptRequest("clarification", question) if question else None
        if usage.get("llm_calls", 0) > 1:  # the first one is granted from the beginning
            self.runs.handle(run_id, BudgetRequested(key, usage["llm_calls"] - 1))
        self.take(run_id, self.runs.handle(run_id, StageSucceeded(key, {}, interrupt=asked, usage=StageUsage(**usage))))
        self.admit()

    def admit(self) -> None:
        for run_id, commands in self.runs.admit():
            self.take(run_id, commands)

    def answer(self, run_id: RunId, **fields: Any) -> None:
        asked = self.runs.envelope(run_id).interrupt
        assert asked is not None
        self.take(run_id, self.runs.answer(run_id, asked.id, "u", InterruptResponse(**fields)))
        self.admit()

    def end(self, run_id: RunId) -> None:
        self.runs.handle(run_id, CancelRequested())
        self.admit()

    def envelope(self, run_id: RunId) -> Envelope:
        return self.runs.envelope(run_id)

    def lifecycle(self, run_id: RunId) -> str:
        return self.envelope(run_id).lifecycle


def one_waits_the_other_works(**settings: Any) -> Table:
    table = Table(ONE_AT_A_TIME, **settings)
    table.submit(FIRST)
    table.submit(SECOND)
    table.succeed(FIRST, question="Which?")
    assert (table.lifecycle(FIRST), table.lifecycle(SECOND)) == ("waiting", "running")
    return table


def test_an_answered_run_goes_on_when_there_is_room_for_it_and_not_before() -> None:
    table = one_waits_the_other_works()
    table.answer(FIRST, text="this one")
    assert (table.lifecycle(FIRST), list(table.stages)) == ("ready", [SECOND])
    table.end(SECOND)
    assert (table.lifecycle(FIRST), table.stages[FIRST].stage) == ("running", "a")
    asked = table.envelope(FIRST).interrupt
    assert asked is not None
    assert asked.response is not None
    assert asked.response.text == "this one"


def test_an_answer_is_taken_once_also_while_its_run_waits_for_room() -> None:
    table = one_waits_the_other_works()
    table.answer(FIRST, text="this one")
    with pytest.raises(InterruptError, match="resolved already"):
        table.answer(FIRST, text="no, that one")


def test_a_question_that_nobody_answered_lets_its_run_go_on_when_there_is_room() -> None:
    table = one_waits_the_other_works(interrupt_expiry={"clarification": "proceed"})
    table.runs.handle(FIRST, TimerFired(f"interrupt:{FIRST}-q1"))
    table.admit()
    assert table.lifecycle(FIRST) == "ready"
    table.end(SECOND)
    assert table.lifecycle(FIRST) == "running"


def test_a_denial_needs_no_room() -> None:
    table = Table(ONE_AT_A_TIME)
    table.submit(FIRST)
    table.submit(SECOND)
    key = table.stages[FIRST].key
    asked = InterruptRequest("confirmation", "Really?")
    table.runs.handle(FIRST, StageSucceeded(key, {}, interrupt=asked))
    table.admit()
    table.answer(FIRST, approved=False)
    assert table.envelope(FIRST).terminal_reason == "denied_by_policy"


def test_a_deadline_passes_for_an_answered_run_that_waits_for_room_and_the_final_stage_answers() -> None:
    table = one_waits_the_other_works(final_stage="b", deadline_s=60)
    table.answer(FIRST, text="this one")
    table.take(FIRST, table.runs.handle(FIRST, TimerFired("deadline")))
    assert table.stages[FIRST].stage == "b"
    table.succeed(FIRST)
    assert table.envelope(FIRST).terminal_reason == "deadline_exceeded"


def test_a_fork_of_a_run_under_way_is_blocked_until_there_is_room() -> None:
    table = Table(ONE_AT_A_TIME)
    table.submit(FIRST)
    forked, commands = table.runs.fork(FIRST, 1)
    assert (table.lifecycle(forked), [c for c in commands if isinstance(c, RunStage)]) == ("blocked", [])
    lost = table.runs.handle(forked, TimerFired(f"timeout:{forked}/1/0/1"))
    assert (lost, table.lifecycle(forked)) == ([], "blocked")
    table.end(FIRST)
    assert (table.lifecycle(forked), table.stages[forked].stage) == ("running", "a")


def test_a_blocked_run_can_be_cancelled() -> None:
    table = Table(ONE_AT_A_TIME)
    table.submit(FIRST)
    forked, _ = table.runs.fork(FIRST, 1)
    table.end(forked)
    assert table.envelope(forked).terminal_reason == "user_cancelled"


@pytest.mark.parametrize(("spent", "goes_on"), [(2, True), (3, False), (4, False)])
def test_a_users_runs_stop_when_the_quota_of_model_calls_is_spent(spent: int, goes_on: bool) -> None:
    table = Table(Quotas(llm_calls_per_day=3))
    table.submit(FIRST)
    table.succeed(FIRST, llm_calls=spent)
    assert table.lifecycle(FIRST) == ("running" if goes_on else "waiting")
    asked = table.envelope(FIRST).interrupt
    assert (asked is None) is goes_on
    if asked is not None:
        assert asked.kind == "resource_exhausted"
        assert asked.expires_at_ms == START_MS + 5 * 60_000
        assert f"user 'u' has spent {spent} model calls within 24 hours, quota 3" in asked.question


def test_tokens_have_a_quota_of_their_own() -> None:
    table = Table(Quotas(tokens_per_day=100))
    table.submit(FIRST)
    table.succeed(FIRST, tokens_in=60, tokens_out=40)
    assert "has spent 100 tokens within 24 hours, quota 100" in str(table.envelope(FIRST).interrupt)


def exhausted(**fields: Any) -> Table:
    table = Table(Quotas(llm_calls_per_day=3), final_stage="b")
    table.submit(FIRST, **fields)
    table.succeed(FIRST, llm_calls=3)
    return table


async def test_who_approves_goes_on_when_the_day_is_over_and_not_before() -> None:
    table = exhausted()
    table.answer(FIRST, approved=True)
    assert table.lifecycle(FIRST) == "ready"
    await table.clock.advance(DAY_S - 0.001)
    table.admit()
    assert table.lifecycle(FIRST) == "ready"
    await table.clock.advance(0.001)
    table.admit()
    assert table.lifecycle(FIRST) == "running"


@pytest.mark.parametrize("nobody_answers", [True, False])
def test_who_does_not_want_to_wait_for_the_quota_gets_the_answer_at_the_limit(nobody_answers: bool) -> None:
    table = exhausted()
    if nobody_answers:
        table.take(FIRST, table.runs.handle(FIRST, TimerFired(f"interrupt:{FIRST}-q1")))
    else:
        table.answer(FIRST, approved=False)
    assert table.stages[FIRST].stage == "b"
    table.succeed(FIRST)
    assert table.envelope(FIRST).terminal_reason == "max_llm_calls_exceeded"


def test_a_caller_who_does_not_wait_gets_the_answer_at_the_limit_without_a_question() -> None:
    table = exhausted(wait=False)
    assert table.stages[FIRST].stage == "b"
    table.succeed(FIRST)
    assert table.envelope(FIRST).terminal_reason == "max_llm_calls_exceeded"
    assert table.envelope(FIRST).interrupt is None


async def test_a_user_who_has_spent_a_quota_is_refused_and_told_when_to_come_back() -> None:
    table = exhausted()
    await table.clock.advance(1)
    with pytest.raises(RateLimitedError) as refused:
        table.submit(SECOND)
    assert refused.value.values["retry_after_s"] == DAY_S - 1
    table.submit(SECOND, user_id="other")
    table.submit(RunId("r-3"), user_id="local")


def test_the_local_user_spends_without_a_quota() -> None:
    table = Table(Quotas(llm_calls_per_day=1))
    table.submit(FIRST, user_id="local")
    table.succeed(FIRST, llm_calls=9)
    assert table.lifecycle(FIRST) == "running"


@pytest.mark.parametrize(("asked_for", "given"), [({}, 7), ({"max_tool_calls": 6}, 6), ({"max_tool_calls": 8}, 7)])
def test_a_ceiling_of_tool_calls_lowers_what_a_run_may_make(asked_for: dict[str, int], given: int) -> None:
    table = Table(Quotas(run_tool_calls=7))
    table.submit(FIRST, limits=asked_for)
    assert table.envelope(FIRST).bounds.max_tool_calls == given


@pytest.mark.parametrize(("asked_s", "given_s"), [(None, 300), (299.0, 299), (301.0, 300)])
def test_a_ceiling_of_time_is_a_deadline_with_a_warning_at_eighty_percent(asked_s: float | None, given_s: int) -> None:
    table = Table(Quotas(run_s=300))
    table.submit(FIRST, deadline_s=asked_s)
    assert table.envelope(FIRST).bounds.deadline_ms == START_MS + given_s * 1000
    table.runs.handle(FIRST, TimerFired("soft_deadline"))
    warned = [event.data for event in table.runs.client_events(FIRST) if event.type == "bound.warned"]
    assert warned == [{"bound": "deadline"}]


def test_ceilings_do_not_hold_for_the_local_user() -> None:
    table = Table(Quotas(run_tool_calls=7, run_s=300))
    table.submit(FIRST, user_id="local")
    assert (table.envelope(FIRST).bounds.max_tool_calls, table.envelope(FIRST).bounds.deadline_ms) == (50, None)


def test_what_was_spent_counts_for_twenty_four_hours_and_room_comes_back_bit_by_bit() -> None:
    spending = Spending(Quotas(llm_calls_per_day=10))
    for at_ms, calls in ((0, 4), (1_000, 4), (2_000, 4)):
        spending.book("u", calls, 0, at_ms)
    found = spending.exhausted("u", 2_000)
    assert found is not None
    assert (found.spent, found.room_at_ms) == (12, DAY_MS)
    assert spending.exhausted("u", DAY_MS - 1) is not None
    assert spending.exhausted("u", DAY_MS) is None


def test_ten_thousand_queued_runs_are_not_looked_at_while_there_is_no_room() -> None:
    looked_at: list[str] = []

    def has_spent(user_id: str) -> bool:
        looked_at.append(user_id)
        return False

    queue = AdmissionQueue(Quotas(running=1), has_spent)
    queue.note(Candidate(RunId("on"), "u", None, "normal"), "running")
    for number in range(10_000):
        queue.note(Candidate(RunId(str(number)), f"u{number}", None, "normal"), "ready")
    assert queue.next_run() is None
    assert (looked_at, queue.waiting) == ([], 10_000)


@pytest.mark.parametrize(("waiting", "is_taken"), [(1, True), (2, False)])
def test_as_many_runs_wait_as_may_and_the_next_one_is_refused(waiting: int, is_taken: bool) -> None:
    table = Table(Quotas(running=1, queued=2))
    for number in range(1 + waiting):
        table.submit(RunId(f"r-{number}"))
    if is_taken:
        table.submit(RunId("r-more"))
        return
    with pytest.raises(OverloadedError, match="2 runs wait already, limit 2; try again in 10 s"):
        table.submit(RunId("r-more"))
