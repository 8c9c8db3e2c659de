"""Registers, lists, shows and deletes the sessions of a caller, over the store behind the bus."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.errors import JeevesError
from serve.http.answering_runs import RunSystem

if TYPE_CHECKING:
    from serve.http.chat_completions.conversation import Conversation

QUERY_TIMEOUT_S = 10.0

log = logging.getLogger(__name__)


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


async def _tried(runs: RunSystem, type_: str, body: dict[str, Any]) -> None:
    try:
        await runs.query(type_, body, QUERY_TIMEOUT_S)
    except JeevesError as error:
        log.warning("http.session_not_opened", extra={"query": type_, "error": error.message})
