"""Keeps what principals have used in the last day in the store: requests, model calls, tokens.

Uses are summed in steps of ten minutes, each with the time of its last one, so that they count too long rather than too
short after a restart. Several processes may add to the same sums.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from runtime.database.database import Database, Schema
from runtime.database.store_part import StorePart
from runtime.primitives.clock import Clock

DAY_MS = 86_400_000
STEP_MS = 600_000

_ADD = (
    "INSERT INTO principal_usage (user_id, what, step, amount, last_ms) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (user_id, what, step) DO UPDATE SET amount = principal_usage.amount + excluded.amount,"
    " last_ms = CASE WHEN principal_usage.last_ms > excluded.last_ms THEN principal_usage.last_ms"
    " ELSE excluded.last_ms END"
)


class Use(msgspec.Struct, frozen=True):
    """Counts a use by a principal; `what`: requests (of an endpoint: `requests NAME`), llm_calls, tokens."""

    user_id: str
    what: str
    at_ms: int
    amount: int


class UsageLog:
    """Stores uses; safe to call from several threads of one process, and beside other processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        SCHEMA.apply(database)

    def add(self, uses: Iterable[Use]) -> None:
        """Add uses, and drop those that are older than a day. Raises StateStorageError."""
        summed: dict[tuple[str, str, int], tuple[int, int]] = {}
        for use in uses:
            key = (use.user_id, use.what, use.at_ms // STEP_MS)
            amount, last_ms = summed.get(key, (0, 0))
            summed[key] = (amount + use.amount, max(last_ms, use.at_ms))
        with self._database.transaction("count what was used") as changes:
            changes.execute_all(_ADD, [(*key, *found) for key, found in summed.items()])
            changes.execute("DELETE FROM principal_usage WHERE last_ms < ?", (self._clock.now_ms() - DAY_MS,))

    def since(self, after_ms: int) -> list[Use]:
        """Return the uses after a time, oldest first; none is later than now, whatever the clock was."""
        query = "SELECT user_id, what, last_ms, amount FROM principal_usage WHERE last_ms > ? ORDER BY last_ms"
        with self._database.read() as queries:
            rows = queries.rows(query, (after_ms,))
        now_ms = self._clock.now_ms()
        return [Use(str(user_id), str(what), min(int(at), now_ms), int(amount)) for user_id, what, at, amount in rows]

    def totals(self, after_ms: int) -> dict[str, dict[str, int]]:
        """Return what each principal has used after a time: `what` → amount; requests of all endpoints in one."""
        query = "SELECT user_id, what, sum(amount) FROM principal_usage WHERE last_ms > ? GROUP BY user_id, what"
        with self._database.read() as queries:
            rows = queries.rows(query, (after_ms,))
        found: dict[str, dict[str, int]] = {}
        for user_id, what, amount in rows:
            used = found.setdefault(str(user_id), {})
            kind = str(what).partition(" ")[0]
            used[kind] = used.get(kind, 0) + int(amount)
        return found


SCHEMA = Schema(
    "principal_usage",
    (
        (
            "CREATE TABLE principal_usage (user_id TEXT NOT NULL, what TEXT NOT NULL, step BIGINT NOT NULL,"
            " amount BIGINT NOT NULL, last_ms BIGINT NOT NULL, PRIMARY KEY (user_id, what, step))",
            "CREATE INDEX principal_usage_by_time ON principal_usage (last_ms)",
        ),
    ),
)

# Nothing for `jeeves gc`: what is older than a day goes whenever something is added.
USAGE = StorePart(
    name="usage",
    label="usage of callers",
    schema=SCHEMA,
    open=UsageLog,
    is_disposable=True,
    cost_of_loss="rates and daily quotas count from zero, and nothing of them outlives the process",
)
