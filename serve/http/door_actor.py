"""Listens for HTTP in an actor of its own: uvicorn, with bounded connections, before the application.

docs/decisions/012-http-proxy.md says why it is not Ray Serve's proxy. The actor keeps nothing: when its process dies,
the next one listens on the same port, runs go on meanwhile, and an Idempotency-Key finds them.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp

from actors.actor_logs import configure_actor_logs
from actors.origin import check_origin
from actors.system import attach_system
from runtime.errors import PortTakenError
from serve.http.app import http_app
from serve.http.connection import OpenConnections
from serve.http.http_limits import HttpLimits
from serve.http.service import Service, ServiceSpec

BACKLOG = 512
DRAIN_S = 3
# Files that this process needs beside its connections.
OTHER_FILES = 256


class HttpServer(uvicorn.Server):
    """Serves until `should_exit` is set, and sets `listening` once it does; signals are its owner's business."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(app: ASGIApp, limits: HttpLimits) -> HttpServer:
    """Return a server for the application, which `serve(sockets)` starts on the running event loop."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what clients send amiss is not logged
    config = uvicorn.Config(
        app,
        http=OpenConnections(limits).protocol(),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(limits.keep_alive_s),
        timeout_graceful_shutdown=DRAIN_S,
    )
    return HttpServer(config)


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `port`. Raises PortTakenError."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except OSError as error:
        raise PortTakenError(f"port {port} on {host} is taken ({error.strerror})", port=port) from error


class HttpDoor:
    """Answers HTTP for the system of this cluster, as an actor. `spec`: the fields of `ServiceSpec`."""

    def __init__(self, spec: dict[str, Any], host: str, port: int) -> None:
        check_origin()
        configure_actor_logs("http")
        given = msgspec.convert(spec, ServiceSpec)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        most = min(given.http.max_connections, max(1, files - OTHER_FILES))
        limits = msgspec.structs.replace(given.http, max_connections=most)
        service = Service(attach_system(given.system), msgspec.structs.replace(given, http=limits))
        self._socket = listening_socket(host, port)
        self._server = http_server(http_app(service), limits)

    async def listen(self) -> None:
        """Answer requests until `stop`."""
        await self._server.serve(sockets=[self._socket])

    async def until_listening(self) -> None:
        """Return once requests are answered."""
        await self._server.listening.wait()

    async def stop(self) -> None:
        """Take no more connections, and give those that are open a moment to end."""
        self._server.should_exit = True
