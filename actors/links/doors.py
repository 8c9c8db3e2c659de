"""Opens the listening end of links, and connects to it: by Unix sockets, or by TCP with TLS.

A listener hands its door out by a Ray call, which only processes of the cluster can receive. Who connects must know the
secret of the door. On one machine both ends must also run as the same user; on Linux the socket there has no file, so
that a process that is killed leaves none behind. A port is opened once a door is asked for from another machine.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from actors.links.encryption import SERVER_NAME, connecting_context, listening_context
from actors.links.link import HELLO_TIMEOUT_S, Link, OnFrames
from runtime.bus.link_messages import Hello, encode_hello
from runtime.errors import LinkLostError

SECRET_BYTES = 32
MAX_DOORS = 10_000
MAX_STRANGERS = 256
BACKLOG = 1_024
DIAL_TIMEOUT_S = 5.0

log = logging.getLogger(__name__)

_HAS_ABSTRACT_NAMES = sys.platform.startswith("linux")

AdmitPeer = Callable[[Link, Hello], OnFrames | None]

LinksBy = bool | Literal["tcp"]
"""Which links are used: True for Unix sockets and, between machines, TCP; `tcp` for TCP alone; False for none."""


class Door(msgspec.Struct, frozen=True):
    """Names where a process listens. `node`: its machine, as Ray identifies it; `secret` admits one peer.

    By TCP if there is a `port`: at `host`, with the `certificate` (PEM) of the listener.
    """

    node: str
    path: str
    secret: bytes
    host: str = ""
    port: int = 0
    certificate: str = ""

    def is_for(self, node: str) -> bool:
        """Return whether a process on that machine can use the door."""
        return bool(self.port) or self.node == node


class Listener:
    """Listens for peers. `admit` decides on those that know their secret: what takes their frames, or None.

    `node` and `host`: the machine that it runs on, as Ray identifies it, and the address that others reach it by.
    """

    def __init__(
        self,
        node: str,
        admit: AdmitPeer,
        hello_timeout_s: float = HELLO_TIMEOUT_S,
        host: str = "127.0.0.1",
        by: LinksBy = True,
    ) -> None:
        self._node = node
        self._host = host
        self._by = by
        self._path = _new_path()
        self._admit = admit
        self._hello_timeout_s = hello_timeout_s
        self._secrets: dict[str, bytes] = {}
        self._local: asyncio.Server | None = None
        self._network: asyncio.Server | None = None
        self._certificate = ""
        self._strangers: set[Link] = set()
        self._opening = asyncio.Lock()

    async def door_for(self, address: str, node: str | None = None) -> Door | None:
        """Return a new door for a peer on that machine; its former one is shut. None if no sockets are allowed here.

        Without a `node` the peer is on this machine.
        """
        is_remote = self._by == "tcp" or node not in (None, self._node)
        async with self._opening:
            try:
                await (self._open_port() if is_remote else self._open_path())
            except (OSError, NotImplementedError) as error:
                log.warning("link.not_listening", extra={"reason": str(error)})
                return None
        self._secrets.pop(address, None)
        self._secrets[address] = secret = secrets.token_bytes(SECRET_BYTES)
        if len(self._secrets) > MAX_DOORS:
            del self._secrets[next(iter(self._secrets))]
        if self._network is None or not is_remote:
            return Door(self._node, self._path, secret)
        port = self._network.sockets[0].getsockname()[1]
        return Door(self._node, "", secret, self._host, port, self._certificate)

    def close(self) -> None:
        """Listen no longer; links stay."""
        for server in (self._local, self._network):
            if server is not None:
                server.close()
        self._local = self._network = None

    async def _open_path(self) -> None:
        if self._local is None:
            self._local = await asyncio.get_running_loop().create_unix_server(
                self._new_link, path=self._path, backlog=BACKLOG
            )

    async def _open_port(self) -> None:
        if self._network is None:
            context, self._certificate = listening_context()
            self._network = await asyncio.get_running_loop().create_server(
                self._new_link_of_network,
                self._host,
                0,
                backlog=BACKLOG,
                ssl=context,
                ssl_handshake_timeout=self._hello_timeout_s,
            )

    def _new_link(self) -> Link:
        return Link(admit=self._checked, hello_timeout_s=self._hello_timeout_s)

    def _new_link_of_network(self) -> asyncio.Protocol:
        """Return a link for a connection from anywhere; too many that are not introduced yet are cut off."""
        self._strangers = {link for link in self._strangers if not link.is_introduced}
        if len(self._strangers) >= MAX_STRANGERS:
            log.warning("link.too_many_strangers", extra={"limit": MAX_STRANGERS})
            return _Refusal()
        link = self._new_link()
        self._strangers.add(link)
        return link

    def _checked(self, link: Link, hello: Hello) -> OnFrames | None:
        secret = self._secrets.get(hello.address)
        is_known = secret is not None and hmac.compare_digest(hello.secret, secret)
        if not is_known or link.peer_uid() not in (None, os.geteuid()):
            log.warning("link.refused", extra={"address": hello.address[:200]})
            return None
        return self._admit(link, hello)


class _Refusal(asyncio.Protocol):
    """Closes a connection at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection."""
        transport.close()


async def connected(door: Door, address: str, process_id: str, on_frames: OnFrames) -> Link:
    """Return a link to the listener behind a door. Raises LinkLostError, OSError (of TLS, too), TimeoutError."""
    async with asyncio.timeout(DIAL_TIMEOUT_S):
        link = Link(on_frames)
        loop = asyncio.get_running_loop()
        if door.port:
            context = connecting_context(door.certificate)
            await loop.create_connection(lambda: link, door.host, door.port, ssl=context, server_hostname=SERVER_NAME)
        else:
            await loop.create_unix_connection(lambda: link, sock=_connected_socket(door.path))
        if link.peer_uid() not in (None, os.geteuid()):
            link.close()
            raise LinkLostError("another user listens where the bus is expected")
        try:
            await link.greet(encode_hello(Hello(address, process_id, door.secret)))
        except BaseException:
            link.close()
            raise
    return link


def _connected_socket(path: str) -> socket.socket:
    """Return a socket that is connected to a path; connecting never waits. uvloop takes no names without a file."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _new_path() -> str:
    if _HAS_ABSTRACT_NAMES:
        return f"\0jeeves-bus-{secrets.token_hex(16)}"
    return str(Path(tempfile.mkdtemp(prefix="jeeves-bus-")) / "socket")
