"""The index as a service: the one place of a system from which indexes are written.

`index.refresh` {root} → {root, index_path, commit, stats}. Refreshes of different repositories go side by side; those
of one repository wait for each other. The index of a repository lives in the state folder, named by its root.
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
    """How far a refresh is, in files."""

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
        """Where the index of `root` is kept."""
        name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self._folder / f"{root.name or 'root'}-{name}" / "index.sqlite"

    def progress(self, root: str) -> Progress:
        """How far the refresh of `root` is; zeros when none is under way."""
        return self._progress.get(str(Path(root).resolve()), Progress())

    async def refresh(self, root: str) -> dict[str, Any]:
        """Bring the index of `root` up to date. Raises RepositoryError and StateStorageError."""
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
        """The service's door for agents."""

        async def on_refresh(body: dict[str, Any]) -> dict[str, Any]:
            return await self.refresh(str(body["root"]))

        return {"index.refresh": on_refresh}
