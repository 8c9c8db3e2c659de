"""How tools fared: counted by scope and status, by several processes at once."""

from __future__ import annotations

import threading

import pytest

from runtime.memory.tool_metrics import ToolMetric, ToolMetricsStore, ToolUse, tool_metric_queries
from runtime.primitives.clock import FakeClock
from runtime.tools.health import JUDGED_MS
from runtime.tools.tool_host import CountedCall
from tests.runtime.store.conftest import Place


def store_at(place: Place) -> ToolMetricsStore:
    return ToolMetricsStore(place.open(), FakeClock(1_000))


def test_calls_are_summed_over_processes_and_statuses(place: Place) -> None:
    store_at(place).add("r", [ToolUse("locate", "ok", 2, 30), ToolUse("read_code", "ok", 1, 4)])
    store_at(place).add("r", [ToolUse("locate", "empty", 1, 0), ToolUse("locate", "partial", 1, 11)])
    store_at(place).add("other", [ToolUse("locate", "error", 9, 9)])
    assert store_at(place).of("r") == [ToolMetric("locate", 4, 3, 10), ToolMetric("read_code", 1, 1, 4)]


def test_nothing_is_known_of_a_repository_that_nobody_asked_about(place: Place) -> None:
    store = store_at(place)
    store.add("r", [])
    assert store.of("r") == []


def test_two_sessions_that_count_at_once_lose_nothing(place: Place) -> None:
    stores = [store_at(place), store_at(place)]

    def count(store: ToolMetricsStore) -> None:
        for _ in range(20):
            store.add("r", [ToolUse("locate", "ok", 1, 1)])

    threads = [threading.Thread(target=count, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store_at(place).of("r") == [ToolMetric("locate", 40, 40, 1)]


@pytest.mark.parametrize(("before_ms", "goes"), [(999, 0), (1_000, 0), (1_001, 1)])
def test_counts_go_by_when_they_were_counted_up_last(place: Place, before_ms: int, goes: int) -> None:
    store = store_at(place)
    store.add("r", [ToolUse("locate", "ok", 1, 1)])
    assert store.unused(before_ms) == goes
    assert store.drop_unused(before_ms) == goes
    assert len(store.of("r")) == 1 - goes


async def test_agents_count_and_ask_by_query(place: Place) -> None:
    queries = tool_metric_queries(store_at(place))
    call = {"tool": "locate", "status": "ok", "duration_ms": 7, "at_ms": 900}
    await queries["memory.add_tool_uses"]({"scope": "r", "calls": [call]})
    told = await queries["memory.tool_metrics"]({"scope": "r"})
    counted = {"tool": "locate", "calls": 1, "usable": 1, "mean_ms": 7}
    assert told == {"tools": [{**counted, "health": "unknown", "breaker": "closed", "probe_at_ms": 0}]}
    seen = {"tool": "locate", "health": "unknown", "calls": 1, "failures": 0, "mean_ms": 7}
    times = {"p50_ms": 7, "p95_ms": 7, "max_ms": 7}
    assert await queries["memory.tool_health"]({}) == {"tools": [{**seen, "open_in": 0, "probe_at_ms": 0, **times}]}


def failures(count: int, tool: str = "locate") -> list[CountedCall]:
    return [CountedCall(tool, "error", 10, 900 + number, is_failure=True) for number in range(count)]


@pytest.mark.parametrize(("count", "breaker", "health"), [(4, "closed", "unknown"), (5, "open", "unhealthy")])
def test_a_tool_that_fails_in_one_scope_is_open_there_and_nowhere_else(
    place: Place, count: int, breaker: str, health: str
) -> None:
    store = store_at(place)
    store.record("hostile", failures(count))
    store.record("other", [CountedCall("locate", "ok", 10, 950)] * 95)
    (there,), (elsewhere,) = store.of("hostile"), store.of("other")
    assert (there.breaker, there.health) == (breaker, health)
    assert (elsewhere.breaker, elsewhere.health) == ("closed", "healthy")
    (over_all,) = store.health()
    assert (over_all.calls, over_all.failures, over_all.open_in) == (95 + count, count, int(breaker == "open"))
    assert over_all.health == "healthy"


async def test_old_calls_are_neither_kept_nor_judged(place: Place) -> None:
    clock = FakeClock(1_000)
    store = ToolMetricsStore(place.open(), clock)
    store.record("r", failures(5))
    await clock.advance(JUDGED_MS / 1000)
    (metric,) = store.of("r")
    assert (metric.calls, metric.health, metric.breaker) == (5, "unknown", "closed")
    assert store.health() == []
