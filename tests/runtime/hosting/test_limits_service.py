"""Rates and daily quotas over the processes of a system, and over its restarts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.bus.queries import LocalQueries
from runtime.errors import RateLimitedError, StateStorageError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.limits_service import DAY_MS, KEEP_EVERY_S, Limits, LimitsService, SpentBy, UsedUp
from runtime.hosting.limits.rate_limits import RateLimits
from runtime.hosting.run_quotas import RunQuotas
from runtime.memory.usage_log import STEP_MS, USAGE, UsageLog, Use
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.opening import open_database
from runtime.store.options import StoreOptions
from runtime.testing import START_MS
from tests.runtime.hosting.test_quotas import Table

CLIENT, OTHER, ANN = "address:192.0.2.1", "address:192.0.2.2", "user:ann"
NO_RATES: dict[str, Any] = {"per_minute": None, "per_hour": None, "per_day": None, "burst": None}


def limits(quotas: Quotas | None = None, by_endpoint: dict[str, RateLimits] | None = None, **rates: int) -> Limits:
    return Limits(quotas or Quotas(), RateLimits(**{**NO_RATES, **rates}), rates_by_endpoint=by_endpoint or {})


@contextmanager
def usage_log(folder: Path, clock: FakeClock) -> Iterator[UsageLog]:
    database = open_database(StoreOptions(str(folder)), USAGE.database, USAGE.label)
    try:
        yield USAGE.open(database, clock)
    finally:
        database.close()


def taken(service: LimitsService, user_id: str = CLIENT, endpoint: str = "chat", tries: int = 5) -> int:
    return [refused_for_s(service, user_id, endpoint) for _ in range(tries)].count(None)


def refused_for_s(service: LimitsService, user_id: str = CLIENT, endpoint: str = "chat") -> int | None:
    try:
        service.take(user_id, endpoint)
    except RateLimitedError as error:
        return int(error.values["retry_after_s"])
    return None


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (3, 0)])
async def test_requests_of_the_day_count_after_a_restart(tmp_path: Path, before: int, after: int) -> None:
    clock = FakeClock(START_MS)
    with usage_log(tmp_path, clock) as log:
        service = LimitsService(limits(per_day=3), clock, log)
        assert taken(service, tries=before) == before
        await service.keep_now()
    await clock.advance(60)
    with usage_log(tmp_path, clock) as log:
        assert taken(LimitsService(limits(per_day=3), clock, log)) == after


async def test_a_restart_at_the_edge_of_the_day_frees_nobody_early_and_everybody_in_time(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)
    with usage_log(tmp_path, clock) as log:
        service = LimitsService(limits(per_day=1), clock, log)
        service.take(CLIENT, "chat")
        await service.keep_now()
        await clock.advance((DAY_MS - 1) / 1000)
        assert refused_for_s(LimitsService(limits(per_day=1), clock, log)) == 1
        await clock.advance(0.001)
        assert refused_for_s(LimitsService(limits(per_day=1), clock, log)) is None


async def test_what_was_used_is_kept_every_few_seconds_without_an_orderly_end(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)
    with usage_log(tmp_path, clock) as log:
        service = LimitsService(limits(per_day=3), clock, log)
        service.take(CLIENT, "chat")
        service.spend([SpentBy(ANN, 2, 50)])
        await service.keep_now()
        service.take(CLIENT, "chat")
        await clock.advance(KEEP_EVERY_S)
        await service.keep_now()
        kept = log.since(0)
    assert {(use.user_id, use.what, use.amount) for use in kept} == {
        (CLIENT, "requests", 2),
        (ANN, "llm_calls", 2),
        (ANN, "tokens", 50),
    }


async def test_a_clock_that_was_set_back_between_two_starts_makes_nobody_wait_longer_than_a_day(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)
    with usage_log(tmp_path, clock) as log:
        service = LimitsService(limits(per_day=1), clock, log)
        service.take(CLIENT, "chat")
        await service.keep_now()
    earlier = FakeClock(START_MS - 30 * DAY_MS)
    with usage_log(tmp_path, earlier) as log:
        assert refused_for_s(LimitsService(limits(per_day=1), earlier, log)) == DAY_MS // 1000


def test_an_endpoint_with_rates_of_its_own_is_counted_by_itself() -> None:
    once = RateLimits(**{**NO_RATES, "per_minute": 1})
    service = LimitsService(limits(per_minute=2, by_endpoint={"cancel": once}), FakeClock(START_MS))
    assert (taken(service, endpoint="cancel"), taken(service), taken(service, endpoint="run")) == (1, 2, 0)


async def test_requests_of_an_endpoint_count_after_a_restart_for_that_endpoint_alone(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)
    twice = RateLimits(**{**NO_RATES, "per_day": 2})
    both = limits(per_day=2, by_endpoint={"fork": twice})
    with usage_log(tmp_path, clock) as log:
        service = LimitsService(both, clock, log)
        service.take(CLIENT, "fork")
        await service.keep_now()
        again = LimitsService(both, clock, log)
    assert (taken(again, endpoint="fork"), taken(again)) == (1, 2)


@pytest.mark.parametrize(("spent", "is_refused"), [(9, False), (10, True), (11, True)])
def test_what_several_supervisors_report_is_one_quota(spent: int, is_refused: bool) -> None:
    service = LimitsService(limits(Quotas(tokens_per_day=10)), FakeClock(START_MS))
    first = service.spend([SpentBy(CLIENT, 1, 4), SpentBy(ANN, 9, 99)])
    assert first == []
    second = service.spend([SpentBy(CLIENT, 1, spent - 4)])
    assert [used_up.user_id for used_up in second] == ([CLIENT] if is_refused else [])
    assert refused_for_s(service) == (DAY_MS // 1000 if is_refused else None)
    assert refused_for_s(service, OTHER) is None


async def test_a_quota_that_was_used_up_before_a_restart_still_is(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)
    with usage_log(tmp_path, clock) as log:
        service = LimitsService(limits(Quotas(llm_calls_per_day=3)), clock, log)
        service.spend([SpentBy(CLIENT, 3, 0)])
        await service.keep_now()
        again = LimitsService(limits(Quotas(llm_calls_per_day=3)), clock, log)
    with pytest.raises(RateLimitedError, match="has spent 3 model calls within 24 hours, quota 3"):
        again.take(CLIENT, "chat")


class BrokenLog(UsageLog):
    """A log that cannot be written for a while."""

    is_broken = False

    def add(self, uses: Any) -> None:
        if self.is_broken:
            raise StateStorageError("disk full")
        super().add(uses)


async def test_a_full_disk_stops_no_request_and_nothing_is_forgotten_meanwhile(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)
    database = open_database(StoreOptions(str(tmp_path)), USAGE.database, USAGE.label)
    log = BrokenLog(database, clock)
    service = LimitsService(limits(per_day=100), clock, log)
    log.is_broken = True
    for _ in range(3):
        assert taken(service) == 5
        await service.keep_now()
    log.is_broken = False
    await service.keep_now()
    assert [use.amount for use in log.since(0)] == [15]
    database.close()


async def test_sums_of_the_day_before_are_dropped(tmp_path: Path) -> None:
    clock = FakeClock(START_MS)
    with usage_log(tmp_path, clock) as log:
        for at_ms in (START_MS - DAY_MS - 1, START_MS - DAY_MS, START_MS, START_MS + 1, START_MS + STEP_MS):
            log.add([Use(CLIENT, "requests", at_ms, 1)])
        assert [use.amount for use in log.since(0)] == [1, 2, 1]


async def test_the_query_of_supervisors_is_answered() -> None:
    queries = LocalQueries()
    queries.register(LimitsService(limits(Quotas(llm_calls_per_day=1)), FakeClock(START_MS)).queries())
    told = await queries.query("limits.spend", {"spent": [{"user_id": CLIENT, "llm_calls": 1, "tokens": 0}]})
    assert [(each.user_id, each.exhausted.name) for each in told["used_up"]] == [(CLIENT, "llm_calls")]


def test_a_supervisor_reports_each_spending_once_and_again_if_nobody_received_it() -> None:
    table = Table(Quotas(llm_calls_per_day=100))
    table.submit(RunId("r-1"), user_id=CLIENT)
    table.succeed(RunId("r-1"), llm_calls=2, tokens_in=5)
    quotas = table.runs.quotas
    spent = quotas.spent_since_report()
    assert (spent, quotas.spent_since_report()) == ({CLIENT: (2, 5, 0)}, {})
    quotas.report_again(spent)
    table.succeed(RunId("r-1"), llm_calls=1)
    assert quotas.spent_since_report() == {CLIENT: (3, 5, 0)}


def test_runs_of_a_user_who_has_used_up_a_quota_elsewhere_stop_and_begin_no_more() -> None:
    service = LimitsService(limits(Quotas(llm_calls_per_day=3)), FakeClock(START_MS))
    table = Table(Quotas(llm_calls_per_day=3))
    for name, user_id in (("r-1", CLIENT), ("r-2", OTHER)):
        table.submit(RunId(name), user_id=user_id)
    used_up: list[UsedUp] = service.spend([SpentBy(CLIENT, 3, 0)])
    table.runs.quotas.used_up_elsewhere({each.user_id: each.exhausted for each in used_up})
    table.admit()
    assert (table.lifecycle(RunId("r-1")), table.lifecycle(RunId("r-2"))) == ("waiting", "running")
    with pytest.raises(RateLimitedError, match="quota 3"):
        table.submit(RunId("r-3"), user_id=CLIENT)
    table.runs.quotas.used_up_elsewhere({})
    table.submit(RunId("r-3"), user_id=CLIENT)


def test_ceilings_hold_for_clients_and_not_for_the_terminal() -> None:
    quotas = RunQuotas(limits(Quotas(run_tool_calls=7, run_s=300)).of_runs(), None, FakeClock(START_MS))
    for user_id, lowered in ((CLIENT, True), (ANN, False), ("batch:ann", False), ("token:ci", True)):
        request = quotas.permitted(Request("sample", "?", user_id=user_id))
        assert (request.limits, request.deadline_s) == (({"max_tool_calls": 7}, 300) if lowered else ({}, None))
