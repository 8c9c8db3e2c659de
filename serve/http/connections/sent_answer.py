"""Sends the answer to a request, and ends it with a refusal, whether or not it has begun."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from serve.http.access.rate_fields import RATE_FIELDS_STATE
from serve.http.documents.problems import PROBLEM_JSON, RefusedError

RUN_ID_HEADER = b"jeeves-run-id"
# Where a stream that begins leaves what formats the error that ends it.
ERROR_PART_STATE = "error_part"


class SentAnswer:
    """Sends an answer with its run and the caller's rate limits, and without a body if the request was a HEAD."""

    def __init__(self, scope: Scope, send: Send, shown_problem: Callable[[bytes], bytes]) -> None:
        self._state: dict[str, Any] = scope.setdefault("state", {})
        self._send = send
        self._is_head = scope["method"] == "HEAD"
        self._has_begun = False
        self._is_complete = False
        self._shown_problem = shown_problem
        self._problem_start: Message | None = None

    @property
    def run_id(self) -> str | None:
        """The run that the request is about, once there is one."""
        return self._state.get("run_id")

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            message = {**message, "headers": [*message["headers"], *self._added_fields()]}
            if (b"content-type", PROBLEM_JSON.encode()) in message["headers"]:
                self._problem_start = message
                return
        elif self._problem_start is not None:
            message = await self._begin_problem(self._problem_start, message)
        if self._is_head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        self._is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    def _added_fields(self) -> list[tuple[bytes, bytes]]:
        """Return the header fields of every answer: the caller's rate limits, and the run, as far as they are known."""
        run = [] if self.run_id is None else [(RUN_ID_HEADER, str(self.run_id).encode())]
        return [*self._state.get(RATE_FIELDS_STATE, ()), *run]

    async def _begin_problem(self, start: Message, message: Message) -> Message:
        """Send the head of a problem document, whose body comes in one piece, and return that as it is shown."""
        self._problem_start = None
        body = self._shown_problem(message["body"])
        length = (b"content-length", str(len(body)).encode())
        await self._send({**start, "headers": [*without(start["headers"], length[0]), length]})
        return {**message, "body": body}

    async def end(self, refused: RefusedError, scope: Scope, receive: Receive) -> None:
        """Answer with a refusal, or end the stream that has begun with it as its last event."""
        if not self._has_begun:
            await refused.response(self.run_id)(scope, receive, self)
        elif not self._is_complete:
            error_part: Callable[[Exception], str] | None = self._state.get(ERROR_PART_STATE)
            last = b"" if error_part is None else error_part(refused).encode()
            await self({"type": "http.response.body", "body": last})

    async def options(self, methods: Sequence[str]) -> None:
        """Answer which methods a path has."""
        headers = [(b"allow", ", ".join(methods).encode())]
        await self({"type": "http.response.start", "status": 204, "headers": headers})
        await self({"type": "http.response.body", "body": b""})


def without(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[tuple[bytes, bytes]]:
    """Return headers without those of a name."""
    return [(each, value) for each, value in headers if each != name]
