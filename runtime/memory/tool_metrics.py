"""Counts tool calls by repository and status over all sessions, with the time that they took.

Counts only grow until `jeeves gc` deletes those of a repository that was not used for long. A tool has a row for each
status that its calls ended with, so the number of rows of a repository is bounded.
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
from runtime.tools.result import USABLE, ToolStatus

_ADD = (
    "INSERT INTO tool_metrics (repo, tool, status, calls, duration_ms, at_ms) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (repo, tool, status) DO UPDATE SET calls = tool_metrics.calls + excluded.calls,"
    " duration_ms = tool_metrics.duration_ms + excluded.duration_ms, at_ms = excluded.at_ms"
)


class ToolUse(msgspec.Struct, frozen=True):
    """Counts calls of a tool that ended with a status; `duration_ms` is their total time."""

    tool: str
    status: ToolStatus
    calls: int
    duration_ms: int


class ToolMetric(msgspec.Struct, frozen=True):
    """Sums the calls of one tool: all, those with a usable result, and the mean time of a call."""

    tool: str
    calls: int
    usable: int
    mean_ms: int


class ToolMetricsStore:
    """Stores counts by repository; safe to call from several threads of one process, and beside other processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        SCHEMA.apply(database)

    def add(self, repo: str, uses: Iterable[ToolUse]) -> None:
        """Add uses to the counts of a repository."""
        key, now_ms = _repo_key(repo), self._clock.now_ms()
        rows = [(key, use.tool, use.status, use.calls, use.duration_ms, now_ms) for use in uses]
        with self._database.transaction("count uses of tools") as changes:
            changes.execute_all(_ADD, rows)

    def of(self, repo: str) -> list[ToolMetric]:
        """Return the sums of each tool on a repository, by name."""
        query = "SELECT tool, status, calls, duration_ms FROM tool_metrics WHERE repo = ? ORDER BY tool, status"
        with self._database.read() as queries:
            rows = queries.rows(query, (_repo_key(repo),))
        by_tool: dict[str, list[Sequence[Any]]] = {}
        for row in rows:
            by_tool.setdefault(row[0], []).append(row)
        return [_summed(tool, parts) for tool, parts in by_tool.items()]

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
    ),
)

TOOL_METRIC_QUERIES = ("memory.tool_metrics", "memory.add_tool_uses")


def tool_metric_queries(store: ToolMetricsStore) -> dict[str, QueryHandler]:
    """Return the store's handlers for queries of agents.

    `memory.tool_metrics` {repo} → {tools}, `memory.add_tool_uses` {repo, uses} → {}.
    """

    async def of(body: dict[str, Any]) -> dict[str, Any]:
        return {"tools": msgspec.to_builtins(store.of(body["repo"]))}

    async def add(body: dict[str, Any]) -> dict[str, Any]:
        store.add(body["repo"], msgspec.convert(body["uses"], list[ToolUse]))
        return {}

    return dict(zip(TOOL_METRIC_QUERIES, (of, add), strict=True))


def _summed(tool: str, rows: Sequence[Sequence[Any]]) -> ToolMetric:
    calls = sum(int(row[2]) for row in rows)
    usable = sum(int(row[2]) for row in rows if row[1] in USABLE)
    return ToolMetric(tool, calls, usable, round(sum(int(row[3]) for row in rows) / calls) if calls else 0)


def _repo_key(repo: str) -> str:
    return hashlib.sha256(repo.encode("utf-8", "surrogatepass")).hexdigest()


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
)
