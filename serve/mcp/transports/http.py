"""Serves MCP over streamable HTTP: on loopback, or with a token.

A page that another site has open in a browser here may reach the loopback interface; so the Host must be one of ours
and an Origin must be that Host, as at `jeeves serve`. Heads and bodies of requests are bounded in time and size.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.errors import InputError, SettingsError
from runtime.primitives.text_files import read_text_file
from serve.http.connections.body_time import BodyTime
from serve.http.connections.gate import LOOPBACK_HOSTS, check_caller
from serve.http.connections.http_limits import DEFAULT_LIMITS
from serve.http.connections.listening import http_server, listening_socket
from serve.http.documents.problems import RefusedError
from serve.mcp.connections import OpenRequests
from serve.mcp.transports.draining import Draining
from serve.mcp.transports.request_ids import RefusalsWithIds

PATH = "/mcp"
TOKEN_VARIABLE = "JEEVES_MCP_TOKEN"
MIN_TOKEN_CHARS = 16
MAX_TOKEN_BYTES = 4_096
MAX_BODY_BYTES = 4 * 2**20
MAX_SESSIONS = 256
MAX_CONNECTIONS = 512
DRAIN_S = 3

_LIMITS = msgspec.structs.replace(DEFAULT_LIMITS, max_connections=MAX_CONNECTIONS)
_NO_TOKEN = {"www-authenticate": 'Bearer realm="jeeves"', "connection": "close"}


class HttpAddress(NamedTuple):
    """Names where to listen; port 0 is any free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """True if only this machine reaches it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def authority(self) -> str:
        """The address as it is written in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def http_address(text: str) -> HttpAddress:
    """Return the address in `HOST:PORT` or `PORT`. Raises InputError."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535 or "/" in host:
        raise InputError(f"{text!r} is no HOST:PORT; give one such as 127.0.0.1:8701")
    return HttpAddress(host.strip("[]") or "127.0.0.1", int(port))


def bearer_token(address: HttpAddress, token_file: Path | None) -> str | None:
    """Return the token that callers must send, from the file or the environment; None if none is needed.

    Raises SettingsError for an address that others reach without a token, and for one that is easily guessed.
    """
    written = os.environ.get(TOKEN_VARIABLE) if token_file is None else _text_of(token_file)
    token = (written or "").strip()
    if not token:
        if address.is_loopback and token_file is None:
            return None
        raise SettingsError(
            f"{address.authority} can be reached from other machines, and no token is set; name a file that holds one "
            f"with --token-file, set {TOKEN_VARIABLE}, or listen on 127.0.0.1"
            if token_file is None
            else f"{token_file} holds no token; write one of at least {MIN_TOKEN_CHARS} characters into it"
        )
    if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError(
            f"the token has {len(token)} characters; use at least {MIN_TOKEN_CHARS}, all printable ASCII without blanks"
        )
    return token


def _text_of(token_file: Path) -> str:
    try:
        return read_text_file(token_file, MAX_TOKEN_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise SettingsError(
            f"--token-file {token_file} cannot be read: {why}; name a file that holds the token alone"
        ) from error


class CallerGate:
    """Admits requests with the token, for one of our hosts, and from no other site's page."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: str | None) -> None:
        self._app = app
        self._hosts = LOOPBACK_HOSTS | {host.lower() for host in hosts}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            check_caller(scope, self._hosts)
            self._check_token(scope)
        except RefusedError as refused:
            await refused.response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check_token(self, scope: Scope) -> None:
        if self._token is None:
            return
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, told = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(told.strip(), self._token.encode()):
            raise RefusedError(401, "no_token", "send the token of this server as `Authorization: Bearer`", _NO_TOKEN)


class RequestCount:
    """Counts the requests of each connection while they are under way."""

    def __init__(self, app: ASGIApp, requests: OpenRequests) -> None:
        self._app = app
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = [value for name, value in scope["headers"] if name == MCP_SESSION_ID_HEADER.encode()]
        if not named:
            await self._app(scope, receive, send)
            return
        with self._requests.counted(named[0].decode("latin-1")):
            await self._app(scope, receive, send)


async def serve_http(
    sdk: Server[Any],
    address: HttpAddress,
    hosts: Collection[str],
    token: str | None,
    announce: Callable[[str], None],
    requests: OpenRequests,
    body_timeout_s: float = DEFAULT_LIMITS.body_timeout_s,
) -> None:
    """Serve until cancelled; `announce` gets the URL once requests are answered. Raises PortTakenError.

    Calls that are under way then have `DRAIN_S` to be answered, and get an error after that. A body that is not there
    within `body_timeout_s` is refused.
    """
    logging.getLogger("mcp").setLevel(logging.ERROR)  # what clients send amiss is not logged
    app = sdk.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=MAX_SESSIONS,
        # Host and Origin are checked by our own gate, for the name that the server was started with, too.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    listening = listening_socket(address.host, address.port)
    address = address._replace(port=listening.getsockname()[1])
    closing = asyncio.Event()
    timed = BodyTime(RequestCount(RefusalsWithIds(app), requests), body_timeout_s)
    drained = Draining(timed, closing)
    gate = CallerGate(drained, {address.host, *hosts}, token)
    limits = msgspec.structs.replace(_LIMITS, body_timeout_s=body_timeout_s)
    server = http_server(gate, limits, DRAIN_S, closing.set)
    announce(f"http://{address.authority}{PATH}")
    async with sdk.session_manager.run():
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            server.should_exit = True
            await asyncio.wait({serving})
            raise
