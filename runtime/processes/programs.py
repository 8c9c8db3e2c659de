"""Runs other programs, bounded in time and output, and kills them with all their children.

A program is killed when its time is up, when its output is too long, when the work that needs it is called off
(`call_scope`), and, on Linux with `setpriv`, when its parent dies, however that ends.
"""

from __future__ import annotations

import functools
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from runtime.processes.call_scope import current_scope
from runtime.processes.process_tree import kill_group, kill_tree

ASK_AFTER_S = 0.25
CHUNK_BYTES = 1 << 16
# A program that was killed has this long for what it wrote to be read: what left its tree may hold its output open.
REST_S = 1.0
_LOOK_S = 0.25
_PARENT_DEATH = ("--pdeathsig", "KILL")

IsStuck = Callable[[Callable[[], bool]], bool]
"""Returns whether a program should be killed; the argument tells whether it has ended meanwhile."""


class Finished(NamedTuple):
    """Holds the output of a program, its exit status, and whether it was killed for exceeding its time."""

    output: bytes
    status: int
    is_late: bool


def program_folders() -> str:
    """Return the absolute folders of PATH, joined: a relative one would depend on the current folder."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())


def run_program(
    command: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float,
    max_output_bytes: int,
    environment: Mapping[str, str] | None = None,
    is_stuck: IsStuck | None = None,
    keeps_end: bool = False,
    survives_limits: bool = False,
) -> Finished:
    """Run a program and return its standard output, cut after `max_output_bytes`, where the program is killed.

    `keeps_end`: the last `max_output_bytes` of its output are returned instead, and it runs to its end.
    `survives_limits`: at a limit on the size of files the program is told so and may clean up; it is not killed.
    `is_stuck` is called once, in another thread, when the program has run for a quarter of a second. Raises OSError if
    the program cannot be started, and CalledOffError if the work was called off.
    """
    scope = current_scope()
    scope.check()
    process = _started(command, cwd, environment, survives_limits=survives_limits)
    late, stuck, over = threading.Event(), threading.Event(), threading.Event()

    def end_late() -> None:
        late.set()
        kill_tree(process.pid)

    def end_stuck() -> None:
        if is_stuck is not None and is_stuck(over.is_set):
            stuck.set()
            kill_tree(process.pid)

    def is_killed() -> bool:
        return late.is_set() or stuck.is_set() or scope.is_called_off

    timers = [threading.Timer(timeout_s, end_late)]
    if is_stuck is not None:
        timers.append(threading.Timer(ASK_AFTER_S, end_stuck))
    with process:
        has_ended = False
        scope.add(process.pid)
        for timer in timers:
            timer.start()
        try:
            assert process.stdout is not None
            data = _output(process.stdout, max_output_bytes, is_killed, keeps_end=keeps_end)
            if keeps_end or len(data) < max_output_bytes:
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                has_ended = True
        finally:
            # It is not reaped before the last signal, so that its number cannot be another process's by then.
            over.set()
            for timer in timers:
                timer.cancel()
                timer.join()
            scope.remove(process.pid)
            # Once it has ended its children are no longer found by their parent.
            (kill_group if has_ended else kill_tree)(process.pid)
    scope.check()
    return Finished(data, process.returncode, late.is_set())


def _started(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str] | None, *, survives_limits: bool
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, with nothing to read and its errors dropped."""
    return subprocess.Popen(
        [*_dying_with_parent(), *command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # Python ignores the signal of that limit, and lets what it starts be killed by it unless it is told not to.
        restore_signals=not survives_limits,
    )


def _output(stream: IO[bytes], max_bytes: int, is_killed: Callable[[], bool], *, keeps_end: bool) -> bytes:
    """Return the first bytes of a stream, or the last, up to soon after the program was killed, whoever has it open."""
    kept, ends_at_s = bytearray(), float("inf")
    ready = select.poll()
    ready.register(stream, select.POLLIN)
    while keeps_end or len(kept) < max_bytes:
        if is_killed():
            ends_at_s = min(ends_at_s, time.monotonic() + REST_S)
        if time.monotonic() > ends_at_s:
            break
        if not ready.poll(_LOOK_S * 1000):
            continue
        read = os.read(stream.fileno(), CHUNK_BYTES if keeps_end else min(CHUNK_BYTES, max_bytes - len(kept)))
        if not read:
            break
        kept += read
        if len(kept) > 2 * max_bytes:
            del kept[:-max_bytes]
    return bytes(kept[-max_bytes:])


@functools.cache
def _dying_with_parent() -> tuple[str, ...]:
    """Return the command that a program is started by to die with its parent; empty if there is none.

    The kernel's own way, a call between fork and exec, is unsafe in a process with threads.
    """
    found = shutil.which("setpriv", path="/usr/bin:/bin") if sys.platform == "linux" else None
    if found is None:
        return ()
    probe = [found, *_PARENT_DEATH, "true"]
    works = subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return (found, *_PARENT_DEATH, "--") if works else ()
