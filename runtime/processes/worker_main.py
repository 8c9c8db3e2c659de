"""Runs calls in a worker process: the child's side of `worker_process`.

Started by `worker_process` in a session of its own. The process that is started keeps the worker, which it forks before
anything is imported: it waits for the end of the worker, or of the parent, who alone keeps the lifeline open. Then it
kills all that the worker started, in whatever session, also if a call holds the interpreter.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import resource
import select
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from runtime.errors import JeevesError
from runtime.processes.frames import HEADER, encode
from runtime.processes.garbage import collect_rarely
from runtime.processes.process_tree import adopt_orphans, die_with_parent, kill_descendants

Note = Callable[[Any], None]
_RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


def main(connection_fd: int, lifeline_fd: int, memory_bytes: int) -> None:
    """Answer the parent's calls until it closes the connection. `memory_bytes`: 0 for no limit."""
    adopt_orphans()
    worker = os.fork()
    if worker:
        os.close(connection_fd)
        _keep(worker, lifeline_fd)
    die_with_parent()
    os.close(lifeline_fd)
    if memory_bytes:
        limit_memory(memory_bytes)
    # Without a handler Python prints warnings on standard error, which belongs to the command: the caller reports.
    logging.getLogger().addHandler(logging.NullHandler())
    # What a call reads and makes mostly stays until its end: looking through it took a twelfth of indexing.
    collect_rarely()
    with socket.socket(fileno=connection_fd) as connection:
        while (content := _receive(connection)) is not None:
            target, arguments = pickle.loads(content)
            connection.sendall(_reply(connection, target, arguments))


def _keep(worker: int, lifeline_fd: int) -> NoReturn:
    """Wait for the end of the parent or of the worker, kill all that the worker started, and end as it did."""
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake)
    status = _reaped(worker)
    # Not `select`, which refuses a number above 1023: a parent with many open files hands on such a one.
    ready = select.poll()
    for end in (lifeline_fd, woken):
        ready.register(end, select.POLLIN)
    while status is None and lifeline_fd not in dict(ready.poll()):
        os.read(woken, 4096)
        status = _reaped(worker)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    kill_descendants()
    if status is None:
        os.killpg(0, signal.SIGKILL)
    elif os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status or 0))


def _reaped(worker: int) -> int | None:
    """Wait for the children that have ended, also adopted ones; return the status of the worker if it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, each = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            status = each if pid == worker else status
    return status


def limit_memory(memory_bytes: int) -> None:
    """Limit the private memory of this process; on Linux, files that are mapped, such as SQLite's, do not count."""
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
        try:
            module, _, name = target.partition(":")
            value = getattr(importlib.import_module(module), name)(note, **arguments)
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT_BYTES
            return encode(("value", value, most))
        except JeevesError as error:
            return encode(("error", error))
    except MemoryError:
        return encode(("memory",))
    except BaseException as error:  # noqa: BLE001 - told to the parent, which raises it
        return encode(("failure", f"{type(error).__name__}: {error}", traceback.format_exc()))
