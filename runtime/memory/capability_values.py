"""Stores values that hooks of capabilities keep between runs, each scope apart from the others.

A scope belongs to one capability and one user, or to one of that user's sessions. The values live in the cache, which
drops what was not used for long.
"""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.database.store_part import StorePart
from runtime.memory import cache
from runtime.memory.cache import Cached, CacheStore
from runtime.primitives.clock import Clock
from runtime.primitives.hashing import content_hash

MAX_VALUES = 64


class MemoryCache:
    """Keeps values by key in this process, for tests and embedded runs."""

    def __init__(self) -> None:
        self._kept: dict[str, Cached] = {}

    def get(self, key: str, _now_ms: int) -> Cached | None:
        """Return the value of `key`; None if there is none."""
        return self._kept.get(key)

    def put(self, key: str, value: bytes, _now_ms: int) -> Cached:
        """Store `value` under `key`."""
        self._kept[key] = Cached(value, content_hash(value))
        return self._kept[key]


class ValueStore:
    """Keeps the newest MAX_VALUES values of each scope, by name."""

    def __init__(self, cached: CacheStore | MemoryCache, clock: Clock) -> None:
        self._cache = cached
        self._clock = clock

    def get(self, scope: list[str], name: str) -> Any:
        """Return a value; None if there is none."""
        return self._values(_key(scope)).get(name)

    def put(self, scope: list[str], name: str, value: Any) -> None:
        """Keep a value in place of an earlier one; None deletes it. Beyond MAX_VALUES the oldest is dropped."""
        key = _key(scope)
        values = {known: kept for known, kept in self._values(key).items() if known != name}
        if value is not None:
            values[name] = value
        newest = dict(list(values.items())[-MAX_VALUES:])
        self._cache.put(key, msgspec.msgpack.encode(newest), self._clock.now_ms())

    def _values(self, key: str) -> dict[str, Any]:
        found = self._cache.get(key, self._clock.now_ms())
        if found is None:
            return {}
        try:
            return msgspec.msgpack.decode(found.value, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return {}  # a damaged value of the cache is a miss


def value_queries(store: ValueStore) -> dict[str, QueryHandler]:
    """Return the handlers for agents: `values.get` {scope, name} → {value}, `values.put` {scope, name, value} → {}."""

    async def get(body: dict[str, Any]) -> dict[str, Any]:
        return {"value": store.get(body["scope"], body["name"])}

    async def put(body: dict[str, Any]) -> dict[str, Any]:
        store.put(body["scope"], body["name"], body["value"])
        return {}

    return dict(zip(VALUE_QUERIES, (get, put), strict=True))


VALUE_QUERIES = ("values.get", "values.put")

VALUES = StorePart(
    name="capability_values",
    label=cache.CACHE.label,
    shares=cache.CACHE.name,
    schema=cache.SCHEMA,
    open=lambda database, clock: ValueStore(CacheStore(database), clock),
    queries=VALUE_QUERIES,
    is_disposable=cache.CACHE.is_disposable,
    handlers=value_queries,
)


def _key(scope: list[str]) -> str:
    # Hashed: the names of users and sessions come from outside and may hold any separator.
    return f"values:{content_hash(msgspec.json.encode(scope))}"
