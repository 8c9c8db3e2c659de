"""Keeps the index of the served repository up to date, before each call that reads it.

A refresh that is under way may have passed a file before its latest edit. So a call waits for one that begins after it;
all calls that arrive meanwhile share that one. Files are compared by their content at the start, and when the last time
was too long ago.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal, Protocol

from serve.mcp.toolset import Report

PROGRESS_EVERY_S = 0.5

# As `runtime.codebase.index.writer` has it, which is not imported before the first answer.
Sync = Literal["never", "due", "start", "now", "anew"]
_THOROUGHNESS: tuple[Sync, ...] = ("never", "due", "start", "now", "anew")


class Progress(Protocol):
    """Counts the files of a refresh."""

    @property
    def done(self) -> int:
        """The files that are read."""
        ...

    @property
    def total(self) -> int:
        """All files of the repository, 0 until they are counted."""
        ...


class Refresher(Protocol):
    """Refreshes indexes, as `runtime.codebase.index.service.IndexService` does."""

    async def refresh(self, root: str, timeout_s: float | None = None, sync: Sync = "never") -> dict[str, Any]:
        """Bring the index of a repository up to date; return its `root`, `index_path` and `stats`."""
        ...

    def progress(self, root: str) -> Progress:
        """Return how far the refresh has come."""
        ...


class RepositoryIndex:
    """Refreshes the index of one repository, at most one refresh at a time."""

    def __init__(self, refresher: Refresher, root: str) -> None:
        self._refresher = refresher
        self._root = root
        self._running: asyncio.Task[dict[str, Any]] | None = None
        self._next: asyncio.Task[dict[str, Any]] | None = None
        self._sync: Sync = "due"

    async def current(self, report: Report, sync: Sync = "due") -> dict[str, Any]:
        """Return the repository (`root`, `index_path`) as of this call, reporting the progress of a long refresh.

        `sync`: whether every file is compared by content. Raises RepositoryError and StateStorageError.
        """
        self._sync = max(self._sync, sync, key=_THOROUGHNESS.index)
        mine = self._next = self._next or asyncio.create_task(self._after(self._running))
        told = 0
        while not mine.done():
            await asyncio.wait({mine}, timeout=PROGRESS_EVERY_S)
            state = self._refresher.progress(self._root)
            # Progress only rises, also where a second refresh follows the first.
            if not mine.done() and state.done > told:
                told = state.done
                await report(state.done, state.total, f"indexing: {state.done} of {state.total} files")
        return mine.result()

    async def close(self) -> None:
        """Cancel the refreshes."""
        tasks = {task for task in (self._running, self._next) if task is not None and not task.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _after(self, earlier: asyncio.Task[dict[str, Any]] | None) -> dict[str, Any]:
        if earlier is not None and not earlier.done():
            await asyncio.wait({earlier})
        # From here on the files are read: whoever calls now may have edited one that is passed already.
        self._running, self._next = self._next, None
        sync, self._sync = self._sync, "due"
        return await self._refresher.refresh(self._root, sync=sync)
