"""Runs calls in a worker process: the child's side of `worker_process`.

Started by `worker_process` in a session of its own. It ends when its parent does, even in the middle of a call that
holds the interpreter: the lifeline is a pipe that only the parent keeps open, and its end raises SIGIO, which kills.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import pickle
import resource
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from runtime.errors import JeevesError
from runtime.processes.frames import HEADER, encode
from runtime.processes.process_tree import adopt_orphans

Note = Callable[[Any], None]
_RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


def main(connection_fd: int, lifeline_fd: int, memory_bytes: int) -> None:
    """Answer the parent's calls until it closes the connection. `memory_bytes`: 0 for no limit."""
    _end_with_parent(lifeline_fd)
    adopt_orphans()
    if memory_bytes:
        _limit_memory(memory_bytes)
    with socket.socket(fileno=connection_fd) as connection:
        while (content := _receive(connection)) is not None:
            target, arguments = pickle.loads(content)
            connection.sendall(_reply(connection, target, arguments))


def _end_with_parent(lifeline_fd: int) -> None:
    fcntl.fcntl(lifeline_fd, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline_fd, fcntl.F_SETFL, fcntl.fcntl(lifeline_fd, fcntl.F_GETFL) | os.O_ASYNC)

    def wait() -> None:
        # For systems that do not signal the end of a pipe, and for a parent that died before the lines above.
        os.read(lifeline_fd, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _limit_memory(memory_bytes: int) -> None:
    """Limit the private memory; files that are mapped, such as those of SQLite, do not count on Linux."""
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, most = resource.getrlimit(kind)
    limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    resource.setrlimit(kind, (limit, most))


def _receive(connection: socket.socket) -> bytes | None:
    header = _exactly(connection, HEADER.size)
    if header is None:
        return None
    (length,) = struct.unpack("!I", header)
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(min(count - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return bytes(data)


def _reply(connection: socket.socket, target: str, arguments: dict[str, Any]) -> bytes:
    def note(value: Any) -> None:
        connection.sendall(encode(("note", value)))

    try:
        module, _, name = target.partition(":")
        value = getattr(importlib.import_module(module), name)(note, **arguments)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT_BYTES
        return encode(("value", value, most))
    except MemoryError:
        return encode(("memory",))
    except JeevesError as error:
        return encode(("error", error))
    except Exception as error:  # noqa: BLE001 - told to the parent, which raises it
        return encode(("failure", f"{type(error).__name__}: {error}", traceback.format_exc()))
