"""Functions that the tests of worker processes call in their process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime.errors import RepositoryError

Note = Callable[[Any], None]


def echo(note: Note, value: Any) -> Any:
    return value


def process_id(note: Note) -> int:
    return os.getpid()


def note_each(note: Note, count: int) -> str:
    for number in range(count):
        note(number)
    return "done"


def spin(note: Note) -> None:
    """Never ends, and never lets go of the interpreter."""
    note(os.getpid())
    re.match(r"(a|a)*b", "a" * 60)


def start_children(note: Note) -> None:
    """Starts a child in a session of its own, and an orphan whose parent has ended, then never ends."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(sleeper, start_new_session=True)
    program = (
        "import subprocess, sys; "
        "print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=subprocess.DEVNULL).pid)"
    )
    orphan = subprocess.run([sys.executable, "-c", program, *sleeper], stdout=subprocess.PIPE, check=True, timeout=60)
    note([os.getpid(), child.pid, int(orphan.stdout.split()[0])])
    spin(note)


def refuse(note: Note, path: str) -> None:
    raise RepositoryError(f"no folder at {path}", path=path, limit=3)


def fail(note: Note) -> None:
    raise ZeroDivisionError("by nothing")


def end(note: Note, number: int) -> None:
    os.kill(os.getpid(), number)
    signal.pause()


def give_code(note: Note) -> Any:
    return Path("/")


def fill_memory(note: Note, size: int) -> int:
    return len(bytearray(size))


def refuse_with_lock(note: Note) -> None:
    raise RepositoryError("no folder", lock=threading.Lock())


def leave(note: Note) -> None:
    raise SystemExit("not today")


def write_on_stderr(note: Note, text: str, times: int, status: int | None) -> str:
    """Write on standard error, then end with a status, or go on."""
    for _ in range(times):
        os.write(2, text.encode())
    if status is not None:
        os._exit(status)
    return "done"


def close_stderr(note: Note) -> str:
    os.close(2)
    return "done"
