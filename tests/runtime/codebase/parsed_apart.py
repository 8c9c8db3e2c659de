"""Refreshes an index in a process of its own, with others beside it that parse: what tests have called there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime.codebase.files.project_config import ProjectConfig
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.file_rows import Cutting
from runtime.codebase.index.parsing_processes import LEAST_MEMORY_BYTES, WORTH_CHARS, ParsingProcesses
from runtime.codebase.index.writer import IndexOptions, refresh

Note = Callable[[Any], None]


def children() -> list[int]:
    """The processes that this one has started, the resource tracker of Python left out."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def index(note: Note, root: str, index_path: str, processes: int) -> int:
    """Refresh an index; how many processes there were at most, and none is left."""
    most = 0

    def count(_done: int, _total: int) -> None:
        nonlocal most
        most = max(most, len(children()))

    refresh(Path(root), Path(index_path), on_progress=count, processes=processes)
    assert children() == []
    return most


def index_while_one_dies(note: Note, root: str, index_path: str) -> None:
    """Refresh an index, and kill a process that parses as soon as there is one."""
    killed: list[int] = []

    def kill(_done: int, _total: int) -> None:
        if not killed and (there := children()):
            killed.append(there[0])
            os.kill(there[0], signal.SIGKILL)

    refresh(Path(root), Path(index_path), on_progress=kill, processes=2)


def index_suspects(note: Note, root: str, index_path: str, memory_bytes: int) -> None:
    """Refresh an index as after a file has ended the process of the last refresh."""
    options = IndexOptions(memory_bytes=memory_bytes)
    refresh(Path(root), Path(index_path), options, processes=1, is_suspect=True)
    assert children() == []


def begin_after_one_died(note: Note) -> list[int]:
    """Begin a second file once the process that was to parse the first is known to have died; the lines of both."""
    parsing = ParsingProcesses(1, LEAST_MEMORY_BYTES)
    source, cutting = SourceText("x = 1\n" * WORTH_CHARS, ""), Cutting.of(ProjectConfig())
    first = parsing.begin("first.py", "python", source, cutting)
    assert first is not None
    os.kill(children()[0], signal.SIGKILL)
    assert first.rows.exception() is not None
    second = parsing.begin("second.py", "python", SourceText("y = 2\n", ""), cutting)
    assert second is not None
    lines = [parsing.rows_of(each).lines for each in (first, second)]
    parsing.close()
    assert children() == []
    return lines
