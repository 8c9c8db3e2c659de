"""A run log whose disk can be full."""

from __future__ import annotations

from runtime.errors import StateStorageError
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.events import Event


class FullLog(MemoryRunLog):
    """A log that takes `room` more events and then none; a test may make room, or take it away."""

    def __init__(self, room: int = 1_000) -> None:
        super().__init__()
        self.room = room

    def append(self, pipeline: str, event: Event, epoch: int | None = None, ends: bool = False) -> None:
        if self.room == 0:
            raise StateStorageError("disk full")
        self.room -= 1
        super().append(pipeline, event, epoch, ends)
