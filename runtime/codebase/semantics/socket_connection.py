"""Connects to the process that embeds, and waits for one that is starting, once for a question.

Each call of a question connects anew, and where nobody listens each would wait. So what was waited in vain is counted:
later calls wait only for what their patience is longer, until nobody has called for five seconds. They try to connect
nevertheless: a process that listens meanwhile is found by the next call.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

SOCKET_NAME = "embedding.sock"
REMEMBERED_S = 5.0
_POLL_S = 0.02
# The longest path that every system takes for a socket.
_MAX_PATH_BYTES = 100


class Connecting:
    """Connects to whoever listens in a folder; one object serves several threads."""

    def __init__(
        self,
        folder: Path,
        monotonic_s: Callable[[], float] = time.monotonic,
        wait_s: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect to nothing yet."""
        self._folder = folder
        self._monotonic_s = monotonic_s
        self._wait_s = wait_s
        self._guard = threading.Lock()
        self._in_vain_s = 0.0
        self._remembered_until_s = 0.0

    def deadline_s(self, patience_s: float) -> float:
        """Return when a patience that begins now ends."""
        return self._monotonic_s() + patience_s

    @contextmanager
    def connected(self, deadline_s: float) -> Iterator[socket.socket]:
        """Yield a connection, on which nothing is waited for beyond the deadline. OSError if nobody listens by then."""
        began_s, in_vain_s = self._monotonic_s(), self._known_in_vain_s()
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.settimeout(max(deadline_s - self._monotonic_s(), 0.001))
                with socket_address(self._folder) as address:
                    connection.connect(address)
                connection.settimeout(max(deadline_s - self._monotonic_s(), 0.001))
                break
            except OSError as error:
                connection.close()
                is_nobody_there = isinstance(error, FileNotFoundError | ConnectionRefusedError)
                if self._monotonic_s() + _POLL_S >= deadline_s - (in_vain_s if is_nobody_there else 0.0):
                    if is_nobody_there:
                        self._remember(max(deadline_s - began_s, in_vain_s))
                    raise
                self._wait_s(_POLL_S)
        with self._guard:
            self._in_vain_s = 0.0
        with connection:
            yield connection

    def _known_in_vain_s(self) -> float:
        with self._guard:
            return self._in_vain_s if self._monotonic_s() < self._remembered_until_s else 0.0

    def _remember(self, in_vain_s: float) -> None:
        with self._guard:
            is_known = self._monotonic_s() < self._remembered_until_s
            self._in_vain_s = max(in_vain_s, self._in_vain_s if is_known else 0.0)
            self._remembered_until_s = self._monotonic_s() + REMEMBERED_S


@cache
def shared_connecting(folder: Path) -> Connecting:
    """Return the one of this process for a folder: what one has waited in vain no other waits again."""
    return Connecting(folder)


@contextmanager
def socket_address(folder: Path) -> Iterator[str]:
    """Yield an address of the socket in a folder that is short enough, however long the path of the folder."""
    path = str(folder.absolute() / SOCKET_NAME)
    if len(os.fsencode(path)) <= _MAX_PATH_BYTES:
        yield path
        return
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{held}/{SOCKET_NAME}"
    finally:
        os.close(held)
