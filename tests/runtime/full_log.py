"""A run log whose disk can be full."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.errors import StateStorageError
from runtime.store.run_log import Entry, MemoryRunLog


class FullLog(MemoryRunLog):
    """A log that takes `room` more events and then none; a test may make room, or take it away."""

    def __init__(self, room: int = 1_000) -> None:
        super().__init__()
        self.room = room

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        if self.room < len(entries):
            raise StateStorageError("disk full")
        self.room -= len(entries)
        super().append_all(entries, epoch)
