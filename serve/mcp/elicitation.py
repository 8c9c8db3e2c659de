"""Asks the person at a client, where the client offers that.

The model that calls the tools cannot answer. The question belongs to the call that is under way, which a context
variable carries to where it is asked. Since the protocol of 2026-07-28 a server sends no requests: the call ends with
the question, and the client sends it again with the answer. So a question must come before what it decides, and what
was done before it must stand being repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import is_version_at_least

from runtime.primitives.visible_text import visible

MAX_QUESTION_CHARS = 4_000
WITHOUT_REQUESTS = "2026-07-28"

_AGREE = {
    "type": "object",
    "properties": {"agree": {"type": "boolean", "title": "Agree"}},
    "required": ["agree"],
}
_ADVISE = {
    "type": "object",
    "properties": {
        "go_on": {"type": "boolean", "title": "Try again"},
        "advice": {"type": "string", "title": "How it should go on", "maxLength": 4_000},
    },
    "required": ["go_on"],
}


class Advice(NamedTuple):
    """Holds what a person said to a session that cannot go on by itself."""

    goes_on: bool
    text: str


class QuestionOpenError(Exception):
    """Ends a call that has to be sent again with the answer to a question."""

    def __init__(self, key: str, message: str, schema: dict[str, Any]) -> None:
        super().__init__(message)
        parameters = ElicitRequestFormParams(message=message, requested_schema=schema)
        self.result = InputRequiredResult(input_requests={key: ElicitRequest(params=parameters)})


class _Asked(NamedTuple):
    session: ServerSession
    request_id: Any
    responses: Mapping[str, Any]


_CURRENT: ContextVar[_Asked | None] = ContextVar("mcp_call", default=None)


@contextmanager
def asking(session: ServerSession, request_id: Any, responses: Mapping[str, Any] | None) -> Iterator[None]:
    """Let what a call does within the block ask the person at its client; `responses` came with the call."""
    token = _CURRENT.set(_Asked(session, request_id, responses or {}))
    try:
        yield
    finally:
        _CURRENT.reset(token)


async def confirm(question: str) -> bool | None:
    """Return whether the person agrees; None where the client cannot ask, or the person gave no answer.

    A question that is too long to be shown as a whole is not asked: nobody agrees to what they did not see.
    """
    if len(question) > MAX_QUESTION_CHARS:
        return None
    content = await _form(question, _AGREE)
    return None if content is None else content.get("agree") is True


async def advice(question: str) -> Advice | None:
    """Return what the person advises; None where the client cannot ask, or the person gave no answer."""
    content = await _form(question, _ADVISE)
    if content is None or not isinstance(content.get("go_on"), bool):
        return None
    return Advice(content["go_on"], str(content.get("advice") or ""))


async def _form(question: str, schema: dict[str, Any]) -> Mapping[str, Any] | None:
    current = _CURRENT.get()
    capabilities = None if current is None else current.session.client_capabilities
    if current is None or capabilities is None or capabilities.elicitation is None:
        return None
    text = visible(question[:MAX_QUESTION_CHARS])
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if is_version_at_least(current.session.protocol_version, WITHOUT_REQUESTS):
        if key not in current.responses:
            raise QuestionOpenError(key, text, schema)
        answer = current.responses[key]
        return answer.content if isinstance(answer, ElicitResult) and answer.action == "accept" else None
    try:
        given = await current.session.elicit_form(text, schema, current.request_id)
    except (MCPError, NoBackChannelError):
        # The client offered what it cannot do; then the person answers on the command line.
        return None
    return given.content if given.action == "accept" else None
