"""Keeps the sessions of the library's user in the store that the settings name.

Systems on this machine and on its cluster use the same store, so that a session is found wherever it was used.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from runtime.codebase.knowledge.earlier_answers import EARLIER_ANSWERS
from runtime.errors import StateStorageError
from runtime.memory.sessions import SESSIONS
from runtime.primitives.clock import SystemClock
from runtime.settings import Settings, open_state_dir
from runtime.store.opening import open_store, store_queries
from runtime.store.options import store_options
from serve.library.backend import Asked
from serve.session_views import SessionViews

log = logging.getLogger(__name__)


class StoredSessions:
    """Keeps the sessions of one user. The id of a session is the name that the user gave it."""

    def __init__(self, settings: Settings, user_id: str) -> None:
        self._settings = settings
        self._user_id = user_id
        options = store_options(settings)
        self._views = SessionViews(self._ask, options, settings.store.retention_days, lambda _, name: name)

    async def used_by(self, asked: Asked) -> None:
        """Record that a question uses a session. Memory is optional: a failure is logged."""
        name = asked.session
        if name is None:
            return
        try:
            await self._ask("session.open", {"user_id": self._user_id, "name": name, "session_id": name})
        except StateStorageError as error:
            log.warning("library.session_not_opened", extra={"error": error.message})

    async def newest(self, limit: int) -> list[dict[str, Any]]:
        """Return the newest sessions of the user."""
        return (await self._views.listed(self._user_id, limit, None))[0]

    async def shown(self, name: str, limit: int) -> dict[str, Any]:
        """Return the newest turns of a session. Raises UnknownNameError."""
        return await self._views.shown(self._user_id, name, limit)

    async def delete(self, name: str) -> dict[str, Any]:
        """Delete a session. Raises UnknownNameError, and RunStateError while a run of it is under way."""
        return await self._views.delete(self._user_id, name)

    async def _ask(self, type_: str, body: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._answered, type_, body)

    def _answered(self, type_: str, body: dict[str, Any]) -> dict[str, Any]:
        open_state_dir(self._settings.state_dir)
        stores = open_store(store_options(self._settings), SystemClock())

        async def asked() -> dict[str, Any]:
            return await store_queries((SESSIONS, EARLIER_ANSWERS), stores.part)[type_](body)

        try:
            return asyncio.run(asked())
        finally:
            stores.close()
