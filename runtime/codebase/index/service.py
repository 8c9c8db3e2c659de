"""Serves index refreshes: the only place of a system from which indexes are written.

`index.refresh` {root, timeout_s?} → {root, index_path, commit, stats, embeds}. Refreshes of different repositories run
concurrently; those of one repository run one after another. The index of a repository lies in the state folder, named
by its root.

A repository may be made to hang, crash or exhaust whoever reads it. So each refresh runs in a worker process, bounded
in time and memory; it is killed at its deadline and when the coroutine is cancelled. The index then stays as it was.
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any, Protocol

from runtime.bus.queries import QueryHandler
from runtime.codebase.files.walk import unmoved_root
from runtime.codebase.index.progress import Progress
from runtime.codebase.index.refresh_call import REFRESH
from runtime.codebase.index.writer import IndexOptions, Sync
from runtime.errors import ProcessDiedError, ProcessMemoryError, RepositoryError
from runtime.processes.worker_pool import WorkerPool
from runtime.processes.worker_process import OnNote

MAX_PROCESSES = 8


class Follower(Protocol):
    """Works on indexes behind their refreshes, such as on the vectors of their pieces."""

    def start(self) -> None:
        """Get ready for the first index."""
        ...

    def take(self, root: str, index_path: Path) -> None:
        """Work on an index that was refreshed, before earlier ones; return at once."""
        ...

    def close(self) -> None:
        """Stop at once."""
        ...


class IndexService:
    """Keeps the indexes under `folder` up to date; `follower` is given each index that was refreshed."""

    def __init__(self, folder: Path, options: IndexOptions, follower: Follower | None = None) -> None:
        self._folder = folder
        self._follower = follower
        self._options = options
        self._locks: dict[Path, asyncio.Lock] = {}
        self._progress: dict[str, Progress] = {}
        self._pool = WorkerPool(size=MAX_PROCESSES, memory_bytes=options.memory_bytes)

    def prepare(self) -> None:
        """Start a process ahead of the first refresh."""
        self._pool.start_one()
        if self._follower is not None:
            self._follower.start()

    def close(self) -> None:
        """End the follower and processes that wait for a refresh; a refresh ends by itself, or by cancellation."""
        self._pool.close()
        if self._follower is not None:
            self._follower.close()

    def index_path(self, root: Path) -> Path:
        """Return the path of the index of `root`."""
        name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self._folder / f"{root.name or 'root'}-{name}" / "index.sqlite"

    def progress(self, root: str) -> Progress:
        """Return the progress of the refresh of `root`; zeros if none is running."""
        return self._progress.get(str(Path(root).resolve()), Progress())

    async def refresh(self, root: str, timeout_s: float | None = None, sync: Sync = "never") -> dict[str, Any]:
        """Bring the index of `root` up to date, within `timeout_s` if that is less than the options allow.

        `root` is a real path: one that leads elsewhere by now is refused. Raise RepositoryError or StateStorageError if
        that fails; a RepositoryError has `timed_out` if time ran out.
        """
        limit_s = min(self._options.timeout_s, self._options.timeout_s if timeout_s is None else timeout_s)
        resolved = await asyncio.to_thread(unmoved_root, Path(root))
        try:
            async with asyncio.timeout(limit_s), self._locks.setdefault(resolved, asyncio.Lock()):
                return await self._refreshed(resolved, sync)
        except TimeoutError as error:
            raise RepositoryError(
                f"the files of {resolved} could not be indexed within {limit_s:g} s; exclude some, choose a folder "
                "below, or give more time (code_index.timeout_s, or the deadline of the question)",
                path=str(resolved),
                timed_out=True,
                timeout_s=limit_s,
            ) from error
        except (ProcessMemoryError, ProcessDiedError) as error:
            raise RepositoryError(
                f"the files of {resolved} could not be indexed: {error.message}; exclude some, choose a folder below, "
                "or raise code_index.memory_bytes",
                path=str(resolved),
            ) from error

    async def _refreshed(self, root: Path, sync: Sync) -> dict[str, Any]:
        key = str(root)

        def note(told: tuple[int, int] | str) -> None:
            self._progress[key] = Progress(waiting=told) if isinstance(told, str) else Progress(*told)

        path = self.index_path(root)
        arguments = {"root": key, "index_path": str(path), "options": self._options, "sync": sync}
        try:
            done = await self._done(arguments, note)
        finally:
            self._progress.pop(key, None)
        if self._follower is not None and done["embeds"]:
            await asyncio.to_thread(self._follower.take, key, path)
        return {"root": key, "index_path": str(path), **done}

    async def _done(self, arguments: dict[str, Any], note: OnNote) -> dict[str, Any]:
        """Refresh in a process; if a file was the end of it, once more in one that has each file parsed by others."""
        try:
            found: dict[str, Any] = await self._pool.call(REFRESH, arguments, on_note=note)
        except (ProcessMemoryError, ProcessDiedError):
            found = await self._pool.call(REFRESH, {**arguments, "is_suspect": True}, on_note=note)
        return found

    def queries(self) -> dict[str, QueryHandler]:
        """Return the handlers of the queries that agents send."""

        async def on_refresh(body: dict[str, Any]) -> dict[str, Any]:
            return await self.refresh(str(body["root"]), body.get("timeout_s"))

        return {"index.refresh": on_refresh}
