"""Gives hooks values that outlive a run, each capability, user and session apart from the others."""

from __future__ import annotations

from typing import Any

from runtime.bus.queries import DEFAULT_QUERY_TIMEOUT_S, QueryClient
from runtime.errors import InputError, NoHandlerError
from runtime.memory.capability_values import VALUE_QUERIES
from runtime.primitives.plain_json import plain_json

MAX_NAME_CHARS = 128
MAX_VALUE_BYTES = 65_536

# Queries by which a hook could reach what others keep; a capability may declare that it makes those of the second kind.
_OWN = VALUE_QUERIES
_DECLARED = ("session.", "memory.", "journal.")


class Memory:
    """Keeps values by name in one scope; the newest 64 of them, for as long as the cache keeps what is used."""

    def __init__(self, queries: QueryClient, scope: list[str] | None) -> None:
        self._queries = queries
        self._scope = scope

    async def get(self, name: str) -> Any:
        """Return a value, or None if there is none; outside a session, session memory has none."""
        if self._scope is None:
            return None
        return (await self._queries.query("values.get", {"scope": self._scope, "name": _checked(name)}))["value"]

    async def put(self, name: str, value: Any) -> None:
        """Keep a value of at most 64 KiB of JSON in place of an earlier one; None deletes it. Raises InputError."""
        if self._scope is None:
            raise InputError(f"'{name!s:.40}' cannot be kept: the run belongs to no session")
        plain = plain_json(value, MAX_VALUE_BYTES, f"value '{name!s:.40}'")
        await self._queries.query("values.put", {"scope": self._scope, "name": _checked(name), "value": plain})


class HookQueries:
    """Passes on the queries of a capability's hooks, but those that reach what others keep. `declared`: prefixes."""

    def __init__(self, queries: QueryClient, capability: str, declared: tuple[str, ...]) -> None:
        self._queries = queries
        self._capability = capability
        self._refused = tuple(prefix for prefix in (*_OWN, *_DECLARED) if prefix in _OWN or prefix not in declared)

    async def query(
        self, type_: str, body: dict[str, Any], timeout_s: float = DEFAULT_QUERY_TIMEOUT_S
    ) -> dict[str, Any]:
        """Return the handler's answer. Raises NoHandlerError for queries that this capability may not make."""
        if type_.startswith(self._refused):
            raise NoHandlerError(
                f"capability '{self._capability}' may not ask '{type_}'; use context.session and context.cache, or "
                "declare it in `queries`",
                type=type_,
            )
        return await self._queries.query(type_, body, timeout_s)


def _checked(name: str) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS or not name.isprintable():
        raise InputError(f"the name of a value is 1 to {MAX_NAME_CHARS} printable characters, not {name!r:.80}")
    return name
