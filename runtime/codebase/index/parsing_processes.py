"""Parses files in several processes at once, forked from the one that refreshes the index.

They die with it. When one of them dies, each file that was under way is parsed again in a process of its own; what ends
that as well is read as text: some texts take a parser more memory than there is (`parse_limit`). All of them together
may use as much memory as the process that refreshes.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import BrokenExecutor, Future
from typing import TYPE_CHECKING, NamedTuple

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.file_rows import Cutting, FileRows, file_rows
from runtime.codebase.parsing.parse_limit import UNTRIED_BYTES
from runtime.processes.process_tree import die_with_parent
from runtime.processes.worker_main import limit_memory

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

MAX_PROCESSES = 4
# What each may use at least: several times what the largest file that is parsed takes.
LEAST_MEMORY_BYTES = 1_000_000_000
# Fewer characters are parsed sooner than processes start.
WORTH_CHARS = 1_000_000
# Read ahead of the file whose rows are next, for each process.
AHEAD_FILES = 8


# So many files that end processes are no accident, and each takes seconds: no larger file is parsed any more.
MAX_FATAL_FILES = 10
FATAL = "the process that parsed it ended, or had no memory left: read as text"
TOO_MANY_FATAL = f"{MAX_FATAL_FILES} files before it ended the processes that parsed them: read as text"


def processes_beside(memory_bytes: int, cores: int | None = None, *, is_suspect: bool = False) -> int:
    """Return how many processes parse beside the one that writes, which may use so much memory.

    One for each core as far as the memory goes, none on a single core, and none but on Linux, where they die with it.
    `cores`: those that this process may use, by default. `is_suspect`: a file may end the process that parses it, so
    that there is at least one on Linux.
    """
    is_linux = sys.platform == "linux"
    cores = cores or (len(os.sched_getaffinity(0)) if is_linux else 1)
    count = min(cores, MAX_PROCESSES, memory_bytes // LEAST_MEMORY_BYTES) if cores > 1 else 0
    return max(count, 1) if is_suspect and is_linux else count


class Parsing(NamedTuple):
    """Holds a file that is being parsed, and what that takes."""

    rows: Future[FileRows]
    asked: tuple[str, str | None, SourceText, Cutting]


class ParsingProcesses:
    """Parses files ahead of the writer, in processes that start once there is enough to do.

    Call it in a process without other threads: a fork would find their locks taken.
    """

    def __init__(self, count: int, memory_bytes: int, *, is_suspect: bool = False) -> None:
        """Start none yet; with a `count` of 0, none ever. `memory_bytes`: what all of them may use.

        `is_suspect`: parse every file there, however little there is to do.
        """
        self._count = count
        self._memory_bytes = memory_bytes
        self._seen_chars = WORTH_CHARS if is_suspect else 0
        self._executor: ProcessPoolExecutor | None = None
        self._under_way: list[Parsing] = []
        # Of files that were under way when a process died.
        self._found: dict[Future[FileRows], FileRows] = {}
        self._fatal = 0

    @property
    def ahead(self) -> int:
        """The number of files that may be read ahead."""
        return AHEAD_FILES * self._count

    def begin(self, path: str, language: str | None, source: SourceText, cutting: Cutting) -> Parsing | None:
        """Have a file parsed; None if the caller is to do it itself, as there has been little to do so far."""
        self._seen_chars += len(source.text)
        if not self._count or self._seen_chars < WORTH_CHARS:
            return None
        parsing = self._begun((path, language, source, cutting))
        self._under_way.append(parsing)
        return parsing

    def _begun(self, asked: tuple[str, str | None, SourceText, Cutting]) -> Parsing:
        if self._fatal >= MAX_FATAL_FILES and len(asked[2].text) > UNTRIED_BYTES:
            done: Future[FileRows] = Future()
            done.set_result(file_rows(*asked, unparsed=TOO_MANY_FATAL))
            return Parsing(done, asked)
        try:
            return Parsing(self._started().submit(file_rows, *asked), asked)
        except BrokenExecutor:
            self._parse_again()
            return Parsing(self._started().submit(file_rows, *asked), asked)

    def rows_of(self, parsing: Parsing) -> FileRows:
        """Wait for the rows of a file; those of its text, with status `failed`, where no process can parse it."""
        if parsing.rows not in self._found:
            try:
                rows = parsing.rows.result()
            except MemoryError:
                rows = self._as_text(parsing)
            except BrokenExecutor:
                self._parse_again()
                rows = self._found[parsing.rows]
            self._found[parsing.rows] = rows
        self._under_way.remove(parsing)
        return self._found.pop(parsing.rows)

    def close(self) -> None:
        """End the processes; what they have not begun is dropped."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def _started(self) -> ProcessPoolExecutor:
        if self._executor is None:
            self._executor = _executor(self._count, self._memory_bytes // self._count)
        return self._executor

    def _parse_again(self) -> None:
        """Parse each file that was under way when a process died, in a process of its own."""
        self.close()
        self._executor = None
        for parsing in self._under_way:
            if parsing.rows not in self._found and isinstance(parsing.rows.exception(), BrokenExecutor):
                self._found[parsing.rows] = self._parsed_alone(parsing)

    def _parsed_alone(self, parsing: Parsing) -> FileRows:
        alone = _executor(1, self._memory_bytes // self._count)
        try:
            return alone.submit(file_rows, *parsing.asked).result()
        except (BrokenExecutor, MemoryError):
            return self._as_text(parsing)
        finally:
            alone.shutdown()

    def _as_text(self, parsing: Parsing) -> FileRows:
        self._fatal += 1
        return file_rows(*parsing.asked, unparsed=FATAL)


def _executor(count: int, memory_bytes: int) -> ProcessPoolExecutor:
    # Imported where needed: most refreshes have few files to parse.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    fork = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(count, fork, initializer=_begin, initargs=(memory_bytes,))


def _begin(memory_bytes: int) -> None:
    die_with_parent()
    limit_memory(memory_bytes)
