"""Serves index refreshes: the only place of a system from which indexes are written.

`index.refresh` {root} → {root, index_path, commit, stats}. Refreshes of different repositories run concurrently; those
of one repository run one after another. The index of a repository lies in the state folder, named by its root.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.codebase.git.head import head_commit
from runtime.codebase.index.writer import IndexOptions, refresh


class Progress(msgspec.Struct, frozen=True):
    """Counts the files of a refresh: done and total."""

    done: int = 0
    total: int = 0


class IndexService:
    """Keeps the indexes under `folder` up to date."""

    def __init__(self, folder: Path, options: IndexOptions) -> None:
        self._folder = folder
        self._options = options
        self._locks: dict[Path, asyncio.Lock] = {}
        self._progress: dict[str, Progress] = {}

    def index_path(self, root: Path) -> Path:
        """Return the path of the index of `root`."""
        name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self._folder / f"{root.name or 'root'}-{name}" / "index.sqlite"

    def progress(self, root: str) -> Progress:
        """Return the progress of the refresh of `root`; zeros if none is running."""
        return self._progress.get(str(Path(root).resolve()), Progress())

    async def refresh(self, root: str) -> dict[str, Any]:
        """Bring the index of `root` up to date. Raise RepositoryError or StateStorageError if that fails."""
        resolved = await asyncio.to_thread(Path(root).resolve)
        key = str(resolved)

        def note(done: int, total: int) -> None:
            self._progress[key] = Progress(done, total)

        async with self._locks.setdefault(resolved, asyncio.Lock()):
            try:
                path = self.index_path(resolved)
                stats = await asyncio.to_thread(refresh, resolved, path, self._options, note)
                commit = await asyncio.to_thread(head_commit, resolved)
            finally:
                self._progress.pop(key, None)
        return {"root": key, "index_path": str(path), "commit": commit, "stats": asdict(stats)}

    def queries(self) -> dict[str, QueryHandler]:
        """Return the handlers of the queries that agents send."""

        async def on_refresh(body: dict[str, Any]) -> dict[str, Any]:
            return await self.refresh(str(body["root"]))

        return {"index.refresh": on_refresh}
