"""Caches results between runs: bytes by key, with their content hash and the time of their last use.

Damaged or missing values are misses, and retention goes by the last use. That is recorded at most once in
`USE_NOTED_EVERY_MS`, so that reads seldom write.
"""

from __future__ import annotations

import msgspec

from runtime.database.database import Database, Schema
from runtime.database.store_part import Counted, StorePart, sweep_unused
from runtime.primitives.hashing import content_hash

USE_NOTED_EVERY_MS = 3_600_000

_PUT = (
    "INSERT INTO cache (key, hash, body, used_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE"
    " SET hash = excluded.hash, body = excluded.body, used_at_ms = excluded.used_at_ms"
)


class Cached(msgspec.Struct, frozen=True):
    """Holds a cached value and its `content_hash` (SHA-256)."""

    value: bytes
    content_hash: str


class CacheStore:
    """Stores values by key; the last write of a key wins."""

    def __init__(self, database: Database) -> None:
        self._database = database
        SCHEMA.apply(database)

    def put(self, key: str, value: bytes, now_ms: int) -> Cached:
        """Store `value` under `key`, in place of an earlier one."""
        cached = Cached(value, content_hash(value))
        with self._database.transaction("take a result into the cache") as changes:
            changes.execute(_PUT, (key, cached.content_hash, value, now_ms))
        return cached

    def get(self, key: str, now_ms: int) -> Cached | None:
        """Return the value of `key`; None if there is none or it is damaged."""
        with self._database.read() as queries:
            rows = queries.rows("SELECT body, hash, used_at_ms FROM cache WHERE key = ?", (key,))
        if not rows:
            return None
        value, known_hash, used_at_ms = rows[0]
        if content_hash(value) != known_hash:
            return None
        if now_ms - used_at_ms >= USE_NOTED_EVERY_MS and not self._database.is_readonly:
            with self._database.transaction("note a use of its cache") as changes:
                changes.execute(
                    "UPDATE cache SET used_at_ms = ? WHERE key = ? AND used_at_ms < ?", (now_ms, key, now_ms)
                )
        return Cached(value, known_hash)

    def unused(self, before_ms: int) -> int:
        """Count the results last used before `before_ms`."""
        with self._database.read() as queries:
            return int(queries.rows("SELECT count(*) FROM cache WHERE used_at_ms < ?", (before_ms,))[0][0])

    def drop_unused(self, before_ms: int) -> int:
        """Delete the results last used before `before_ms`, give or take `USE_NOTED_EVERY_MS`; return their number."""
        with self._database.transaction("drop unused results") as changes:
            return changes.execute("DELETE FROM cache WHERE used_at_ms < ?", (before_ms,))


SCHEMA = Schema(
    "cache",
    (
        (
            "CREATE TABLE cache (key TEXT PRIMARY KEY, hash TEXT NOT NULL, body BYTEA NOT NULL,"
            " used_at_ms BIGINT NOT NULL)",
            "CREATE INDEX cache_by_use ON cache (used_at_ms)",
        ),
    ),
)

CACHED = Counted("cached", "cached result", "cached results")

CACHE = StorePart(
    name="cache",
    label="cache",
    schema=SCHEMA,
    open=lambda database, clock: CacheStore(database),
    counted=(CACHED,),
    sweep=sweep_unused(CACHED.key),
    is_disposable=True,
    cost_of_loss="earlier results are made again",
)
