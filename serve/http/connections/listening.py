"""Listens for HTTP with uvicorn, with bounded connections."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from runtime.errors import PortTakenError
from serve.http.connections.connection import OpenConnections
from serve.http.connections.http_limits import HttpLimits

BACKLOG = 512
DRAIN_S = 3
# After draining: until then the refusals of what was still under way are sent.
SETTLE_S = 3


class HttpServer(uvicorn.Server):
    """Serves until `should_exit` is set, and sets `listening` once it does; signals are its owner's business.

    `on_drained` is called when open connections have had `drain_s` to end. What is left `SETTLE_S` later is cut off.
    """

    def __init__(self, config: uvicorn.Config, drain_s: int, on_drained: Callable[[], None] | None) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self._drain_s = drain_s
        self._on_drained = on_drained

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        drained = asyncio.get_running_loop().call_later(self._drain_s, self._drained)
        try:
            await super().shutdown(sockets)
        finally:
            drained.cancel()

    def _drained(self) -> None:
        if self._on_drained is not None:
            self._on_drained()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(
    app: ASGIApp, limits: HttpLimits, drain_s: int = DRAIN_S, on_drained: Callable[[], None] | None = None
) -> HttpServer:
    """Return a server for the application, which `serve(sockets)` starts on the running event loop.

    `drain_s`: how long open connections may take to end after `should_exit` is set; `on_drained`: tells the application
    then to end what is still under way.
    """
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
        timeout_graceful_shutdown=drain_s if on_drained is None else drain_s + SETTLE_S,
    )
    return HttpServer(config, drain_s, on_drained)


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `port`. Raises PortTakenError."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except OSError as error:
        raise PortTakenError(f"port {port} on {host} is taken ({error.strerror})", port=port) from error
