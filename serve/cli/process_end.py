"""Ends the process of a command although work of it does not stop.

Python waits for every thread before it exits, and `asyncio.run` for every task. A hook that ignores its cancellation,
or a stuck thread, would keep a command from ending after its answer is printed. Such work gets five seconds; then the
process ends without it, with the exit status of the command.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from runtime.processes.process_tree import finish_kills
from runtime.processes.stop_watchdog import STOP_PATIENCE_S
from serve.cli.output.terminal import warn_line

T = TypeVar("T")

INTERRUPTED = 130
_POLL_S = 0.5
_THREADS = "jeeves-work"

_left: list[str] = []


def run_to_end(main: Coroutine[Any, Any, T], deadline_s: float | None = None) -> T:
    """Run a coroutine as `asyncio.run` does, but leave tasks and threads that do not stop within five seconds.

    SIGTERM and SIGHUP, unless they are ignored, end it as Ctrl-C does, with SystemExit: the run is cancelled first.
    Call `leave` afterwards. While the event loop is blocked neither Ctrl-C nor `deadline_s` can act on it, so then
    the process ends five seconds later.
    """
    runner = asyncio.Runner()
    loop = runner.get_loop()
    loop.set_default_executor(executor := ThreadPoolExecutor(thread_name_prefix=_THREADS))
    ended = threading.Event()
    signalled: list[int] = []

    def stop(task: asyncio.Task[T], number: int) -> None:
        signalled.append(number)
        task.cancel()

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        watch = threading.Thread(target=_watch, args=(loop, task, deadline_s, ended), daemon=True)
        watch.start()
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                loop.add_signal_handler(number, stop, task, number)
        return await main

    try:
        return runner.run(watched())
    except asyncio.CancelledError:
        if not signalled:
            raise
        raise SystemExit(128 + signalled[0]) from None
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
        ended.set()
        tasks = loop.run_until_complete(_tasks_left())
        executor.shutdown(wait=False, cancel_futures=True)
        left = tasks + _threads_left(STOP_PATIENCE_S)
        _left.extend(left)
        if not left:
            runner.close()


def leave(status: int) -> None:
    """End the process with `status` if work is left that does not stop; otherwise return."""
    left = _left or _threads_left(STOP_PATIENCE_S)
    if left:
        end_now(status, f"{', '.join(left)} did not stop within {STOP_PATIENCE_S:g} s; ended without waiting for it")


async def _tasks_left() -> list[str]:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if not tasks:
        return []
    done, left = await asyncio.wait(tasks, timeout=STOP_PATIENCE_S)
    for task in done:
        if not task.cancelled():
            task.exception()  # otherwise it is reported as never retrieved
    return sorted(task.get_name() for task in left)


def _threads_left(patience_s: float) -> list[str]:
    deadline_s = time.monotonic() + patience_s
    others = [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()]
    for thread in others:
        thread.join(max(0.0, deadline_s - time.monotonic()))
    return [f"the thread {thread.name}" for thread in others if thread.is_alive()]


def _watch(
    loop: asyncio.AbstractEventLoop, main: asyncio.Task[Any], deadline_s: float | None, ended: threading.Event
) -> None:
    """End the process when the loop has been blocked for five seconds, and it is interrupted or past its deadline."""
    started_s = time.monotonic()
    blocked = 0
    while not ended.is_set():
        ticked = threading.Event()
        loop.call_soon_threadsafe(ticked.set)
        # Counted in polls rather than by the clock, which jumps when a process is stopped and continued.
        while not ticked.wait(_POLL_S):
            if ended.is_set():
                return
            is_late = deadline_s is not None and time.monotonic() - started_s > deadline_s
            blocked = blocked + 1 if main.cancelling() or is_late else 0
            if blocked * _POLL_S > STOP_PATIENCE_S:
                problem = f"a stage has blocked the event loop for {STOP_PATIENCE_S:g} s after "
                if main.cancelling():
                    end_now(INTERRUPTED, problem + "the command was interrupted; the process is ended")
                end_now(1, problem + f"the deadline of {deadline_s:g} s; the process is ended")
        blocked = 0
        ended.wait(_POLL_S)


def end_now(status: int, problem: str) -> None:
    """End the process at once, without its exit handlers: they would wait for what does not stop."""
    sys.stdout.flush()
    warn_line(f"jeeves: {problem}")
    sys.stderr.flush()
    finish_kills()
    os._exit(status)
