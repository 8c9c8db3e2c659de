"""Drops old data from the parts of the store, as each part declares.

Data is dropped in short transactions beside other writers, so a system may be up meanwhile. Data that cannot be
recreated is never dropped: unfinished runs and their journals stay, whatever their age.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from runtime.database.database import Database
from runtime.database.set_aside import remove_set_aside, set_aside_files
from runtime.database.store_part import AnyPart, Counted, Dropped, SweepTask
from runtime.errors import StateStorageError
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.store.backends.backend_registry import backend_of
from runtime.store.disposable_store import is_problem_of_the_file
from runtime.store.opening import databases_of, open_database, open_run_log, run_log_names
from runtime.store.options import StoreOptions


class Swept(msgspec.Struct):
    """Counts what was dropped, or would be, by the keys of the parts; `freed_bytes` were freed on the disk."""

    counts: dict[str, int]
    freed_bytes: int = 0

    def add(self, counts: Mapping[str, int]) -> None:
        """Add the counts of one database."""
        for key, count in counts.items():
            self.counts[key] += count


def counted_by(parts: Sequence[AnyPart]) -> list[Counted]:
    """Return the declared counts of the parts, each key once, in their order."""
    return list({each.key: each for part in parts for each in part.counted}.values())


class Sweep:
    """Sweeps a store once: drops data last used before `before_ms` (exclusive).

    `dry_run` opens everything read-only and only counts. `disposable_queues`: tasks of queues with this prefix are
    dropped as well if no worker is active there; their producers can recreate them.
    """

    def __init__(
        self,
        options: StoreOptions,
        parts: Sequence[AnyPart],
        clock: Clock,
        before_ms: int,
        dry_run: bool,
        disposable_queues: str,
    ) -> None:
        self._options = options
        self._parts = parts
        self._clock = clock
        self._before_ms = before_ms
        self._dry_run = dry_run
        self._disposable_queues = disposable_queues
        self.swept = Swept({each.key: 0 for each in counted_by(parts)})

    def run(self) -> Swept:
        """Sweep all parts. Raises StateStorageError; data dropped before that stays dropped."""
        for part in self._parts:
            if part.sweep is not None:
                for name in databases_of(self._options, part):
                    self._sweep_or_set_aside(part, part.sweep, name)
        if not self._dry_run:
            self.swept.freed_bytes += self._without_old_damage()
        return self.swept

    def _sweep_or_set_aside(self, part: AnyPart, sweep: Callable[[Any, SweepTask], Dropped], name: str) -> None:
        try:
            self._sweep(part, sweep, name)
        except StateStorageError as error:
            set_aside = backend_of(self._options).set_aside
            if not part.is_disposable or set_aside is None or not is_problem_of_the_file(error):
                raise
            if not self._dry_run:
                set_aside(self._options, name, error.message)

    def _without_old_damage(self) -> int:
        """Delete damaged files that were set aside before the limit, and return the bytes freed."""
        old = [path for path in set_aside_files([Path(self._options.folder)]) if _changed_ms(path) < self._before_ms]
        return sum(remove_set_aside(path) for path in old)

    def _sweep(self, part: AnyPart, sweep: Callable[[Any, SweepTask], Dropped], name: str) -> None:
        """Sweep one database, and compact or remove it if rows were dropped."""
        database = open_database(self._options, name, part.label, self._dry_run, part.is_disposable)
        try:
            dropped = sweep(part.open(database, self._clock), self._task(name))
            self.swept.add(dropped.counts)
            if not self._dry_run:
                self.swept.freed_bytes += self._freed_bytes(name, database, dropped)
        finally:
            database.close()

    def _freed_bytes(self, name: str, database: Database, dropped: Dropped) -> int:
        remove = backend_of(self._options).remove
        if dropped.is_spent and remove is not None:
            return remove(self._options, name)
        return _compacted(database.compact) if dropped.leaves_room else 0

    def _task(self, name: str) -> SweepTask:
        return SweepTask(
            database=name,
            before_ms=self._before_ms,
            now_ms=self._clock.now_ms(),
            is_dry=self._dry_run,
            can_remove=backend_of(self._options).remove is not None,
            disposable_queues=self._disposable_queues,
            unfinished_runs=self._unfinished,
        )

    def _unfinished(self) -> set[RunId]:
        found: set[RunId] = set()
        for name in run_log_names(self._options):
            log = open_run_log(self._options, name, readonly=True)
            try:
                found.update(row.run_id for row in log.unfinished())
            finally:
                log.close()
        return found


def _changed_ms(path: Path) -> float:
    return path.lstat().st_ctime * 1000


def _compacted(compact: Callable[[], int]) -> int:
    """Return the bytes freed by compacting; 0 if the database is busy or the disk is full."""
    try:
        return compact()
    except StateStorageError as error:
        if error.values.get("problem") not in ("busy", "full"):
            raise
        return 0
