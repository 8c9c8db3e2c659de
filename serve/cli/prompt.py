"""Reads questions at the terminal, line by line, with a history that is kept in the state folder.

Editing is that of Python's readline where it has one. Lines are read in a thread: meanwhile runs are driven, and leases
kept, by the event loop.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from serve.cli.output.terminal import warn
from serve.cli.questions import in_a_thread

PROMPT = "? "
ENDINGS = frozenset({"exit", "quit"})
HISTORY_FILE = "ask_history"
MAX_HISTORY_LINES = 1_000


async def questions_typed(state_dir: Path) -> AsyncIterator[str]:
    """Yield what a person types, blank lines left out, until the input ends or a line is `exit` or `quit`."""
    with _history(state_dir / HISTORY_FILE) as remember, _restored_terminal():
        while (line := await in_a_thread(_read_line)) is not None:
            text = line.strip()
            if text in ENDINGS:
                return
            if text:
                remember(text)
                yield text


def _read_line() -> str | None:
    try:
        # Without readline, `input` would write the prompt to standard output.
        if "readline" in sys.modules:
            return input(PROMPT)
        warn(PROMPT)
        return input()
    except EOFError:
        return None


@contextmanager
def _history(path: Path) -> Iterator[Callable[[str], None]]:
    """Load the history into readline, and store it at the end in a file that only its owner reads.

    Gives what adds a line to it, so that answers to questions of a run and `exit` stay out.
    """
    try:
        import readline
    except ImportError:  # Python built without it, or on a platform that has none
        yield lambda _line: None
        return
    readline.set_auto_history(False)
    readline.set_history_length(MAX_HISTORY_LINES)
    # A history that cannot be read or written costs a person the old questions, not the new ones.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        readline.read_history_file(path)
    known = readline.get_current_history_length()
    try:
        yield readline.add_history
    finally:
        with suppress(OSError):
            _store_history(path, readline.get_current_history_length() - known)


def _store_history(path: Path, added: int) -> None:
    """Append the newest lines to the file, so that those which another prompt wrote meanwhile stay."""
    import readline

    if hasattr(readline, "append_history_file"):
        readline.append_history_file(added, path)
    else:  # Python built with a libedit that cannot
        readline.write_history_file(path)


@contextmanager
def _restored_terminal() -> Iterator[None]:
    """Restore the terminal at the end: a line that was being edited leaves it without echo."""
    try:
        import termios
    except ImportError:
        yield
        return
    before = termios.tcgetattr(sys.stdin.fileno()) if sys.stdin.isatty() else None
    try:
        yield
    finally:
        if before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)
