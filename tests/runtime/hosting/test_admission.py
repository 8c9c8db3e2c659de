"""Admission: how many runs go on at once, who is next, and how often a user may ask."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.capability import StageContext, StageResult
from runtime.errors import RateLimitedError, StateStorageError
from runtime.hosting.limits.admission import PRIORITIES, AdmissionQueue, Candidate, Quotas
from runtime.hosting.limits.rate_limits import RateLimiter, RateLimits
from runtime.hosting.run_table import NO_QUOTAS, RunTable
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptRequest, InterruptResponse, Request
from runtime.run.stage_view import StageView
from runtime.store.run_log import Entry, MemoryRunLog
from runtime.supervision.commands import RunStage
from runtime.supervision.events import CancelRequested, StageSucceeded, TimerFired
from runtime.testing import START_MS, PipelineBuilder
from tests.runtime.hosting.hosted import Hosted

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
PIPELINE = PipelineBuilder().stage("a").build()
NO_WINDOWS: dict[str, Any] = {"per_minute": None, "per_hour": None, "per_day": None, "burst": None}


def run(
    number: int, user: str = "u", session: str | None = None, priority: str = "normal", prefix: str = "r"
) -> Candidate:
    return Candidate(RunId(f"{prefix}-{number}"), user, session, priority)


def next_admitted(waiting: list[Candidate], running: list[Candidate], quotas: Quotas) -> list[RunId]:
    queue = AdmissionQueue(quotas)
    for candidate in running:
        queue.note(candidate, "running")
    for candidate in waiting:
        queue.note(candidate, "ready")
    by_id = {candidate.run_id: candidate for candidate in waiting}
    admitted: list[RunId] = []
    while (run_id := queue.next_run()) is not None:
        assert queue.may_begin(by_id[run_id])
        queue.note(by_id[run_id], "running")
        admitted.append(run_id)
    assert queue.waiting == len(waiting) - len(admitted)
    return admitted


def numbers(admitted: list[RunId]) -> list[int]:
    return [int(run_id.partition("-")[2]) for run_id in admitted]


# --- quotas


@pytest.mark.parametrize(("under_way", "begins"), [(2, True), (3, False), (4, False)])
@pytest.mark.parametrize(
    ("quotas", "of_its_kind"),
    [
        (Quotas(running=3), {"user": "other", "session": "other"}),
        (Quotas(running_per_user=3), {"user": "u", "session": "other"}),
        (Quotas(running_per_session=3), {"user": "other", "session": "s"}),
    ],
    ids=["in all", "per user", "per session"],
)
def test_a_quota_of_three_permits_exactly_three(
    quotas: Quotas, of_its_kind: dict[str, str], under_way: int, begins: bool
) -> None:
    running = [run(number, prefix="on", **of_its_kind) for number in range(under_way)]
    assert bool(next_admitted([run(1, "u", "s")], running, quotas)) is begins


@pytest.mark.parametrize(
    ("quotas", "others"),
    [(Quotas(running_per_user=1), {"user": "other"}), (Quotas(running_per_session=1), {"session": "other"})],
)
def test_runs_of_others_do_not_count(quotas: Quotas, others: dict[str, str]) -> None:
    running = [run(number, prefix="on", **{"user": "u", "session": "s", **others}) for number in range(9)]
    assert next_admitted([run(1, "u", "s")], running, quotas) == ["r-1"]


def test_runs_without_a_session_share_none() -> None:
    running = [run(number, prefix="on") for number in range(9)]
    assert next_admitted([run(1)], running, Quotas(running_per_session=1)) == ["r-1"]


def test_a_quota_of_none_permits_all_and_a_quota_of_zero_permits_none() -> None:
    waiting = [run(number) for number in range(50)]
    assert len(next_admitted(waiting, [], NO_QUOTAS)) == 50
    for quotas in (Quotas(running=0), Quotas(running_per_user=0)):
        assert next_admitted(waiting, [], quotas) == []


def test_the_more_urgent_come_first_and_equals_in_the_order_in_which_they_came() -> None:
    order = ("idle", "low", "normal", "high", "realtime", "normal", "realtime")
    waiting = [run(number, priority=priority) for number, priority in enumerate(order)]
    assert numbers(next_admitted(waiting, [], NO_QUOTAS)) == [4, 6, 3, 2, 5, 1, 0]
    assert numbers(next_admitted(waiting, [], Quotas(running=3))) == [4, 6, 3]


def test_a_priority_that_nobody_knows_is_a_normal_one() -> None:
    waiting = [run(1, priority="low"), run(2, priority="at once!"), run(3, priority="high")]
    assert numbers(next_admitted(waiting, [], NO_QUOTAS)) == [3, 2, 1]


def test_a_user_at_the_quota_does_not_hold_up_those_who_come_after() -> None:
    waiting = [run(1, "busy"), run(2, "busy"), run(3, "free")]
    assert numbers(next_admitted(waiting, [run(0, "busy", prefix="on")], Quotas(running_per_user=1))) == [3]


few = st.none() | st.integers(0, 4)
candidates = st.lists(
    st.tuples(st.sampled_from("uvw"), st.sampled_from(["s", "t", None]), st.sampled_from([*PRIORITIES, "odd"])),
    max_size=12,
)


@given(candidates, candidates, st.builds(Quotas, few, few, few))
def test_no_quota_is_overrun_nobody_who_fits_is_left_and_nobody_is_passed_by_an_equal(
    waiting_specs: list[Any], running_specs: list[Any], quotas: Quotas
) -> None:
    waiting = [run(number, *spec) for number, spec in enumerate(waiting_specs)]
    running = [
        run(number, user, session, priority, "on") for number, (user, session, priority) in enumerate(running_specs)
    ]
    admitted = next_admitted(waiting, running, quotas)
    begun = [next(c for c in waiting if c.run_id == run_id) for run_id in admitted]
    left = [c for c in waiting if c.run_id not in admitted]
    under_way = list(running)
    for candidate in begun:
        assert _fits(candidate, under_way, quotas)
        under_way.append(candidate)
    assert not any(_fits(candidate, under_way, quotas) for candidate in left)
    ranks = [PRIORITIES.index(c.priority) if c.priority in PRIORITIES else 2 for c in begun]
    assert ranks == sorted(ranks)
    for late, early in itertools.product(begun, left):
        is_equal = (late.user_id, late.session_id, late.priority) == (early.user_id, early.session_id, early.priority)
        assert not (is_equal and waiting.index(early) < waiting.index(late))


def _fits(candidate: Candidate, under_way: list[Candidate], quotas: Quotas) -> bool:
    counts = [
        (quotas.running, len(under_way)),
        (quotas.running_per_user, len([c for c in under_way if c.user_id == candidate.user_id])),
    ]
    if candidate.session_id is not None:
        in_session = [c for c in under_way if c.session_id == candidate.session_id]
        counts.append((quotas.running_per_session, len(in_session)))
    return all(allowed is None or there < allowed for allowed, there in counts)


# --- the run table


def table(quotas: Quotas, log: MemoryRunLog | None = None, rates: RateLimiter | None = None) -> RunTable:
    return RunTable({"sample": PIPELINE}, log or MemoryRunLog(), FakeClock(), quotas, rates)


def submitted(runs: RunTable, name: str, **fields: Any) -> bool:
    """Submit a run; whether it begins at once."""
    _, commands = runs.submit(Request("sample", "?", **fields), RunId(name))
    return any(isinstance(command, RunStage) for command in commands)


def admitted_by(runs: RunTable) -> list[RunId]:
    return [run_id for run_id, commands in runs.admit() if any(isinstance(c, RunStage) for c in commands)]


def test_over_the_quota_a_run_waits_and_begins_when_another_ends() -> None:
    runs = table(Quotas(running=1))
    assert submitted(runs, "r-1")
    assert not submitted(runs, "r-2")
    assert runs.envelope(RunId("r-2")).lifecycle == "ready"
    assert admitted_by(runs) == []
    runs.handle(RunId("r-1"), CancelRequested())
    assert admitted_by(runs) == ["r-2"]
    assert runs.envelope(RunId("r-2")).lifecycle == "running"
    assert admitted_by(runs) == []


def test_who_comes_later_does_not_take_the_slot_of_one_who_waits() -> None:
    runs = table(Quotas(running=1))
    submitted(runs, "r-1")
    submitted(runs, "r-2")
    runs.handle(RunId("r-1"), CancelRequested())
    assert not submitted(runs, "r-3")
    assert admitted_by(runs) == ["r-2"]


def test_who_is_more_urgent_may_take_the_slot_of_one_who_waits() -> None:
    runs = table(Quotas(running=1))
    submitted(runs, "r-1")
    submitted(runs, "r-2", priority="low")
    runs.handle(RunId("r-1"), CancelRequested())
    assert submitted(runs, "r-3", priority="normal")
    assert admitted_by(runs) == []


def test_the_pipelines_priority_holds_for_requests_that_name_none() -> None:
    slow = PipelineBuilder("slow", priority="idle").stage("a").build()
    runs = RunTable({"sample": PIPELINE, "slow": slow}, MemoryRunLog(), FakeClock(), Quotas(running=1))
    submitted(runs, "r-1")
    runs.submit(Request("slow", "?"), RunId("r-2"))
    runs.submit(Request("slow", "?", priority="realtime"), RunId("r-3"))
    submitted(runs, "r-4")
    order = []
    for ending in ("r-1", "r-3", "r-4"):
        runs.handle(RunId(ending), CancelRequested())
        order += admitted_by(runs)
    assert order == ["r-3", "r-4", "r-2"]


def test_a_run_that_waits_to_be_admitted_can_be_cancelled() -> None:
    runs = table(Quotas(running=0))
    assert not submitted(runs, "r-1")
    runs.handle(RunId("r-1"), CancelRequested("no longer"))
    assert runs.envelope(RunId("r-1")).terminal_reason == "user_cancelled"
    assert admitted_by(runs) == []


def test_a_run_that_waits_to_be_admitted_ends_at_its_deadline() -> None:
    runs = table(Quotas(running=0))
    submitted(runs, "r-1", deadline_s=1.0)
    runs.handle(RunId("r-1"), TimerFired("deadline"))
    assert runs.envelope(RunId("r-1")).terminal_reason == "deadline_exceeded"


def test_a_run_that_waits_for_a_person_leaves_its_slot_to_another() -> None:
    runs = table(Quotas(running=1))
    _, commands = runs.submit(Request("sample", "?", wait=True), RunId("r-1"))
    submitted(runs, "r-2")
    (stage,) = [command for command in commands if isinstance(command, RunStage)]
    runs.handle(RunId("r-1"), StageSucceeded(stage.key, {}, interrupt=InterruptRequest("clarification", "Which?")))
    assert runs.envelope(RunId("r-1")).lifecycle == "waiting"
    assert admitted_by(runs) == ["r-2"]


class BrokenAfter(MemoryRunLog):
    """A log that takes `room` events and then no more."""

    room = 1_000

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        if self.room == 0:
            raise StateStorageError("disk full")
        self.room -= 1
        super().append_all(entries, epoch)


def test_what_an_admitted_run_is_given_is_not_lost_when_the_next_cannot_be_recorded() -> None:
    log = BrokenAfter()
    runs = table(Quotas(running=2), log)
    for name in ("r-1", "r-2", "r-3", "r-4"):
        submitted(runs, name)
    for name in ("r-1", "r-2"):
        runs.handle(RunId(name), CancelRequested())
    log.room = 1
    given: list[RunId] = []
    with pytest.raises(StateStorageError):
        for run_id, commands in runs.admit():
            given += [run_id] if any(isinstance(command, RunStage) for command in commands) else []
    assert given == ["r-3"]
    log.room = 1
    assert admitted_by(runs) == ["r-4"]


@given(st.lists(st.sampled_from(PRIORITIES), min_size=1, max_size=15), st.integers(1, 3))
def test_within_a_priority_nobody_starves(priorities: list[str], slots: int) -> None:
    runs = table(Quotas(running=slots))
    begun = [RunId(str(n)) for n, priority in enumerate(priorities) if submitted(runs, str(n), priority=priority)]
    ended = 0
    while ended < len(begun):
        runs.handle(begun[ended], CancelRequested())
        ended += 1
        begun += admitted_by(runs)
    assert sorted(map(int, begun)) == list(range(len(priorities)))
    later = [int(run_id) for run_id in begun[slots:]]
    for priority in PRIORITIES:
        of_it = [number for number in later if priorities[number] == priority]
        assert of_it == sorted(of_it)


# --- the local runner


class Crowd:
    """Agents that note how many of them are at work, and who began when."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self.order: list[str] = []

    async def work(self, context: StageContext, view: StageView) -> StageResult:
        self.order.append(view.raw_input)
        self.now += 1
        self.most = max(self.most, self.now)
        await context.clock.sleep(1)
        self.now -= 1
        return StageResult({})


async def test_a_hundred_runs_under_a_quota_of_three_all_end_and_three_go_on_at_once() -> None:
    crowd = Crowd()
    kit = Hosted(PIPELINE, {"a": [crowd.work]}, quotas=Quotas(running=3))
    runs = [asyncio.create_task(kit.run(str(number))) for number in range(100)]
    for _ in range(40):
        await kit.clock.advance(1)
    envelopes = await asyncio.gather(*runs)
    assert {envelope.terminal_reason for envelope in envelopes} == {"completed"}
    assert crowd.most == 3
    assert crowd.order == [str(number) for number in range(100)]


async def test_a_run_that_waits_for_a_person_lets_the_next_begin_and_goes_on_when_answered() -> None:
    async def ask_once(_context: StageContext, view: StageView) -> StageResult:
        if view.interrupt is None and view.raw_input == "vague":
            return StageResult({}, interrupt=InterruptRequest("clarification", "Which?"))
        return StageResult(
            {"heard": view.interrupt.response.text if view.interrupt and view.interrupt.response else ""}
        )

    kit = Hosted(PIPELINE, {"a": [ask_once]}, quotas=Quotas(running=1))
    vague = await kit.runner.submit(kit.request("vague", wait=True))
    clear = await kit.runner.submit(kit.request("clear"))
    assert kit.runner.envelope(clear).lifecycle == "ready"
    await kit.clock.advance(0)
    assert kit.runner.envelope(clear).terminal_reason == "completed"
    assert kit.runner.envelope(vague).lifecycle == "waiting"
    await kit.runner.answer(vague, f"{vague}-q1", "local", InterruptResponse("this one"))
    await kit.clock.advance(0)
    assert kit.runner.envelope(vague).outputs == {"a": {"heard": "this one"}}


async def test_a_fork_of_a_run_that_was_still_queued_begins() -> None:
    kit = Hosted(PIPELINE, {"a": [{}]}, quotas=Quotas(running=1))
    first, queued = [await kit.runner.submit(kit.request()) for _ in range(2)]
    await kit.clock.advance(0)
    assert [kit.runner.envelope(run_id).terminal_reason for run_id in (first, queued)] == ["completed"] * 2
    forked = await kit.runner.fork(queued, 1)
    await kit.clock.advance(0)
    assert kit.runner.envelope(forked).terminal_reason == "completed"


# --- rate limits


def refused_for_s(limiter: RateLimiter, at_ms: int, user: str = "u", endpoint: str = "") -> int | None:
    """Seconds to wait before the next request is taken; None when it was taken."""
    try:
        limiter.take(user, at_ms, endpoint)
    except RateLimitedError as error:
        seconds: int = error.values["retry_after_s"]
        return seconds
    return None


@pytest.mark.parametrize(
    ("window", "allowed", "span_ms"),
    [("per_minute", 60, MINUTE_MS), ("per_hour", 1_000, HOUR_MS), ("per_day", 10_000, DAY_MS)],
)
def test_a_window_permits_exactly_its_number_and_opens_again_when_the_first_has_left_it(
    window: str, allowed: int, span_ms: int
) -> None:
    limiter = RateLimiter(RateLimits(**{**NO_WINDOWS, window: allowed}))
    for number in range(allowed):
        assert refused_for_s(limiter, START_MS + number) is None
    last_ms = START_MS + allowed - 1
    assert refused_for_s(limiter, last_ms) == -(-(START_MS + span_ms - last_ms) // 1000)
    assert refused_for_s(limiter, START_MS + span_ms - 1) == 1
    assert refused_for_s(limiter, START_MS + span_ms) is None
    assert refused_for_s(limiter, START_MS + span_ms) is not None


def test_the_shipped_limits_are_sixty_a_minute_a_thousand_an_hour_ten_thousand_a_day_and_ten_at_once() -> None:
    assert RateLimits() == RateLimits(per_minute=60, per_hour=1_000, per_day=10_000, burst=10)


def test_ten_may_come_at_once_and_then_one_a_second_until_the_minute_is_full() -> None:
    limiter = RateLimiter(RateLimits())
    assert [refused_for_s(limiter, START_MS) for _ in range(11)] == [None] * 10 + [1]
    for second in range(1, 51):
        assert refused_for_s(limiter, START_MS + second * 1000) is None
        assert refused_for_s(limiter, START_MS + second * 1000) is not None
    assert refused_for_s(limiter, START_MS + 51_000) == 9
    assert refused_for_s(limiter, START_MS + 60_000) is None


def test_who_asks_as_often_as_possible_gets_the_hours_thousand_and_not_one_more() -> None:
    limiter = RateLimiter(RateLimits())
    taken = [second for second in range(3_600) if refused_for_s(limiter, START_MS + second * 1000) is None]
    assert len(taken) == 1_000
    assert refused_for_s(limiter, START_MS + 3_599_000) == 1
    assert refused_for_s(limiter, START_MS + 3_600_000) is None


def test_a_refused_request_does_not_count() -> None:
    limiter = RateLimiter(RateLimits(**{**NO_WINDOWS, "per_minute": 1}))
    limiter.take("u", START_MS)
    for second in range(1, 60):
        assert refused_for_s(limiter, START_MS + second * 1000) == 60 - second
    assert refused_for_s(limiter, START_MS + 60_000) is None


def test_an_override_of_an_endpoint_goes_before_that_of_a_user_and_that_before_the_default() -> None:
    def once(**fields: int) -> RateLimits:
        return RateLimits(**{**NO_WINDOWS, **fields})

    limiter = RateLimiter(once(per_minute=1), {"vip": once(per_minute=2)}, {"/ask": once(per_minute=3)})

    def taken(user: str, endpoint: str) -> int:
        return [refused_for_s(limiter, START_MS, user, endpoint) for _ in range(5)].count(None)

    assert taken("u", "/other") == 1
    assert taken("vip", "/other") == 2
    assert taken("vip", "/ask") == 3
    assert taken("u", "/ask") == 3
    assert taken("v", "") == 1


@pytest.mark.parametrize("user", ["local", "batch"])
def test_the_local_user_and_batch_workers_are_not_limited(user: str) -> None:
    nothing = RateLimits(per_minute=0, per_hour=0, per_day=0, burst=0)
    limiter = RateLimiter(nothing, {user: nothing}, {"/ask": nothing})
    assert [refused_for_s(limiter, START_MS, user, "/ask") for _ in range(100)] == [None] * 100


def test_a_limiter_without_limits_limits_nobody() -> None:
    limiter = RateLimiter(None)
    assert [refused_for_s(limiter, START_MS) for _ in range(100)] == [None] * 100


def test_a_limit_of_zero_permits_none() -> None:
    for window in ("per_minute", "per_hour", "per_day", "burst"):
        limiter = RateLimiter(RateLimits(**{**NO_WINDOWS, window: 0}))
        assert refused_for_s(limiter, START_MS) is not None


def test_users_do_not_use_up_one_anothers_requests() -> None:
    limiter = RateLimiter(RateLimits(**{**NO_WINDOWS, "per_minute": 1}))
    assert [refused_for_s(limiter, START_MS, f"u{number}") for number in range(20)] == [None] * 20


def test_a_clock_that_is_set_back_takes_no_burst_away() -> None:
    limiter = RateLimiter(RateLimits(**{**NO_WINDOWS, "burst": 10}))
    limiter.take("u", START_MS)
    assert [refused_for_s(limiter, START_MS - DAY_MS) for _ in range(10)] == [None] * 9 + [1]


small = st.none() | st.integers(1, 6)


@given(
    st.builds(RateLimits, small, small, small, small),
    st.lists(st.sampled_from([0, 1, 400, 1_000, 9_999, 30_000, MINUTE_MS, 600_000, HOUR_MS, DAY_MS]), max_size=60),
)
def test_no_window_ever_holds_more_than_its_number_and_the_time_to_wait_is_exact(
    limits: RateLimits, gaps_ms: list[int]
) -> None:
    limiter = RateLimiter(limits)
    now_ms, taken = START_MS, []
    for gap_ms in gaps_ms:
        now_ms += gap_ms
        wait_s = refused_for_s(limiter, now_ms)
        if wait_s is not None:
            assert wait_s >= 1
            assert refused_for_s(limiter, now_ms + (wait_s - 1) * 1000) is not None
            now_ms += wait_s * 1000
            assert refused_for_s(limiter, now_ms) is None
        taken.append(now_ms)
    for allowed, span_ms in (
        (limits.per_minute, MINUTE_MS),
        (limits.per_hour, HOUR_MS),
        (limits.per_day, DAY_MS),
        (limits.burst, 1),
    ):
        for at_ms in taken if allowed is not None else ():
            assert len([other for other in taken if at_ms <= other < at_ms + span_ms]) <= (allowed or 0)


def test_a_user_who_asks_too_often_gets_no_run_and_leaves_no_record() -> None:
    log = MemoryRunLog()
    runs = table(NO_QUOTAS, log, RateLimiter(RateLimits(**{**NO_WINDOWS, "per_minute": 1})))
    submitted(runs, "r-1", user_id="u")
    with pytest.raises(RateLimitedError, match="user 'u' asks too often; try again in 60 s") as caught:
        submitted(runs, "r-2", user_id="u")
    assert (caught.value.code, caught.value.exit_status) == ("rate_limited", 2)
    assert caught.value.values == {"user_id": "u", "retry_after_s": 60}
    assert log.events(RunId("r-2")) == []
    assert runs.running == 1


def test_the_same_request_said_twice_counts_once() -> None:
    runs = table(NO_QUOTAS, rates=RateLimiter(RateLimits(**{**NO_WINDOWS, "per_minute": 1})))
    for _ in range(3):
        runs.submit(Request("sample", "?", user_id="u"), RunId("r-1"))
    assert runs.running == 1
