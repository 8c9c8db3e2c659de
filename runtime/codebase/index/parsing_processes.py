"""Parses files in several processes at once, forked from the one that refreshes the index.

They die with it, and it ends its refresh when one of them dies. All of them together may use as much memory as it may.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.file_rows import Cutting, FileRows, file_rows
from runtime.errors import ProcessDiedError
from runtime.processes.process_tree import die_with_parent
from runtime.processes.worker_main import limit_memory

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

MAX_PROCESSES = 4
# What each may use at least: several times what the largest file that is parsed takes.
LEAST_MEMORY_BYTES = 1_000_000_000
# Fewer characters are parsed sooner than processes start.
WORTH_CHARS = 1_000_000
# Read ahead of the file whose rows are next, for each process.
AHEAD_FILES = 8


def processes_beside(memory_bytes: int, cores: int | None = None) -> int:
    """Return how many processes parse beside the one that writes, which may use so much memory.

    One for each core as far as the memory goes, none on a single core, and none but on Linux, where they die with it.
    `cores`: those that this process may use, by default.
    """
    cores = cores or (len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1)
    return min(cores, MAX_PROCESSES, memory_bytes // LEAST_MEMORY_BYTES) if cores > 1 else 0


class ParsingProcesses:
    """Parses files ahead of the writer, in processes that start once there is enough to do.

    Call it in a process without other threads: a fork would find their locks taken.
    """

    def __init__(self, count: int, memory_bytes: int) -> None:
        """Start none yet; with a `count` of 0, none ever. `memory_bytes`: what all of them may use."""
        self._count = count
        self._memory_bytes = memory_bytes
        self._seen_chars = 0
        self._executor: ProcessPoolExecutor | None = None

    @property
    def ahead(self) -> int:
        """The number of files that may be read ahead."""
        return AHEAD_FILES * self._count

    def begin(self, path: str, language: str | None, source: SourceText, cutting: Cutting) -> Future[FileRows] | None:
        """Have a file parsed; None if the caller is to do it itself, as there has been little to do so far.

        Raises ProcessDiedError if a process has died.
        """
        self._seen_chars += len(source.text)
        if not self._count or self._seen_chars < WORTH_CHARS:
            return None
        from concurrent.futures.process import BrokenProcessPool

        try:
            return self._started().submit(file_rows, path, language, source, cutting)
        except BrokenProcessPool as error:
            raise _died(path) from error

    def rows_of(self, path: str, parsing: Future[FileRows]) -> FileRows:
        """Wait for the rows of a file. Raises ProcessDiedError if a process has died."""
        from concurrent.futures.process import BrokenProcessPool

        try:
            return parsing.result()
        except BrokenProcessPool as error:
            raise _died(path) from error

    def close(self) -> None:
        """End the processes; what they have not begun is dropped."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def _started(self) -> ProcessPoolExecutor:
        if self._executor is None:
            # Imported where needed: most refreshes have few files to parse.
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            fork = multiprocessing.get_context("fork")
            share = self._memory_bytes // self._count
            self._executor = ProcessPoolExecutor(self._count, fork, initializer=_begin, initargs=(share,))
        return self._executor


def _died(path: str) -> ProcessDiedError:
    return ProcessDiedError(
        f"a process that parsed files ended before it had parsed {path} and those after it", path=path
    )


def _begin(memory_bytes: int) -> None:
    die_with_parent()
    limit_memory(memory_bytes)
