"""Records the sessions of callers, over the store behind the bus."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from runtime.errors import JeevesError
from runtime.memory.owned_sessions import SessionOwner, Turn
from runtime.primitives.hashing import content_hash
from runtime.store.options import StoreOptions
from serve.http.answering.answering_runs import RunSystem
from serve.session_views import SessionViews

QUERY_TIMEOUT_S = 10.0

log = logging.getLogger(__name__)


class Conversation(NamedTuple):
    """Locates a question in its conversation.

    `name`: what the caller knows the whole conversation by; `session_id`: of this question; `earlier_id`: of the one
    before; `told`: the turns before it as the caller has them.
    """

    name: str
    session_id: str
    earlier_id: str | None
    told: list[Turn]


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


async def told_session_ids(runs: RunSystem, session_ids: Iterable[str]) -> dict[str, str]:
    """Return by kept session id the name by which its caller knows the session.

    An id whose session was deleted, or is older than the register of owners, stands for itself; so does each one if the
    store does not answer, which is logged.
    """
    ids = sorted({each for each in session_ids if each})
    if not ids:
        return {}
    answer = await _tried(runs, "session.owners", {"session_ids": ids})
    owners = msgspec.convert(answer.get("owners", {}), dict[str, SessionOwner])
    return {each: owners[each].name if each in owners else each for each in ids}


def sessions_of(runs: RunSystem, store: StoreOptions, retention_days: float | None) -> SessionViews:
    """Return the views of callers' sessions over the store behind the bus."""

    async def ask(type_: str, body: dict[str, Any]) -> dict[str, Any]:
        return await runs.query(type_, body, QUERY_TIMEOUT_S)

    return SessionViews(ask, store, retention_days, kept_session_id)


async def _tried(runs: RunSystem, type_: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of the store of sessions; an empty one, and a line in the log, if there is none."""
    try:
        return await runs.query(type_, body, QUERY_TIMEOUT_S)
    except JeevesError as error:
        log.warning("http.session_not_opened", extra={"query": type_, "error": error.message})
        return {}
