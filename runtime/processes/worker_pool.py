"""Runs calls in worker processes, each call in a process that no other call shares.

    pool = WorkerPool(size=8)
    value = await pool.call("package.module:function", {"root": "/srv/repo"}, timeout_s=30.0)

A call takes an idle process or starts one; with `size` calls in flight, further ones wait within their `timeout_s`.
A process is kept for later calls unless it was killed, slowed or has grown large. Cancelling the coroutine kills the
process of its call. Errors: those of `worker_process`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from runtime.errors import ProcessKilledError, ProcessTimeoutError
from runtime.processes.worker_process import OnNote, WorkerProcess, ignore_note

MAX_KEPT_RSS_BYTES = 300 * 1024 * 1024


class Cancellation:
    """Calls off one call of a pool, from any thread."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._guard = threading.Lock()
        self._on_cancel: Callable[[], None] = _nothing

    def cancel(self) -> None:
        """Call off the call: its process is killed, or not taken if it still waits for one."""
        with self._guard:
            self.is_cancelled = True
            on_cancel = self._on_cancel
        on_cancel()

    def attach(self, on_cancel: Callable[[], None]) -> None:
        """Set what `cancel` does from now on; done at once if it has been called already."""
        with self._guard:
            self._on_cancel = on_cancel
            is_late = self.is_cancelled
        if is_late:
            on_cancel()


def _nothing() -> None:
    return None


class WorkerPool:
    """Runs at most `size` calls at once and keeps up to `kept` idle processes; for several threads and event loops."""

    def __init__(self, *, size: int = 8, kept: int = 1, memory_bytes: int = 0) -> None:
        """Configure the pool; processes start when they are needed. `memory_bytes`: per process, 0 for no limit."""
        self._size = size
        self._kept = kept
        self._memory_bytes = memory_bytes
        self._busy = 0
        self._idle: list[WorkerProcess] = []
        self._free = threading.Condition()

    def start_one(self) -> None:
        """Start a process ahead of the first call, which then does not wait for it to start."""
        with self._free:
            if not self._idle and not self._busy:
                self._idle.append(WorkerProcess(memory_bytes=self._memory_bytes))

    def call_blocking(
        self,
        target: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        on_note: OnNote = ignore_note,
        cancellation: Cancellation | None = None,
    ) -> Any:
        """Run a function in a process and return its value, as `WorkerProcess.call` does."""
        cancellation = cancellation or Cancellation()
        started_s = time.monotonic()
        worker = self._take(target, timeout_s, cancellation)
        try:
            cancellation.attach(worker.kill)
            left_s = None if timeout_s is None else timeout_s - (time.monotonic() - started_s)
            return worker.call(target, arguments, timeout_s=left_s, on_note=on_note)
        finally:
            cancellation.attach(_nothing)
            self._put_back(worker)

    async def call(
        self,
        target: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        on_note: OnNote = ignore_note,
    ) -> Any:
        """Run a function in a process and return its value; cancellation kills the process. Notes come in a thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        cancellation = Cancellation()

        def run() -> None:
            try:
                value = self.call_blocking(
                    target, arguments, timeout_s=timeout_s, on_note=on_note, cancellation=cancellation
                )
            except BaseException as error:  # noqa: BLE001 - raised in the coroutine
                settle = functools.partial(_fail, future, error)
            else:
                settle = functools.partial(_succeed, future, value)
            # The loop may have ended with the coroutine that was cancelled.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle)

        # A thread of its own: the threads of the loop's executor are few, and shared with everything else.
        threading.Thread(target=run, name=target, daemon=True).start()
        try:
            return await future
        except asyncio.CancelledError:
            cancellation.cancel()
            raise

    def close(self) -> None:
        """Kill the idle processes; those of calls in flight end with their calls."""
        with self._free:
            idle, self._idle, self._kept = self._idle, [], 0
        for worker in idle:
            worker.kill()

    def _take(self, target: str, timeout_s: float | None, cancellation: Cancellation) -> WorkerProcess:
        def wake() -> None:
            with self._free:
                self._free.notify_all()

        cancellation.attach(wake)
        with self._free:
            self._free.wait_for(lambda: self._busy < self._size or cancellation.is_cancelled, timeout_s)
            if cancellation.is_cancelled:
                raise ProcessKilledError(f"{target} was called off before it began", target=target)
            if self._busy >= self._size:
                message = f"{target} found no free process within {timeout_s} s; {self._size} calls are in flight"
                raise ProcessTimeoutError(message, target=target, timeout_s=timeout_s)
            self._busy += 1
            while self._idle:
                worker = self._idle.pop()
                if worker.has_ended:
                    worker.kill()
                else:
                    return worker
        try:
            return WorkerProcess(memory_bytes=self._memory_bytes)
        except BaseException:
            self._release(None)
            raise

    def _put_back(self, worker: WorkerProcess) -> None:
        is_fresh = worker.is_alive and not worker.was_slowed and worker.max_rss_bytes <= MAX_KEPT_RSS_BYTES
        self._release(worker if is_fresh else None)
        if not is_fresh:
            worker.kill()

    def _release(self, worker: WorkerProcess | None) -> None:
        surplus = None
        with self._free:
            self._busy -= 1
            if worker is not None and len(self._idle) < self._kept:
                self._idle.append(worker)
            else:
                surplus = worker
            self._free.notify()
        if surplus is not None:
            surplus.kill()


def _succeed(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
