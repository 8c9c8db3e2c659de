"""Returns and deletes the sessions of a caller, over the store behind the bus."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.errors import InputError, JeevesError, RunStateError, UnknownNameError
from runtime.memory.owned_sessions import OwnedSession, SessionContents, ShownSession
from runtime.memory.sessions import is_session_id
from runtime.primitives.hashing import content_hash
from runtime.store.options import StoreOptions
from serve.http.access.callers import Caller
from serve.http.answering_runs import RunSystem
from serve.run_logs import unfinished_runs

if TYPE_CHECKING:
    from serve.http.chat_completions.conversation import Conversation

QUERY_TIMEOUT_S = 10.0

log = logging.getLogger(__name__)


def kept_session_id(user_id: str, session_id: str) -> str:
    """Return the id under which a caller's session is kept: others who choose the same id have another one."""
    # No id of a session holds a line feed, so that no two pairs are written alike.
    both = f"{user_id}\n{session_id}"
    return f"http-{content_hash(both.encode())}"


async def open_session(runs: RunSystem, user_id: str, name: str, session_id: str) -> None:
    """Record that a caller uses a session. Memory is optional: a failure is logged, and the question is answered."""
    await _tried(runs, "session.open", {"user_id": user_id, "name": name, "session_id": session_id})


async def continue_session(runs: RunSystem, user_id: str, conversation: Conversation) -> None:
    """Prepare the session of a question from that of the messages before it. A failure is logged."""
    body = {
        "user_id": user_id,
        "name": conversation.name,
        "session_id": conversation.session_id,
        "earlier_id": conversation.earlier_id,
        "told": msgspec.to_builtins(conversation.told),
    }
    await _tried(runs, "session.continue", body)


class Sessions:
    """Shows and deletes the sessions of callers. `store`: where the run logs are, whose runs are not deleted."""

    def __init__(self, runs: RunSystem, store: StoreOptions, retention_days: float | None) -> None:
        self._runs = runs
        self._store = store
        self._retention_days = retention_days

    async def listed(self, caller: Caller, limit: int, before: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """Return a page of a caller's sessions, and the value of `before` with which the list goes on.

        Raises InputError for a `before` that no page gave.
        """
        body = {"user_id": caller.user_id, "limit": limit, "before": None if before is None else _place_of(before)}
        answer = await self._runs.query("session.list", body, QUERY_TIMEOUT_S)
        found = msgspec.convert(answer["sessions"], list[OwnedSession])
        following = _written(found[-1]) if len(found) == limit else None
        return [_described(each) for each in found], following

    async def shown(self, caller: Caller, name: str, limit: int) -> dict[str, Any]:
        """Return the newest turns of a caller's session. Raises UnknownNameError, also for that of another caller."""
        answer = await self._runs.query("session.show", {**_named(caller, name), "limit": limit}, QUERY_TIMEOUT_S)
        session = msgspec.convert(answer["session"], ShownSession | None)
        if session is None:
            raise _unknown(name)
        told: dict[str, Any] = {"session_id": name, **msgspec.to_builtins(session)}
        return told

    async def delete(self, caller: Caller, name: str) -> dict[str, Any]:
        """Delete a caller's session, and return what was deleted and what stays.

        Raises UnknownNameError, also for that of another caller and the second time, and RunStateError while a run of
        the session is under way, which would begin it anew.
        """
        named = _named(caller, name)
        contents = msgspec.convert(await self._runs.query("session.contents", named, QUERY_TIMEOUT_S), SessionContents)
        ids = contents.session_ids
        if not ids:
            raise _unknown(name)
        if running := await asyncio.to_thread(unfinished_runs, self._store, caller.user_id, ids):
            told = (
                f"run {running[0]} of session {name!r} is under way; cancel it or let it end, then delete the session"
            )
            raise RunStateError(told, run_id=running[0])
        # The turns name the repositories of the answers, and go last: what fails half-way can be asked for again.
        about = {"repos": contents.repos, "session_ids": ids}
        forgotten = await self._runs.query("memory.forget_answers", about, QUERY_TIMEOUT_S)
        deleted = msgspec.convert(await self._runs.query("session.delete", named, QUERY_TIMEOUT_S), SessionContents)
        return {
            "session_id": name,
            "turns": deleted.turns,
            "states": deleted.states,
            "answers": forgotten["answers"],
            "run_logs": _retention(self._retention_days),
        }


def _named(caller: Caller, name: str) -> dict[str, Any]:
    """Return the arguments by which the store finds a caller's sessions. Raises UnknownNameError for no name."""
    if not is_session_id(name):
        raise _unknown(name)
    return {"user_id": caller.user_id, "name": name, "derived_id": kept_session_id(caller.user_id, name)}


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


async def _tried(runs: RunSystem, type_: str, body: dict[str, Any]) -> None:
    try:
        await runs.query(type_, body, QUERY_TIMEOUT_S)
    except JeevesError as error:
        log.warning("http.session_not_opened", extra={"query": type_, "error": error.message})
