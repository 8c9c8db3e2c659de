"""Reads runs for callers, lists of them or one with its envelope, under the names that callers know."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.store.run_log import RunPlace
from serve.asked_runs import AskedRun, asked_runs
from serve.http.access.callers import Caller
from serve.http.access.listed_runs import listed_runs
from serve.http.answering.service import Service
from serve.http.answering.session_views import told_session_ids


async def run_list(
    service: Service, caller: Caller, limit: int, principal: str | None, before: RunPlace | None
) -> list[AskedRun]:
    """Return the newest runs that a caller may see, as `listed_runs` does, with what they were asked."""

    def look() -> list[AskedRun]:
        store = service.spec.store
        return asked_runs(store, listed_runs(store, limit, caller, principal, before))

    found = await asyncio.to_thread(look)
    told = await told_session_ids(service.runs, (each.session_id for each in found))
    return [msgspec.structs.replace(each, session_id=told.get(each.session_id, "")) for each in found]


async def run_view(service: Service, caller: Caller, run_id: RunId) -> tuple[Envelope, dict[str, Any]]:
    """Return the envelope of a run, and as it is shown. Raises UnknownNameError."""
    envelope = await service.envelope(run_id, caller)
    shown: dict[str, Any] = service.paths.value(msgspec.to_builtins(envelope))
    if (session_id := envelope.request.session_id) is not None:
        shown["request"]["session_id"] = (await told_session_ids(service.runs, [session_id]))[session_id]
    return envelope, shown
