"""Accesses the journal of effects by queries: the store keeps it, agents in other processes use it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.bus.queries import QueryClient, QueryHandler
from runtime.effects.journal import BEGIN, DONE, FIND, INTEND, EffectKey, Journal, JournalRecord
from runtime.errors import (
    PASSING_PROBLEMS,
    BusError,
    CircuitOpenError,
    HandlerLostError,
    JeevesError,
    QueryTimeoutError,
    StateStorageError,
)
from runtime.primitives.clock import Clock
from runtime.primitives.ids import StageKey

RETRY_S = 0.5

log = logging.getLogger(__name__)


class QueryJournal:
    """Uses the journal behind `JOURNAL_QUERIES`; every query is idempotent and may be asked twice.

    A journal that cannot be reached or written right now is asked again, as long as the stage may take: failing the
    stage would lose its work.
    """

    def __init__(self, queries: QueryClient, clock: Clock, patience_s: float | None = None) -> None:
        """Set up the client; with `patience_s` each query is asked once, for that long, and its error is raised."""
        self._queries = queries
        self._clock = clock
        self._patience_s = patience_s

    async def begin(self, key: StageKey, by: str) -> bool:
        answer = await self._ask(BEGIN, {"key": msgspec.to_builtins(key), "by": by})
        return bool(answer["may_begin"])

    async def find(self, key: EffectKey) -> JournalRecord | None:
        answer = await self._ask(FIND, {"key": msgspec.to_builtins(key)})
        return JournalRecord(key, answer["attempt"], answer["result"]) if answer["is_known"] else None

    async def intend(self, key: EffectKey, attempt: int) -> None:
        await self._ask(INTEND, {"key": msgspec.to_builtins(key), "attempt": attempt})

    async def done(self, key: EffectKey, result: bytes) -> None:
        await self._ask(DONE, {"key": msgspec.to_builtins(key), "result": result})

    async def _ask(self, type_: str, body: dict[str, Any]) -> dict[str, Any]:
        if self._patience_s is not None:
            return await self._queries.query(type_, body, self._patience_s)
        while True:
            try:
                return await self._queries.query(type_, body)
            except (BusError, StateStorageError) as error:
                if not _passes(error):
                    raise
                log.warning("journal.asked_again", extra={"type": type_, "reason": error.message})
            await self._clock.sleep(RETRY_S)


def _passes(error: JeevesError) -> bool:
    if isinstance(error, StateStorageError):
        return error.values.get("problem") in PASSING_PROBLEMS
    if isinstance(error, HandlerLostError) and "deaths" in error.values:
        return False  # this very query kills the store
    return isinstance(error, CircuitOpenError | HandlerLostError | QueryTimeoutError) or type(error) is BusError


def journal_queries(journal: Journal) -> Mapping[str, QueryHandler]:
    """Return handlers that answer for `journal`; they write in threads and do not block the event loop."""

    async def begin(body: dict[str, Any]) -> dict[str, Any]:
        key = msgspec.convert(body["key"], StageKey)
        return {"may_begin": await asyncio.to_thread(journal.begin, key, str(body["by"]))}

    async def find(body: dict[str, Any]) -> dict[str, Any]:
        record = await asyncio.to_thread(journal.find, msgspec.convert(body["key"], EffectKey))
        if record is None:
            return {"is_known": False}
        return {"is_known": True, "attempt": record.attempt, "result": record.result}

    async def intend(body: dict[str, Any]) -> dict[str, Any]:
        await asyncio.to_thread(journal.intend, msgspec.convert(body["key"], EffectKey), int(body["attempt"]))
        return {}

    async def done(body: dict[str, Any]) -> dict[str, Any]:
        await asyncio.to_thread(journal.done, msgspec.convert(body["key"], EffectKey), body["result"])
        return {}

    return {BEGIN: begin, FIND: find, INTEND: intend, DONE: done}
