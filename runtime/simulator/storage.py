"""Simulates the disk: a run log and a journal that fail as planned, and the broken ones for `--break`.

A write fails before it is made (`store_error`), or after (`store_lie`: done, but reported failed). While the store is
down, everything fails.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.effects.journal import EffectKey, JournalRecord, MemoryJournal
from runtime.errors import StateStorageError
from runtime.primitives.ids import RunId, StageKey
from runtime.simulator.world import World
from runtime.store.run_log import Entry, MemoryRunLog, RunSummary
from runtime.supervision.events import Event

FLUSHED_AFTER_MS = 2_000


class Disk(MemoryRunLog):
    """Simulates the run log. Without `is_fenced` it accepts writes of deposed owners; `deposed_writes` lists them."""

    def __init__(self, world: World, is_fenced: bool = True) -> None:
        super().__init__()
        self._world = world
        self._is_fenced = is_fenced
        self.is_down = False
        self.writes = 0
        self.deposed_writes: list[str] = []

    @property
    def epoch(self) -> int:
        """The epoch of the newest owner."""
        return self._epoch

    def crash(self, down_ms: int) -> None:
        """Fail all operations for `down_ms`."""
        self.is_down = True
        self._world.schedule(down_ms, None, self._restore)

    def _restore(self) -> None:
        self.is_down = False

    def check(self) -> None:
        """Raise StateStorageError while the store is down."""
        if self.is_down:
            raise StateStorageError("the store is down")

    def take_over(self, owner: str, now_ms: int | None = None, lease_ms: int | None = None, force: bool = False) -> int:
        self.check()
        return super().take_over(owner, now_ms, lease_ms, force)

    def check_owner(self, epoch: int) -> None:
        self.check()
        if self._is_fenced:
            super().check_owner(epoch)

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        self.check()
        self.writes += 1
        fault = self._world.plan.at_write.get(self.writes)
        if fault is not None and fault.kind == "store_error":
            self._world.faults["store_error"] += 1
            raise StateStorageError("the store failed")
        super().append_all(entries, epoch if self._is_fenced else None)
        if epoch is not None and epoch < self._epoch:
            event = entries[0].event
            self.deposed_writes.append(f"event {event.seq} of {event.run_id} by epoch {epoch}, newest {self._epoch}")
        if fault is not None and fault.kind == "store_lie":
            self._world.faults["store_lie"] += 1
            raise StateStorageError("the store did not answer")

    def events(self, run_id: RunId, after_seq: int = 0) -> list[Event]:
        self.check()
        return super().events(run_id, after_seq)

    def unfinished(self) -> list[RunSummary]:
        self.check()
        return super().unfinished()

    def kept(self, run_id: RunId) -> list[Event]:
        """Return the events of a run on the disk, even while the store is down."""
        return super().events(run_id)


class WriteBehind(MemoryRunLog):
    """Simulates broken write-ahead: events are kept in memory and written to the disk only some time later."""

    def __init__(self, disk: Disk, world: World) -> None:
        super().__init__()
        self._disk = disk
        self._world = world
        self._unwritten: list[tuple[Sequence[Entry], int | None]] = []
        self._is_lost = False

    def take_over(self, owner: str, now_ms: int | None = None, lease_ms: int | None = None, force: bool = False) -> int:
        return self._disk.take_over(owner, now_ms, lease_ms, force)

    def check_owner(self, epoch: int) -> None:
        self._disk.check_owner(epoch)

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        if not self._unwritten:
            self._world.schedule(FLUSHED_AFTER_MS, None, self._flush)
        self._unwritten.append((entries, epoch))

    def _flush(self) -> None:
        while self._unwritten and not self._is_lost:
            try:
                self._disk.append_all(*self._unwritten[0])
            except StateStorageError:
                self._world.schedule(FLUSHED_AFTER_MS, None, self._flush)
                return
            self._unwritten.pop(0)

    def lose(self) -> None:
        """Discard unwritten events, as the process that held them is gone."""
        self._is_lost = True

    def events(self, run_id: RunId, after_seq: int = 0) -> list[Event]:
        unwritten = [entry.event for entries, _ in self._unwritten for entry in entries]
        events = [*self._disk.events(run_id), *(event for event in unwritten if event.run_id == run_id)]
        return events[max(after_seq, 0) :]

    def unfinished(self) -> list[RunSummary]:
        return self._disk.unfinished()


class DiskJournal(MemoryJournal):
    """Simulates the journal on the same disk."""

    def __init__(self, world: World, disk: Disk) -> None:
        super().__init__()
        self._world = world
        self._disk = disk
        self.writes = 0

    def begin(self, key: StageKey, by: str) -> bool:
        lies = self._write()
        begun = super().begin(key, by)
        self._answer(lies)
        return begun

    def find(self, key: EffectKey) -> JournalRecord | None:
        self._disk.check()
        return super().find(key)

    def intend(self, key: EffectKey, attempt: int) -> None:
        lies = self._write()
        super().intend(key, attempt)
        self._answer(lies)

    def done(self, key: EffectKey, result: bytes) -> None:
        lies = self._write()
        super().done(key, result)
        self._answer(lies)

    def _write(self) -> bool:
        self._disk.check()
        self.writes += 1
        fault = self._world.plan.at_journal.get(self.writes)
        if fault is None:
            return False
        self._world.faults[fault.kind] += 1
        if fault.kind == "journal_error":
            raise StateStorageError("the journal failed")
        return True

    def _answer(self, lies: bool) -> None:
        if lies:
            raise StateStorageError("the journal did not answer")


class NoJournal(DiskJournal):
    """Simulates a broken journal, which keeps no calls."""

    def find(self, key: EffectKey) -> JournalRecord | None:
        return None

    def intend(self, key: EffectKey, attempt: int) -> None:
        return None

    def done(self, key: EffectKey, result: bytes) -> None:
        return None
