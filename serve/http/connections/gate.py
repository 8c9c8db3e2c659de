"""Admits whole requests to the application, for our own hosts and from no other site's page.

A page that another site has open in a browser here may reach the loopback interface, under a name of its own that it
points there (DNS rebinding). So the Host must be one of ours, and an Origin must be that Host. No CORS header is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.http.connections.body_time import too_slow
from serve.http.connections.cancelling import cancel_until_done
from serve.http.connections.http_limits import HttpLimits
from serve.http.connections.sent_answer import SentAnswer, without
from serve.http.documents.problems import RefusedError
from serve.http.documents.request_bodies import CHECKED_HERE_BYTES, FORM_TYPE, JSON_TYPE, check_form, check_json

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
SHUTTING_DOWN = "shutting_down"
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})

# After these the rest of the body may still be on its way.
_CLOSE = {"connection": "close"}
_SHUTTING_DOWN = {**_CLOSE, "retry-after": "5"}
# How long a request that shutting down ends may take to be given up.
GIVEN_UP_WITHIN_S = 1.0

MethodsOf = Callable[[Scope], Sequence[str]]
TakesForm = Callable[[Scope], bool]


class Admission(Protocol):
    """Decides who may use which route, before anything of the body is read."""

    async def admit(self, scope: Scope) -> Any:
        """Return what the request was admitted with: None, or what may end while it is answered.

        Raises RefusedError.
        """

    async def until_ended(self, admitted: Any) -> RefusedError:
        """Wait until the admission of a request ends, and return the refusal that says so."""


class Gate:
    """Wraps the application. `hosts`: names beside those of the loopback interface; `methods_of`: those of a path.

    `shown_problem`: what callers are shown of the body of a problem document; `closing`: once it is set, what is under
    way is refused with 503; `takes_form`: which requests carry a form instead of JSON.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: HttpLimits,
        hosts: Collection[str],
        methods_of: MethodsOf,
        admission: Admission,
        shown_problem: Callable[[bytes], bytes],
        closing: asyncio.Event,
        takes_form: TakesForm,
    ) -> None:
        self._app = app
        self._takes_form = takes_form
        self._closing = closing
        self._admission = admission
        self._shown_problem = shown_problem
        self._limits = limits
        # One at a time: several would take the processor from the event loop in turns.
        self._checking = asyncio.Semaphore(1)
        self._hosts = LOOPBACK_HOSTS | {host.lower() for host in hosts}
        self._methods_of = methods_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = SentAnswer(scope, send, self._shown_problem)
        handling = asyncio.ensure_future(self._handled(scope, receive, answer))
        closing = asyncio.ensure_future(self._closing.wait())
        is_closing = False
        try:
            await asyncio.wait({handling, closing}, return_when=asyncio.FIRST_COMPLETED)
            is_closing = closing.done()
        finally:
            closing.cancel()
            if not handling.done():
                # An index that is being made for a run is not waited for.
                await cancel_until_done(handling, GIVEN_UP_WITHIN_S if is_closing else None)
        if handling.done() and not handling.cancelled():
            handling.result()
        elif is_closing:
            await answer.end(shutting_down(answer.run_id), scope, receive)

    async def _handled(self, scope: Scope, receive: Receive, answer: SentAnswer) -> None:
        """Admit a request, and have the application answer it."""
        try:
            check_caller(scope, self._hosts)
            if scope["method"] == "OPTIONS" and (methods := self._methods_of(scope)):
                await answer.options(methods)
                return
            admitted = await self._admission.admit(scope)
            self._check_method(scope)
            body = await self._whole_body(scope, receive)
        except RefusedError as refused:
            await self._refuse(refused, scope, receive, answer)
            return
        except _ClientGone:
            return
        if scope["method"] == "HEAD" and "GET" in self._methods_of(scope):
            scope = {**scope, "method": "GET", "headers": without(scope["headers"], b"accept")}
        ended = None if admitted is None else asyncio.ensure_future(self._admission.until_ended(admitted))
        try:
            await self._answered(scope, body, receive, answer, ended)
        finally:
            if ended is not None:
                ended.cancel()

    async def _answered(
        self,
        scope: Scope,
        body: bytes,
        receive: Receive,
        answer: SentAnswer,
        ended: asyncio.Future[RefusedError] | None,
    ) -> None:
        """Call the application with a whole request, and cancel it when the client is gone or its admission ends."""
        gone = asyncio.ensure_future(_until_gone(receive))
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_whole() -> Message:
            if parts:
                return parts.pop()
            await asyncio.shield(gone)
            return {"type": "http.disconnect"}

        answering = asyncio.ensure_future(self._app(scope, receive_whole, answer))
        ends: set[asyncio.Future[Any]] = {answering, gone} if ended is None else {answering, gone, ended}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not answering.done():
                await cancel_until_done(answering)
        if not answering.cancelled():
            answering.result()
        elif ended is not None and ended.done():
            await answer.end(ended.result(), scope, receive)

    async def _refuse(self, refused: RefusedError, scope: Scope, receive: Receive, answer: Send) -> None:
        """Send a refusal, and read on for a moment before the connection closes."""

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body" and refused.headers.get("connection") == "close":
                await answer({**message, "more_body": True})
                is_large = refused.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                await self._drain(receive, is_large)
                message = {"type": "http.response.body", "body": b""}
            await answer(message)

        await refused.response()(scope, receive, send)

    async def _drain(self, receive: Receive, is_large: bool) -> None:
        left = self._limits.drain_bytes if is_large else self._limits.linger_bytes
        try:
            async with asyncio.timeout(self._limits.drain_s if is_large else self._limits.linger_s):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            return

    def _check_method(self, scope: Scope) -> None:
        """Raise RefusedError for a method that a path does not have, before its body is read."""
        methods = self._methods_of(scope)
        if methods and scope["method"] not in methods:
            detail, told = f"there is no {scope['method']} here; see Allow", {"allow": ", ".join(methods), **_CLOSE}
            raise RefusedError(405, "method_not_allowed", detail, told)

    async def _whole_body(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of a request. Raises RefusedError if it is too large, too slow or no JSON."""
        length = self._length_of(scope)
        if length == 0:
            return b""
        seconds = self._limits.body_timeout_s
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                while len(body) < length:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientGone
                    body += message.get("body", b"")
                    if not message.get("more_body", False):
                        break
        except TimeoutError as error:
            raise too_slow(len(body), length, seconds) from error
        await self._check_body(bytes(body), self._takes_form(scope))
        return bytes(body)

    async def _check_body(self, body: bytes, is_form: bool) -> None:
        """Raise RefusedError for a body that is no form, or no JSON; others are answered while a large one is read."""
        if is_form:
            check_form(body)
        elif len(body) <= CHECKED_HERE_BYTES:
            check_json(body, self._limits.max_json_depth)
        else:
            async with self._checking:
                await asyncio.to_thread(check_json, body, self._limits.max_json_depth)

    def _length_of(self, scope: Scope) -> int:
        """Return the length of the body. Raises RefusedError for one that is not accepted, before it is read."""
        told, allowed = _values(scope, b"content-length"), self._limits.max_body_bytes
        has_body = scope["method"] in BODY_METHODS
        # Without either header a request has no body (RFC 9112, 6.3).
        if _values(scope, b"transfer-encoding"):
            raise RefusedError(411, "length_required", "send the body with a Content-Length", _CLOSE)
        length = int(told[0]) if told else 0
        if length > allowed:
            detail = f"the body has {length} bytes, at most {allowed} are allowed"
            raise RefusedError(413, "body_too_large", detail, _CLOSE)
        if length and not has_body:
            raise RefusedError(400, "bad_request", f"a {scope['method']} request has no body", _CLOSE)
        kind = b"".join(_values(scope, b"content-type")).decode("latin-1").partition(";")[0].strip().lower()
        taken = FORM_TYPE if self._takes_form(scope) else JSON_TYPE
        if length and kind != taken:
            detail = f"the body is {kind[:80] or 'of no type'}; send {taken}"
            raise RefusedError(415, "unsupported_media_type", detail, _CLOSE)
        return length


class _ClientGone(Exception):
    """Ends a request whose client has closed the connection before all of it was here."""


def shutting_down(run_id: str | None) -> RefusedError:
    """Return the refusal of a request that is under way when the service stops."""
    if run_id is None:
        detail = "the service is shutting down; send the request again, with the same Idempotency-Key if it has one"
    else:
        detail = (
            f"the service is shutting down; run {run_id} goes on when it is up again: ask again with the same"
            f" Idempotency-Key, or GET /api/v1/runs/{run_id}"
        )
    return RefusedError(503, SHUTTING_DOWN, detail, _SHUTTING_DOWN)


def check_caller(scope: Scope, hosts: Collection[str]) -> None:
    """Raise RefusedError unless the Host is one of `hosts` and the Origin, if there is one, is that Host."""
    named = _values(scope, b"host")
    if len(named) != 1:
        raise RefusedError(400, "bad_host", f"send one Host header, not {len(named)}", _CLOSE)
    authority = named[0].decode("latin-1").lower()
    name = _host_name(authority)
    if name not in hosts:
        raise RefusedError(
            421,
            "foreign_host",
            f"the Host {authority[:200]!r} is none of this service; allowed: {', '.join(sorted(hosts))}"
            " (setting http.allowed_hosts)",
            _CLOSE,
        )
    for origin in _values(scope, b"origin"):
        told = origin.decode("latin-1").lower()
        if told not in (f"http://{authority}", f"https://{authority}"):
            detail = f"the page of {told[:200]!r} may not use this service"
            raise RefusedError(403, "foreign_origin", detail, _CLOSE)


def _host_name(authority: str) -> str:
    """Return the name in `host[:port]`, without the brackets of an IPv6 address; empty if it is malformed."""
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port
    except ValueError:
        return ""
    is_plain = parts.netloc == authority and "@" not in authority
    return (parts.hostname or "").removesuffix(".") if is_plain else ""


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for each, value in scope["headers"] if each == name]


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
