"""Renders the lines of a list of runs: id, begin, state, and what was asked."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from runtime.primitives.visible_text import visible_line

# Of a question in a pipe, which has no width.
MOST_CELLS = 200
# Where less room is left, a question has a line of its own.
LEAST_CELLS = 40
SESSION_CELLS = 24
_GAP = "  "


class RunLine(NamedTuple):
    """Holds what a line shows of a run, or of a session of a change."""

    run_id: str
    started_at_ms: int
    pipeline: str
    user_id: str
    state: str
    asked: str
    session_id: str = ""


def terminal_width() -> int | None:
    """Return the width of the terminal that is written to; None for a pipe or file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def run_lines(runs: Sequence[RunLine], width: int | None) -> Iterator[str]:
    """Return the lines of a list, the questions cut to the width of a terminal; without one each run has one line."""
    columns = [(run.run_id, _time(run.started_at_ms), run.pipeline, run.user_id) for run in runs]
    widest = [max(map(len, column)) for column in zip(*columns, strict=True)]
    for run, values in zip(runs, columns, strict=True):
        head = _GAP.join((*(value.ljust(most) for value, most in zip(values, widest, strict=True)), run.state))
        yield from _with_question(visible_line(head), run, width)


def _with_question(head: str, run: RunLine, width: int | None) -> Iterator[str]:
    asked = " ".join(run.asked.lstrip()[: 4 * MOST_CELLS].split())
    if not asked:
        yield head
        return
    session = f"[{in_cells(run.session_id, SESSION_CELLS)}] " if run.session_id else ""
    room = MOST_CELLS if width is None else width - len(head) - len(_GAP)
    if room >= LEAST_CELLS:
        yield f"{head}{_GAP}{in_cells(session + asked, room)}"
        return
    yield head
    yield f"{2 * _GAP}{in_cells(session + asked, max((width or MOST_CELLS) - 2 * len(_GAP), LEAST_CELLS))}"


def in_cells(text: str, cells: int) -> str:
    """Return a text as one line of at most so many cells of a terminal, its hidden characters as escapes."""
    from rich.cells import cell_len, set_cell_size

    line = visible_line(text)
    return line if cell_len(line) <= cells else f"{set_cell_size(line, cells - 1).rstrip()}…"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
