"""Opens the bus's end of links, and connects endpoints to it: on one machine, by Unix sockets.

The bus hands its door out by a Ray call, which only processes of the cluster can receive. Who connects must run as the
same user and know the secret of the door; who listens must run as the same user, too. On Linux the socket has no file,
so that a process that is killed leaves none behind.
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

import msgspec

from actors.links.link import HELLO_TIMEOUT_S, Link, OnFrames
from runtime.bus.link_messages import Hello, encode_hello
from runtime.errors import LinkLostError

SECRET_BYTES = 32
MAX_DOORS = 10_000
BACKLOG = 1_024
DIAL_TIMEOUT_S = 5.0

log = logging.getLogger(__name__)

_HAS_ABSTRACT_NAMES = sys.platform.startswith("linux")

AdmitPeer = Callable[[Link, Hello], OnFrames | None]


class Door(msgspec.Struct, frozen=True):
    """Says where a bus listens. `node`: the machine, as Ray identifies it; `secret` admits one endpoint to it."""

    node: str
    path: str
    secret: bytes


class Listener:
    """Listens for endpoints. `admit` decides on those that know their secret: what takes their frames, or None."""

    def __init__(self, node: str, admit: AdmitPeer, hello_timeout_s: float = HELLO_TIMEOUT_S) -> None:
        self._node = node
        self._path = _new_path()
        self._admit = admit
        self._hello_timeout_s = hello_timeout_s
        self._secrets: dict[str, bytes] = {}
        self._server: asyncio.Server | None = None
        self._opening = asyncio.Lock()

    async def door_for(self, address: str) -> Door | None:
        """Return a new door for an endpoint; its former one is shut. None if this machine allows no such sockets."""
        async with self._opening:
            if self._server is None:
                try:
                    self._server = await asyncio.get_running_loop().create_unix_server(
                        self._new_link, path=self._path, backlog=BACKLOG
                    )
                except (OSError, NotImplementedError) as error:
                    log.warning("link.not_listening", extra={"reason": str(error)})
                    return None
        self._secrets.pop(address, None)
        self._secrets[address] = secret = secrets.token_bytes(SECRET_BYTES)
        if len(self._secrets) > MAX_DOORS:
            del self._secrets[next(iter(self._secrets))]
        return Door(self._node, self._path, secret)

    def close(self) -> None:
        """Listen no longer; links stay."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _new_link(self) -> Link:
        return Link(admit=self._checked, hello_timeout_s=self._hello_timeout_s)

    def _checked(self, link: Link, hello: Hello) -> OnFrames | None:
        secret = self._secrets.get(hello.address)
        is_known = secret is not None and hmac.compare_digest(hello.secret, secret)
        if not is_known or link.peer_uid() not in (None, os.geteuid()):
            log.warning("link.refused", extra={"address": hello.address[:200]})
            return None
        return self._admit(link, hello)


async def connected(door: Door, address: str, process_id: str, on_frames: OnFrames) -> Link:
    """Return a link to the bus behind a door. Raises LinkLostError, OSError, TimeoutError."""
    async with asyncio.timeout(DIAL_TIMEOUT_S):
        _, link = await asyncio.get_running_loop().create_unix_connection(
            lambda: Link(on_frames), sock=_connected_socket(door.path)
        )
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
