"""Returns and deletes the sessions of a principal, over the store of sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from runtime.errors import InputError, RunStateError, UnknownNameError
from runtime.memory.owned_sessions import OwnedSession, SessionContents, ShownSession
from runtime.memory.sessions import is_session_id
from runtime.store.options import StoreOptions
from serve.run_logs import unfinished_runs

# Asks a query of the store: its type and body.
AskStore = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class SessionViews:
    """Shows and deletes the sessions of principals. `store`: where the run logs are, whose runs are not deleted.

    `derived_id`: user, name → the id of a session that is older than the register of owners.
    """

    def __init__(
        self, ask: AskStore, store: StoreOptions, retention_days: float | None, derived_id: Callable[[str, str], str]
    ) -> None:
        self._ask = ask
        self._store = store
        self._retention_days = retention_days
        self._derived_id = derived_id

    async def listed(self, user_id: str, limit: int, before: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """Return a page of a user's sessions, and the value of `before` with which the list goes on.

        Raises InputError for a `before` that no page gave.
        """
        body = {"user_id": user_id, "limit": limit, "before": None if before is None else _place_of(before)}
        answer = await self._ask("session.list", body)
        found = msgspec.convert(answer["sessions"], list[OwnedSession])
        following = _written(found[-1]) if len(found) == limit else None
        return [_described(each) for each in found], following

    async def shown(self, user_id: str, name: str, limit: int) -> dict[str, Any]:
        """Return the newest turns of a user's session. Raises UnknownNameError, also for that of another user."""
        answer = await self._ask("session.show", {**self._named(user_id, name), "limit": limit})
        session = msgspec.convert(answer["session"], ShownSession | None)
        if session is None:
            raise _unknown(name)
        told: dict[str, Any] = {"session_id": name, **msgspec.to_builtins(session)}
        return told

    async def delete(self, user_id: str, name: str) -> dict[str, Any]:
        """Delete a user's session, and return what was deleted and what stays.

        Raises UnknownNameError, also for that of another user and the second time, and RunStateError while a run of
        the session is under way, which would begin it anew.
        """
        named = self._named(user_id, name)
        contents = msgspec.convert(await self._ask("session.contents", named), SessionContents)
        ids = contents.session_ids
        if not ids:
            raise _unknown(name)
        if running := await asyncio.to_thread(unfinished_runs, self._store, user_id, ids):
            told = (
                f"run {running[0]} of session {name!r} is under way; cancel it or let it end, then delete the session"
            )
            raise RunStateError(told, run_id=running[0])
        # The turns name the repositories of the answers, and go last: what fails half-way can be asked for again.
        about = {"repos": contents.repos, "session_ids": ids}
        forgotten = await self._ask("memory.forget_answers", about)
        deleted = msgspec.convert(await self._ask("session.delete", named), SessionContents)
        return {
            "session_id": name,
            "turns": deleted.turns,
            "states": deleted.states,
            "answers": forgotten["answers"],
            "run_logs": _retention(self._retention_days),
        }

    def _named(self, user_id: str, name: str) -> dict[str, Any]:
        """Return the arguments by which the store finds sessions. Raises UnknownNameError for no name."""
        if not is_session_id(name):
            raise _unknown(name)
        return {"user_id": user_id, "name": name, "derived_id": self._derived_id(user_id, name)}


def _unknown(name: str) -> UnknownNameError:
    return UnknownNameError(f"no session of yours is named {name[:128]!r}", name=name[:128], known=[])


def _described(session: OwnedSession) -> dict[str, Any]:
    return {"session_id": session.name, "opened_at_ms": session.opened_at_ms, "used_at_ms": session.used_at_ms}


def _retention(days: float | None) -> str:
    """Return what happens to the logs of the session's runs."""
    if days is None:
        return "kept: store.retention_days is unlimited; an operator deletes them with jeeves gc --older-than"
    return f"kept, with question and answer, until jeeves gc deletes runs that ended more than {days:g} days ago"


def _written(session: OwnedSession) -> str:
    return f"{session.opened_at_ms}~{session.name}"


def _place_of(before: str) -> tuple[int, str]:
    """Return the beginning and the name of the session before which a page begins. Raises InputError."""
    opened_ms, _, name = before.partition("~")
    if not (opened_ms.isascii() and opened_ms.isdigit() and len(opened_ms) <= 15 and is_session_id(name)):
        raise InputError(f"before is {before[:100]!r}, which no page of sessions gave; see its Link header")
    return int(opened_ms), name
