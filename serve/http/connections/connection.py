"""Bounds the head of each HTTP request in time and size, and how long a client may not read.

uvicorn's own protocol waits for a head without end and collects it without bound. Bodies are bounded by
`serve.http.connections.gate` and `body_time`, which answer with a status while the request has none; what is left of
a body behind its answer is waited for no longer than that.
"""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from serve.http.connections.http_limits import HttpLimits
from serve.http.documents.problems import problem_bytes

ABSOLUTE_FORMS = (b"http://", b"https://")


class OpenConnections:
    """Holds the open connections of one server, those first that have waited longest for a whole request."""

    def __init__(self, limits: HttpLimits) -> None:
        self.limits = limits
        self._open: set[BoundedConnection] = set()
        self._incomplete: dict[BoundedConnection, None] = {}

    def protocol(self) -> Any:
        """Return what uvicorn takes for the class of its HTTP protocol."""
        return partial(BoundedConnection, self)

    def opened(self, connection: BoundedConnection) -> None:
        """Add a connection, and close the one that has waited longest if there are too many."""
        self._open.add(connection)
        if len(self._open) > self.limits.max_connections:
            oldest = next(iter(self._incomplete), connection)
            oldest.refuse(503, "overloaded", "too many connections are open; try again", lingers=False)
            self.closed(oldest)
        if connection in self._open:
            self.awaits_request(connection)

    def closed(self, connection: BoundedConnection) -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self._incomplete.pop(connection, None)

    def awaits_request(self, connection: BoundedConnection) -> None:
        """Put a connection last among those without a whole request."""
        self._incomplete.pop(connection, None)
        self._incomplete[connection] = None

    def has_request(self, connection: BoundedConnection) -> None:
        """Record that a connection has a whole request: it is not closed to make room."""
        self._incomplete.pop(connection, None)


class BoundedConnection(HttpToolsProtocol):
    """Speaks HTTP/1.1 on one connection, within the limits of its server."""

    def __init__(self, others: OpenConnections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._others = others
        self._limits = others.limits
        self._in_head = True
        self._head_bytes = 0
        self._is_refused = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._rest_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_head_timer()
        self._others.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_write_timer()
        self._stop_rest_timer()
        self._others.closed(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_ending():
            return
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_ending():
            return
        if self._in_head and self._head_bytes > self._limits.max_head_bytes:
            self._refuse_head(f"the head of the request has more than {self._limits.max_head_bytes} bytes")
        elif self._in_head and self._is_idle():
            self._start_head_timer()

    def on_headers_complete(self) -> None:
        if self._is_ending():
            return
        self._stop_head_timer()
        self._in_head, self._head_bytes = False, 0
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self._limits.max_head_bytes or len(self.headers) > self._limits.max_headers:
            allowed = f"{self._limits.max_head_bytes} bytes and {self._limits.max_headers} headers"
            self._refuse_head(f"the head has {size} bytes in {len(self.headers)} headers; allowed are {allowed}")
            return
        if self.url.lower().startswith(ABSOLUTE_FORMS):
            self._take_apart_url()
        elif not self.url.startswith(b"/"):
            self.refuse(400, "bad_request", "the target of a request is a path, such as /ready")
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._is_ending():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head = True
        self._stop_rest_timer()
        if not self._is_ending():
            self._others.has_request(self)
            super().on_message_complete()

    def on_response_complete(self) -> None:
        was_last = not self.pipeline
        super().on_response_complete()
        if self._is_refused and was_last:
            self.transport.close()
        elif self._is_idle():
            self._others.awaits_request(self)
            if not self._in_head:  # answered before all of its body was here
                self._stop_rest_timer()
                self._rest_timer = self.loop.call_later(self._limits.body_timeout_s, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        self.refuse(400, "bad_request", "this is no HTTP/1.1 request")

    def refuse(self, status: int, code: str, detail: str, lingers: bool = True) -> None:
        """Answer with a problem document, and close the connection.

        Whole requests before the refused one are still answered; the connection then closes without the document.
        """
        if self._is_ending():
            return
        self._stop_head_timer()
        if not self._is_idle():
            if self._awaits_answers():
                self._is_refused = True
                return
            if self.cycle.response_started:
                self.transport.abort()
                return
            self.cycle.disconnected = True  # it is this request whose body is refused
        self.transport.write(problem_bytes(status, HTTPStatus(status).phrase, code, detail))
        self._is_refused = True
        if lingers and self.transport.can_write_eof():
            self.transport.write_eof()
            self.loop.call_later(self._limits.linger_s, self.transport.close)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(self._limits.write_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def _is_ending(self) -> bool:
        """Return whether nothing more is read: the connection closes, or its request was refused."""
        return self._is_refused or self.transport.is_closing()

    def _is_idle(self) -> bool:
        """Return whether no request of this connection is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete and not self.pipeline)

    def _awaits_answers(self) -> bool:
        """Return whether whole requests are to be answered; the last of them then ends the connection."""
        if not self.cycle.more_body:
            self.cycle.keep_alive = False
            return True
        if self.pipeline:
            self.pipeline.popleft()  # the newest request, whose body is refused
            return True
        return False

    def _take_apart_url(self) -> None:
        """Take the host of an absolute target for the Host header, as RFC 9112, section 3.2.2, has it."""
        target = urlsplit(self.url)
        self.headers[:] = [(name, value) for name, value in self.headers if name != b"host"]
        self.headers.append((b"host", target.netloc))
        self.url = (target.path or b"/") + (b"?" + target.query if target.query else b"")

    def _refuse_head(self, detail: str) -> None:
        self.refuse(431, "head_too_large", detail)

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            seconds = self._limits.head_timeout_s
            detail = f"the head of the request was not here within {seconds:g} s"
            self._head_timer = self.loop.call_later(seconds, self.refuse, 408, "too_slow", detail)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_rest_timer(self) -> None:
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
