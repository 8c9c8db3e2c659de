"""How tools fared: counted by repository and status, by several processes at once."""

from __future__ import annotations

import threading

import pytest

from runtime.memory.tool_metrics import ToolMetric, ToolMetricsStore, ToolUse, tool_metric_queries
from runtime.primitives.clock import FakeClock
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
    use = {"tool": "locate", "status": "ok", "calls": 1, "duration_ms": 7}
    await queries["memory.add_tool_uses"]({"repo": "r", "uses": [use]})
    told = await queries["memory.tool_metrics"]({"repo": "r"})
    assert told == {"tools": [{"tool": "locate", "calls": 1, "usable": 1, "mean_ms": 7}]}
