"""Counts tool calls by scope and status over all sessions, and judges the health of tools.

A scope is what tools work on, as their subject names it; the kernel does not know what it is. Counts only grow until
`jeeves gc` deletes those of a scope that was not used for long. A tool has a row for each status that its calls ended
with, so the number of rows of a scope is bounded; single calls are kept for as long as its health is judged by them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.database.database import Database, Schema
from runtime.database.store_part import StorePart, sweep_unused
from runtime.memory.cache import CACHED
from runtime.primitives.clock import Clock
from runtime.tools.health import JUDGED_MS, BreakerState, CallOutcome, Health, breaker_after, health_of, state_at
from runtime.tools.result import USABLE, ToolStatus
from runtime.tools.tool_host import ADD_TOOL_USES, TOOL_HEALTH, CountedCall

_ADD = (
    "INSERT INTO tool_metrics (scope, tool, status, calls, duration_ms, at_ms) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (scope, tool, status) DO UPDATE SET calls = tool_metrics.calls + excluded.calls,"
    " duration_ms = tool_metrics.duration_ms + excluded.duration_ms, at_ms = excluded.at_ms"
)

_NOTE = "INSERT INTO tool_calls (scope, tool, at_ms, is_failure, duration_ms) VALUES (?, ?, ?, ?, ?)"
_NOTED = "SELECT scope, tool, at_ms, is_failure, duration_ms FROM tool_calls WHERE at_ms >= ?"

# Tools of one scope that are told by name; a scope has no more than its capability has tools.
MAX_TOOLS_SHOWN = 200


class ToolUse(msgspec.Struct, frozen=True):
    """Counts calls of a tool that ended with a status; `duration_ms` is their total time."""

    tool: str
    status: ToolStatus
    calls: int
    duration_ms: int


class ToolMetric(msgspec.Struct, frozen=True):
    """Sums the calls of one tool: all, those with a usable result, and the mean time of a call.

    `health` and `breaker` follow from its latest calls in this scope; an open breaker admits a call at `probe_at_ms`.
    """

    tool: str
    calls: int
    usable: int
    mean_ms: int
    health: Health = "unknown"
    breaker: BreakerState = "closed"
    probe_at_ms: int = 0


class ToolHealth(msgspec.Struct, frozen=True):
    """Judges one tool from its latest calls in all scopes; `open_in` counts the scopes where its breaker is open.

    `probe_at_ms` is the first instant at which one of those breakers admits a call, 0 if all are closed. The times are
    those of the same calls: mean, median, 95th percentile (nearest rank) and longest.
    """

    tool: str
    health: Health
    calls: int
    failures: int
    mean_ms: int
    open_in: int = 0
    probe_at_ms: int = 0
    p50_ms: int = 0
    p95_ms: int = 0
    max_ms: int = 0


class ToolMetricsStore:
    """Stores counts by scope; safe to call from several threads of one process, and beside other processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        SCHEMA.apply(database)

    def record(self, scope: str, calls: Sequence[CountedCall]) -> None:
        """Count calls, and keep each for as long as health is judged by it."""
        uses: dict[tuple[str, ToolStatus], list[int]] = {}
        for call in calls:
            uses.setdefault((call.tool, call.status), []).append(call.duration_ms)
        summed = [ToolUse(tool, status, len(took), sum(took)) for (tool, status), took in uses.items()]
        self.add(scope, summed, calls)

    def add(self, scope: str, uses: Iterable[ToolUse], calls: Sequence[CountedCall] = ()) -> None:
        """Add uses to the counts of a scope; of those in `calls`, keep each."""
        key, now_ms = _scope_key(scope), self._clock.now_ms()
        rows = [(key, use.tool, use.status, use.calls, use.duration_ms, now_ms) for use in uses]
        notes = [(key, call.tool, call.at_ms, int(call.is_failure), call.duration_ms) for call in calls]
        with self._database.transaction("count uses of tools") as changes:
            changes.execute_all(_ADD, rows)
            if notes:
                changes.execute("DELETE FROM tool_calls WHERE at_ms < ?", (now_ms - JUDGED_MS,))
                changes.execute_all(_NOTE, notes)

    def of(self, scope: str) -> list[ToolMetric]:
        """Return the sums and the health of each tool in a scope, by name."""
        key, now_ms = _scope_key(scope), self._clock.now_ms()
        query = "SELECT tool, status, calls, duration_ms FROM tool_metrics WHERE scope = ? ORDER BY tool, status"
        with self._database.read() as queries:
            rows = queries.rows(query, (key,))
            latest = queries.rows(f"{_NOTED} AND scope = ? ORDER BY at_ms", (now_ms - JUDGED_MS, key))
        by_tool: dict[str, list[Sequence[Any]]] = {}
        for row in rows:
            by_tool.setdefault(row[0], []).append(row)
        outcomes = _outcomes(latest)
        return [_summed(tool, parts, outcomes.get((key, tool), []), now_ms) for tool, parts in by_tool.items()]

    def health(self) -> list[ToolHealth]:
        """Return the health of each tool that was called lately, over all scopes, by name."""
        now_ms = self._clock.now_ms()
        with self._database.read() as queries:
            latest = queries.rows(f"{_NOTED} ORDER BY at_ms", (now_ms - JUDGED_MS,))
        outcomes = _outcomes(latest)
        names = sorted({tool for _, tool in outcomes})[:MAX_TOOLS_SHOWN]
        return [
            _judged(name, [calls for (_, tool), calls in outcomes.items() if tool == name], now_ms) for name in names
        ]

    def unused(self, before_ms: int) -> int:
        """Count the rows last updated before `before_ms`."""
        with self._database.read() as queries:
            return int(queries.rows("SELECT count(*) FROM tool_metrics WHERE at_ms < ?", (before_ms,))[0][0])

    def drop_unused(self, before_ms: int) -> int:
        """Delete the rows that `unused` counts and return their number."""
        with self._database.transaction("drop old counts of tools") as changes:
            return changes.execute("DELETE FROM tool_metrics WHERE at_ms < ?", (before_ms,))


SCHEMA = Schema(
    "tool_metrics",
    (
        (
            "CREATE TABLE tool_metrics (repo TEXT NOT NULL, tool TEXT NOT NULL, status TEXT NOT NULL,"
            " calls BIGINT NOT NULL, duration_ms BIGINT NOT NULL, at_ms BIGINT NOT NULL,"
            " PRIMARY KEY (repo, tool, status))",
        ),
        (
            "ALTER TABLE tool_metrics RENAME COLUMN repo TO scope",
            "CREATE TABLE tool_calls (scope TEXT NOT NULL, tool TEXT NOT NULL, at_ms BIGINT NOT NULL,"
            " is_failure BIGINT NOT NULL, duration_ms BIGINT NOT NULL)",
            "CREATE INDEX tool_calls_at ON tool_calls (at_ms)",
        ),
    ),
)

TOOL_METRIC_QUERIES = ("memory.tool_metrics", ADD_TOOL_USES, TOOL_HEALTH)


def tool_metric_queries(store: ToolMetricsStore) -> dict[str, QueryHandler]:
    """Return the store's handlers for queries of agents.

    `memory.tool_metrics` {scope} → {tools}, `memory.add_tool_uses` {scope, calls} → {}, `memory.tool_health` {} →
    {tools}.
    """

    async def of(body: dict[str, Any]) -> dict[str, Any]:
        return {"tools": msgspec.to_builtins(store.of(body["scope"]))}

    async def add(body: dict[str, Any]) -> dict[str, Any]:
        store.record(body["scope"], msgspec.convert(body["calls"], list[CountedCall]))
        return {}

    async def health(_body: dict[str, Any]) -> dict[str, Any]:
        return {"tools": msgspec.to_builtins(store.health())}

    return dict(zip(TOOL_METRIC_QUERIES, (of, add, health), strict=True))


Outcomes = list[CallOutcome]


def _outcomes(rows: Iterable[Sequence[Any]]) -> dict[tuple[str, str], Outcomes]:
    """Group rows of calls by scope and tool, in their order."""
    found: dict[tuple[str, str], Outcomes] = {}
    for scope, tool, at_ms, is_failure, duration_ms in rows:
        outcome = CallOutcome(int(at_ms), bool(is_failure), int(duration_ms))
        found.setdefault((str(scope), str(tool)), []).append(outcome)
    return found


def _summed(tool: str, rows: Sequence[Sequence[Any]], latest: Outcomes, now_ms: int) -> ToolMetric:
    calls = sum(int(row[2]) for row in rows)
    usable = sum(int(row[2]) for row in rows if row[1] in USABLE)
    mean_ms = round(sum(int(row[3]) for row in rows) / calls) if calls else 0
    breaker = breaker_after(latest)
    judged = (health_of(latest, now_ms), state_at(breaker, now_ms), breaker.probe_at_ms)
    return ToolMetric(tool, calls, usable, mean_ms, *judged)


def _judged(tool: str, scopes: Sequence[Outcomes], now_ms: int) -> ToolHealth:
    latest = sorted((outcome for calls in scopes for outcome in calls), key=lambda outcome: outcome.at_ms)
    took_ms = sorted(outcome.duration_ms for outcome in latest)
    breakers = [breaker for calls in scopes if state_at(breaker := breaker_after(calls), now_ms) != "closed"]
    return ToolHealth(
        tool,
        health_of(latest, now_ms),
        len(latest),
        sum(outcome.is_error for outcome in latest),
        round(sum(took_ms) / len(took_ms)),
        len(breakers),
        min((breaker.probe_at_ms for breaker in breakers), default=0),
        _percentile(took_ms, 50),
        _percentile(took_ms, 95),
        took_ms[-1],
    )


def _percentile(in_order: Sequence[int], percent: int) -> int:
    """Return the nearest-rank percentile of at least one value."""
    return in_order[-(-len(in_order) * percent // 100) - 1]


def _scope_key(scope: str) -> str:
    return hashlib.sha256(scope.encode("utf-8", "surrogatepass")).hexdigest()


# Retention reports counts of tools together with the cached results.
TOOL_METRICS = StorePart(
    name="tool_metrics",
    label="tool metrics",
    schema=SCHEMA,
    open=ToolMetricsStore,
    queries=TOOL_METRIC_QUERIES,
    handlers=tool_metric_queries,
    counted=(CACHED,),
    sweep=sweep_unused(CACHED.key),
    is_disposable=True,
    cost_of_loss="the success of tools is counted from zero",
)
