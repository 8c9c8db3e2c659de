"""Runs functions in a child process that can be killed, with all its children, at any moment.

    worker = WorkerProcess(memory_bytes=4 * 2**30)
    value = worker.call("package.module:function", {"root": "/srv/repo"}, timeout_s=30.0)
    worker.kill()

The function is named, not passed: `function(note, **arguments)`, where `note(value)` sends plain data to `on_note`
during the call. It returns plain data (None, bool, int, float, str, bytes, and lists, tuples, dicts and sets of them)
and may raise any JeevesError of `runtime.errors`, which the caller receives as it is.

A process serves one call after another, so that imports and caches are paid once. A call that ends in any of these ways
ends the process as well:

- ProcessTimeoutError: the call took longer than `timeout_s`; the process was killed.
- ProcessKilledError: `kill` was called by another thread.
- ProcessMemoryError: the call needed more than `memory_bytes`.
- ProcessDiedError: the process died by itself; `status` is its exit status, negative for a signal, and `stderr` the end
  of what it wrote on standard error. What a process that lives writes there is dropped.
- any exception raised in the calling thread meanwhile, such as KeyboardInterrupt.

ProcessCallError (the function raised something else, or returned no plain data) leaves the process alive.

The process is the leader of a session and process group of its own: a Ctrl-C at the terminal reaches the parent only.
It dies with its parent, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from io import FileIO
from typing import Any

from runtime.errors import (
    JeevesError,
    ProcessCallError,
    ProcessDiedError,
    ProcessKilledError,
    ProcessMemoryError,
    ProcessTimeoutError,
)
from runtime.processes.frames import decode_plain, encode, take
from runtime.processes.process_tree import finish_kills_at_exit, kill_tree

SLOW_AFTER_S = 10.0
KEEPER_PATIENCE_S = 5.0
STDERR_KEPT_BYTES = 4096
MAX_LAST_LINE_CHARS = 200
_SLOW_NICENESS = 5
_READ_BYTES = 1 << 20
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from runtime.processes.worker_main import main; main(*map(int, sys.argv[2:]))"
)

OnNote = Callable[[Any], object]


def ignore_note(_value: Any) -> None:
    """Ignore notes, for callers that want only the value."""


class WorkerProcess:
    """Runs calls in one child process, which starts at once. One call at a time; `kill` from any thread."""

    def __init__(self, *, memory_bytes: int = 0, slow_after_s: float = SLOW_AFTER_S) -> None:
        """Start the process. `memory_bytes`: limit of its private memory, 0 for none. OSError if it cannot start.

        A call that takes longer than `slow_after_s` continues at a lower priority, so that others are not slowed.
        """
        finish_kills_at_exit()
        self.is_alive = True
        self.was_slowed = False
        self.max_rss_bytes = 0
        self._memory_bytes = memory_bytes
        self._slow_after_s = slow_after_s
        self._killed = False
        self._buffer = bytearray()
        self._stderr_tail = bytearray()
        self._stderr_is_open = True
        ours, theirs = socket.socketpair()
        lifeline, held = os.pipe()
        heard, stderr = os.pipe()
        os.set_blocking(heard, False)
        self._connection = ours
        self._stderr = FileIO(heard)
        try:
            self._process = _started(theirs.fileno(), lifeline, stderr, memory_bytes)
        except OSError:
            ours.close()
            self._stderr.close()
            os.close(held)
            raise
        finally:
            theirs.close()
            os.close(lifeline)
            os.close(stderr)
        self._end = weakref.finalize(self, _end, _Ending(self._process, ours, self._stderr, held))

    @property
    def pid(self) -> int:
        """The number of the process, which is also that of its group and session."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """True if the process has ended, also by itself."""
        if not self.is_alive:
            return True
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        return bool(poll.poll(0))  # between calls, only the end of the process makes it readable

    def call(
        self,
        target: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        on_note: OnNote = ignore_note,
    ) -> Any:
        """Run the function named "module:function" in the process and return its value. See the module for errors."""
        started_s = time.monotonic()
        try:
            self._send(encode((target, dict(arguments))), target, started_s, timeout_s)
            while True:
                kind, *values = self._receive(target, started_s, timeout_s)
                if kind != "note":
                    break
                on_note(values[0])
        except BaseException:
            self.kill()
            raise
        return self._outcome(target, kind, values)

    def kill(self) -> None:
        """Kill the process with all its children; a call in flight raises ProcessKilledError. Idempotent."""
        self._killed = True
        self.is_alive = False
        self._end()

    def _outcome(self, target: str, kind: str, values: list[Any]) -> Any:
        if kind == "value":
            self.max_rss_bytes = values[1]
            return values[0]
        if kind == "error" and isinstance(values[0], JeevesError):
            raise values[0]
        if kind == "memory":
            self.kill()
            raise _out_of_memory(target, self._memory_bytes)
        message = f"{target} failed in its process: {values[0]}"
        raise ProcessCallError(message, target=target, problem=values[0], traceback=values[1])

    def _send(self, data: bytes, target: str, started_s: float, timeout_s: float | None) -> None:
        view = memoryview(data)
        while view:
            self._wait(select.POLLOUT, target, started_s, timeout_s)
            try:
                view = view[self._connection.send(view, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                continue  # the buffer filled up since `_wait` saw room in it
            except OSError as error:
                raise self._died(target) from error

    def _receive(self, target: str, started_s: float, timeout_s: float | None) -> tuple[Any, ...]:
        try:
            while (content := take(self._buffer)) is None:
                self._wait(select.POLLIN, target, started_s, timeout_s)
                try:
                    data = self._connection.recv(_READ_BYTES)
                except OSError:
                    data = b""
                if not data:
                    raise self._died(target)
                self._buffer += data
            message = decode_plain(content)
        except (ValueError, pickle.UnpicklingError) as error:
            problem = f"{target} gave its caller something else than plain data: {error}"
            raise ProcessCallError(problem, target=target, problem=str(error), traceback="") from error
        return tuple(message)

    def _wait(self, event: int, target: str, started_s: float, timeout_s: float | None) -> None:
        """Wait until the connection is ready; lower the priority of a slow process meanwhile."""
        while True:
            passed_s = time.monotonic() - started_s
            if timeout_s is not None and passed_s >= timeout_s:
                message = f"{target} took longer than {timeout_s:g} s, and its process was killed"
                raise ProcessTimeoutError(message, target=target, timeout_s=timeout_s)
            if not self.was_slowed and passed_s >= self._slow_after_s:
                self._lower_priority()
            limits = (timeout_s, None if self.was_slowed else self._slow_after_s)
            left_s = min((limit - passed_s for limit in limits if limit is not None), default=None)
            try:
                poll = select.poll()
                poll.register(self._connection, event)
                if self._stderr_is_open:
                    poll.register(self._stderr, select.POLLIN)
                ready = dict(poll.poll(None if left_s is None else max(left_s, 0) * 1000 + 1))
                if self._connection.fileno() in ready:
                    return
                if ready:
                    self._listen()
            except (OSError, ValueError) as error:  # closed by `kill`
                raise self._died(target) from error

    def _listen(self) -> None:
        """Read what the process wrote on standard error, so that it never waits for room there; keep the end of it."""
        data = self._stderr.read(_READ_BYTES)
        self._stderr_is_open = data != b""
        self._stderr_tail += data or b""
        del self._stderr_tail[:-STDERR_KEPT_BYTES]

    def _lower_priority(self) -> None:
        self.was_slowed = True
        try:
            niceness = os.getpriority(os.PRIO_PROCESS, self.pid) + _SLOW_NICENESS
            os.setpriority(os.PRIO_PGRP, self.pid, niceness)
        except (ProcessLookupError, PermissionError):
            return

    def _died(self, target: str) -> JeevesError:
        if self._killed:
            return ProcessKilledError(f"{target} was called off, and its process killed", target=target)
        # Its keeper ends as the worker did, after killing what that started.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KEEPER_PATIENCE_S)
        with contextlib.suppress(OSError, ValueError):  # closed by `kill`
            self._listen()
        self.kill()
        status = self._process.returncode
        stderr = self._stderr_tail.decode(errors="replace").strip()
        told = f"; it wrote: {_last_line(stderr)}" if stderr else ""
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        limit = f"; its memory is limited to {self._memory_bytes} bytes" if self._memory_bytes else ""
        message = f"the process of {target} {how} before it answered{limit}{told}"
        return ProcessDiedError(message, target=target, status=status, stderr=stderr)


def _last_line(text: str) -> str:
    """Return the last line, where Python names an error, cut and without control characters."""
    line = text.splitlines()[-1]
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line[:MAX_LAST_LINE_CHARS])


def _out_of_memory(target: str, memory_bytes: int) -> ProcessMemoryError:
    message = f"{target} needs more memory than the {memory_bytes} bytes that its process may use"
    return ProcessMemoryError(message, target=target, memory_bytes=memory_bytes)


def _started(connection_fd: int, lifeline_fd: int, stderr_fd: int, memory_bytes: int) -> subprocess.Popen[bytes]:
    # -P: nothing is imported from the working folder, which may be the repository in question.
    path = json.dumps([os.path.abspath(each) for each in sys.path])  # noqa: PTH100 - links are kept
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START, path, str(connection_fd), str(lifeline_fd), str(memory_bytes)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr_fd,
        pass_fds=(connection_fd, lifeline_fd),
        start_new_session=True,
    )


class _Ending:
    """Holds what ends a process, apart from the object that the garbage collector watches."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket, stderr: FileIO, held: int) -> None:
        self.process = process
        self.connection = connection
        self.stderr = stderr
        self.held = held
        self.guard = threading.Lock()


def _end(ending: _Ending) -> None:
    with ending.guard:
        if ending.process.returncode is None:
            kill_tree(ending.process.pid)
            ending.process.wait()
        # Wakes a thread that waits on the connection, which closing it would not.
        try:
            ending.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
        finally:
            ending.connection.close()
            ending.stderr.close()
            os.close(ending.held)
