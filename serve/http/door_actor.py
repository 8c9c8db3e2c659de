"""Listens for HTTP in an actor of its own: uvicorn, with bounded connections, before the application.

docs/decisions/012-http-proxy.md says why it is not Ray Serve's proxy. The actor keeps nothing: when its process dies,
the next one listens on the same port, runs go on meanwhile, and an Idempotency-Key finds them.
"""

from __future__ import annotations

import resource
from typing import Any

import msgspec

from actors.actor_logs import configure_actor_logs
from actors.origin import check_origin
from actors.system_actors import attach_system
from runtime.processes.garbage import collect_rarely
from serve.http.answering.service import Service, ServiceSpec
from serve.http.app import http_app
from serve.http.connections.listening import http_server, listening_socket

# Files that this process needs beside its connections.
OTHER_FILES = 256


class HttpDoor:
    """Answers HTTP for the system of this cluster, as an actor. `spec`: the fields of `ServiceSpec`."""

    def __init__(self, spec: dict[str, Any], host: str, port: int) -> None:
        check_origin()
        collect_rarely()
        configure_actor_logs("http")
        given = msgspec.convert(spec, ServiceSpec)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        most = min(given.http.max_connections, max(1, files - OTHER_FILES))
        limits = msgspec.structs.replace(given.http, max_connections=most)
        service = Service(attach_system(given.system), msgspec.structs.replace(given, http=limits))
        self._socket = listening_socket(host, port)
        self._server = http_server(http_app(service), limits, on_drained=service.closing.set)

    async def listen(self) -> None:
        """Answer requests until `stop`."""
        await self._server.serve(sockets=[self._socket])

    async def until_listening(self) -> None:
        """Return once requests are answered."""
        await self._server.listening.wait()

    async def stop(self) -> None:
        """Take no more connections; what is not answered a moment later is refused with 503."""
        self._server.should_exit = True
