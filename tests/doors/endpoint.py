"""HTTP servers that answer every request with one status, and sockets that take connections and never answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

Endpoint = Callable[[int], int]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Start a server that answers with the given status, and return its port."""
    with ExitStack() as started:

        def start(status: int) -> int:
            class Answer(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

                def log_message(self, *_: object) -> None:
                    """Log nothing."""

            server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
            started.callback(server.server_close)
            started.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return int(server.server_address[1])

        yield start


@pytest.fixture
def silent_port() -> Iterator[int]:
    """The port of a socket that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield int(listener.getsockname()[1])
