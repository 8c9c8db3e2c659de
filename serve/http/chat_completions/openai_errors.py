"""Answers below /v1 in the form of OpenAI's API: errors are {error: {message, type, param, code}}.

Clients of that API retry what the service has already begun: after a bug and after a timeout they are told not to, and
after any error about a run unless their Idempotency-Key finds it again. They cannot leave out their API key either. A
word that is no access token of this service is taken for none; where tokens are required, that is refused. What
resembles a token is checked as one: its holder would be nobody and not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.http.documents.problems import PROBLEM_JSON, members_of
from serve.http.documents.shown_paths import ShownPaths

PREFIX = "/v1/"

# Statuses that clients of OpenAI's API know under another number.
_STATUS = {422: 400}
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
    504: "server_error",
}
_NOT_RETRIED = frozenset({409, 500, 504})
# In any case of letters, in quotes, under another scheme, or without its beginning.
_LIKE_TOKEN = re.compile(rb"jeeves_|[0-9a-f]{16}_[0-9a-f]{16}", re.IGNORECASE)
_PLACE = re.compile(r"body\.([\w.]+): ")


def error_of(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the error of OpenAI's form for the members of a problem document."""
    message = str(members["detail"])
    place = _PLACE.match(message)
    error = {
        "message": message,
        "type": _TYPES.get(members["status"], "invalid_request_error"),
        "param": place[1] if place else None,
        "code": members["code"],
    }
    return {"error": error if "run_id" not in members else {**error, "run_id": members["run_id"]}}


def error_chunk(error: Exception, run_id: str, paths: ShownPaths) -> str:
    """Return the event with which a stream ends that failed."""
    return f"data: {json.dumps(error_of(paths.value(members_of(error, run_id))))}\n\n"


class OpenAiForm:
    """Wraps the service: requests below /v1 may have any API key, and their errors get OpenAI's form."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        headers = [
            (name, value) for name, value in scope["headers"] if name != b"authorization" or _LIKE_TOKEN.search(value)
        ]
        await self._app({**scope, "headers": headers}, receive, _Translated(send, _has_key(scope)))


class _Translated:
    """Sends answers, those that are problem documents in OpenAI's form."""

    def __init__(self, send: Send, has_key: bool) -> None:
        self._send = send
        self._has_key = has_key
        self._problem: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._problem = message
            return
        if self._problem is not None:
            message = await self._begin(self._problem, message)
            self._problem = None
        await self._send(message)

    async def _begin(self, start: Message, message: Message) -> Message:
        """Send the head of a translated problem, and return its body; problems come in one piece."""
        body = message.get("body", b"")
        begins_another_run = False
        if body:
            members = json.loads(body)
            begins_another_run = "run_id" in members and not self._has_key
            body = json.dumps(error_of(members)).encode()
        status = _STATUS.get(start["status"], start["status"])
        replaced = {b"content-type": b"application/json", b"content-length": str(len(body)).encode()}
        headers = [(name, replaced.get(name, value)) for name, value in start["headers"]]
        if status in _NOT_RETRIED or begins_another_run:
            headers.append((b"x-should-retry", b"false"))
        await self._send({**start, "status": status, "headers": headers})
        return {**message, "body": body}


def _is_problem(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(PROBLEM_JSON.encode()) for name, value in start["headers"])


def _has_key(scope: Scope) -> bool:
    return any(name == b"idempotency-key" for name, _ in scope["headers"])
