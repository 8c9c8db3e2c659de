"""Tracks which local processes work on a batch, so that the tasks of a killed one return at once.

Each process holds a lock on its own file while it lives. Processes of other machines are not visible here: their tasks
return when their leases expire.
"""

from __future__ import annotations

import fcntl
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from runtime.errors import StateStorageError

_SUFFIX = ".alive"


class Members:
    """Registers this process as a member of one batch, and finds dead members; `folder` is shared by all batches."""

    def __init__(self, folder: Path, batch: str) -> None:
        self._folder = folder
        self._batch = batch
        self._held: IO[str] | None = None
        self.name = f"{batch}.{secrets.token_hex(8)}"

    def join(self, workers: int) -> None:
        """Join with that many workers, until `leave` or the end of this process. Raises StateStorageError."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft = self._folder / f"{self.name}.new"
            self._held = draft.open("w", encoding="utf-8")
            fcntl.flock(self._held, fcntl.LOCK_EX)
            self._held.write(str(workers))
            self._held.flush()
            draft.rename(draft.with_suffix(_SUFFIX))  # not visible to others before it is locked
        except OSError as error:
            raise StateStorageError(f"{self._folder} cannot be written: {error.strerror}") from error

    def workers(self) -> list[str]:
        """Return the names of the workers of this member."""
        return [] if self._held is None else _workers_of(self._folder / f"{self.name}{_SUFFIX}")

    def leave(self) -> None:
        """Leave the batch."""
        if self._held is not None:
            (self._folder / f"{self.name}{_SUFFIX}").unlink(missing_ok=True)
            self._held.close()
            self._held = None

    def of_the_dead(self) -> Iterator[list[str]]:
        """Yield the workers of each member whose process is gone; its file is deleted when the next is requested."""
        for path in sorted(self._folder.glob(f"{self._batch}.*{_SUFFIX}")):
            if path.stem != self.name and not _is_alive(path):
                yield _workers_of(path)
                path.unlink(missing_ok=True)


def _is_alive(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass  # it has left
    return False


def _workers_of(path: Path) -> list[str]:
    try:
        count = int(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    return [f"{path.stem}-{number}" for number in range(count)]
