"""The journal of effects over queries: kept by the store, asked by agents in other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.ids import StageKey
from runtime.journal import EffectKey, Journal, JournalRecord
from runtime.ports import QueryHandler, QueryPort

BEGIN, FIND, INTEND, DONE = "journal.begin", "journal.find", "journal.intend", "journal.done"
JOURNAL_QUERIES = (BEGIN, FIND, INTEND, DONE)


class QueryJournal:
    """The journal of whoever answers `JOURNAL_QUERIES`; each question may be asked twice, which does no harm."""

    def __init__(self, queries: QueryPort) -> None:
        self._queries = queries

    async def begin(self, key: StageKey, by: str) -> bool:
        answer = await self._queries.query(BEGIN, {"key": msgspec.to_builtins(key), "by": by})
        return bool(answer["may_begin"])

    async def find(self, key: EffectKey) -> JournalRecord | None:
        answer = await self._queries.query(FIND, {"key": msgspec.to_builtins(key)})
        return JournalRecord(key, answer["attempt"], answer["result"]) if answer["is_known"] else None

    async def intend(self, key: EffectKey, attempt: int) -> None:
        await self._queries.query(INTEND, {"key": msgspec.to_builtins(key), "attempt": attempt})

    async def done(self, key: EffectKey, result: bytes) -> None:
        await self._queries.query(DONE, {"key": msgspec.to_builtins(key), "result": result})


def journal_queries(journal: Journal) -> Mapping[str, QueryHandler]:
    """Handlers that answer for `journal`; writing does not hold up the event loop."""

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
