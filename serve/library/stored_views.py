"""Answers what the store alone knows: a user's runs and sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from runtime.primitives.ids import RunId
from runtime.settings import Settings
from runtime.supervision.commands import ClientEvent
from serve.asked_runs import AskedRun
from serve.library.stored_runs import StoredRuns
from serve.library.stored_sessions import StoredSessions


class StoredViews:
    """Reads and deletes what a user has in the store, whoever drives the runs."""

    def __init__(self, settings: Settings, user_id: str) -> None:
        self._settings = settings
        self._user_id = user_id
        self._stored = StoredRuns(settings, user_id)
        self._sessions = StoredSessions(settings, user_id)

    async def stage_output(self, run_id: RunId, seq: int) -> dict[str, Any]:
        return await self._stored.stage_output(run_id, seq)

    def _with_outputs(
        self, run_id: RunId, events: AsyncGenerator[ClientEvent, None], outputs: bool
    ) -> AsyncGenerator[ClientEvent, None]:
        """Return the events of a run, with the outputs of its stages where they are wanted."""
        return self._stored.outputs_of(run_id).with_outputs(events) if outputs else events

    async def runs(self, limit: int, principal: str | None) -> list[AskedRun]:
        return await self._stored.newest(limit, principal)

    async def sessions(self, limit: int) -> list[dict[str, Any]]:
        return await self._sessions.newest(limit)

    async def session(self, session_id: str, limit: int) -> dict[str, Any]:
        return await self._sessions.shown(session_id, limit)

    async def delete_session(self, session_id: str) -> dict[str, Any]:
        return await self._sessions.delete(session_id)
