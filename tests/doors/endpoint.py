"""HTTP servers that answer every request with one status, and sockets that take connections and never answer."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

Endpoint = Callable[[int], int]
ModelEndpoint = Callable[[list[str]], tuple[int, list[str]]]


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
def model_endpoint() -> Iterator[ModelEndpoint]:
    """Start an OpenAI endpoint that gives answers in turn, the last for ever; return its port and what it was asked."""
    with ExitStack() as started:

        def start(answers: list[str]) -> tuple[int, list[str]]:
            asked: list[str] = []

            class Answer(BaseHTTPRequestHandler):
                def do_POST(self) -> None:
                    asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8"))
                    text = answers[min(len(asked), len(answers)) - 1]
                    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                    used = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                    body = json.dumps({"id": "1", "model": "m", "choices": [choice], "usage": used}).encode("utf-8")
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_: object) -> None:
                    """Log nothing."""

            server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
            started.callback(server.server_close)
            started.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return int(server.server_address[1]), asked

        yield start


@pytest.fixture
def silent_port() -> Iterator[int]:
    """The port of a socket that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield int(listener.getsockname()[1])
