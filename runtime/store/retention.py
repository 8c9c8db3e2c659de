"""What goes when it is old: finished runs and what belongs to them, sessions, cached results, dead letters.

Every part is dropped in short transactions beside those who write, so a system may be up meanwhile. What cannot be had
again never goes: runs that are not over stay, whatever their age, and their journals with them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from runtime.codebase.knowledge.relation_store import RelationStore
from runtime.database.database import Database
from runtime.errors import OwnedError, StateStorageError
from runtime.memory.cache import CacheStore
from runtime.memory.sessions import SessionStore
from runtime.memory.tool_metrics import ToolMetricsStore
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.store.opening import StoreOptions, has_database, open_database, open_run_log, run_log_names
from runtime.store.sql_journal import SqlJournal
from runtime.store.sql_work_queue import SqlWorkQueue

RUNS_AT_ONCE = 200
ONE_OFF_PREFIX = "one-off-"
LEASE_MS = 60_000

Part = TypeVar("Part")


class Swept(msgspec.Struct):
    """How much of everything went, or would go; `freed_bytes` came back to the machine."""

    runs: int = 0
    logs: int = 0
    journals: int = 0
    sessions: int = 0
    cached: int = 0
    relations: int = 0
    dead_letters: int = 0
    abandoned_tasks: int = 0
    freed_bytes: int = 0


class Sweep:
    """One sweep of a store: everything that was last touched before `before_ms` (exclusive).

    `dry_run` opens everything to look only. `disposable_queues`: tasks of queues whose names begin so go as well when
    nobody works on them; whoever made them can make them again.
    """

    def __init__(
        self, options: StoreOptions, clock: Clock, before_ms: int, dry_run: bool, disposable_queues: str
    ) -> None:
        self._options = options
        self._clock = clock
        self._before_ms = before_ms
        self._dry_run = dry_run
        self._disposable_queues = disposable_queues
        self.swept = Swept()

    def run(self) -> Swept:
        """Sweep all of it. Raises StateStorageError; what was dropped before that stays dropped."""
        # Before the runs: a run whose journal is seen here is in a log already, if it is under way.
        self._part("journal", "journal", SqlJournal, self._sweep_journal)
        for name in run_log_names(self._options):
            self._sweep_log(name)
        self._part("sessions", "sessions", SessionStore, self._sweep_sessions)
        self._part("cache", "cache", CacheStore, self._sweep_cache)
        self._part("relations", "relations", lambda opened: RelationStore(opened, self._clock), self._sweep_relations)
        self._part(
            "tool_metrics", "tool metrics", lambda opened: ToolMetricsStore(opened, self._clock), self._sweep_counts
        )
        self._part("queues", "work queues", lambda opened: SqlWorkQueue(opened, self._clock), self._sweep_queues)
        return self.swept

    def _part(self, name: str, label: str, opened: Callable[[Database], Part], sweep: Callable[[Part], int]) -> None:
        """Sweep a part that is there, and give its room back when something went."""
        if not has_database(self._options, name):
            return
        database = open_database(self._options, name, label, readonly=self._dry_run)
        try:
            if sweep(opened(database)) and not self._dry_run:
                self.swept.freed_bytes += _compacted(database.compact)
        finally:
            database.close()

    def _sweep_journal(self, journal: SqlJournal) -> int:
        over = set(journal.run_ids()) - self._unfinished()
        for run_id in over if not self._dry_run else ():
            journal.forget(run_id)
        self.swept.journals = len(over)
        return len(over)

    def _unfinished(self) -> set[RunId]:
        found: set[RunId] = set()
        for name in run_log_names(self._options):
            log = open_run_log(self._options, name, readonly=True)
            try:
                found.update(row.run_id for row in log.unfinished())
            finally:
                log.close()
        return found

    def _sweep_log(self, name: str) -> None:
        log = open_run_log(self._options, name, readonly=self._dry_run)
        try:
            if self._dry_run:
                self.swept.runs += len(log.finished_before(self._before_ms))
                self.swept.logs += _is_spent(name) and len(log.runs(2**31)) == len(log.finished_before(self._before_ms))
                return
            dropped = 0
            while log.finished_before(self._before_ms, 1):
                dropped += len(log.drop_finished(self._before_ms, RUNS_AT_ONCE))
            self.swept.runs += dropped
            if _is_spent(name) and self._options.backend == "sqlite" and not log.runs(1):
                self._remove(name)
            elif dropped and log.lease(self._clock.now_ms()) is None:
                self.swept.freed_bytes += _compacted(log.compact)  # an owner at work takes the room itself
        finally:
            log.close()

    def _remove(self, name: str) -> None:
        """Take away the log of a one-off system that is gone. Who comes for it meanwhile finds it owned."""
        path = Path(self._options.folder) / "runs" / f"{name}.sqlite"
        log = open_run_log(self._options, name)
        try:
            log.take_over("jeeves gc", self._clock.now_ms(), LEASE_MS)
            if log.runs(1):
                return
            for suffix in ("", "-wal", "-shm"):
                part = path.with_name(path.name + suffix)
                self.swept.freed_bytes += part.stat().st_size if part.exists() else 0
                part.unlink(missing_ok=True)
            self.swept.logs += 1
        except OwnedError:
            return
        finally:
            log.close()

    def _sweep_sessions(self, sessions: SessionStore) -> int:
        act = sessions.unused if self._dry_run else sessions.drop_unused
        self.swept.sessions = len(act(self._before_ms))
        return self.swept.sessions

    def _sweep_cache(self, cache: CacheStore) -> int:
        act = cache.unused if self._dry_run else cache.drop_unused
        self.swept.cached = act(self._before_ms)
        return self.swept.cached

    def _sweep_relations(self, relations: RelationStore) -> int:
        act = relations.unused if self._dry_run else relations.drop_unused
        self.swept.relations = act(self._before_ms)
        return self.swept.relations

    def _sweep_counts(self, metrics: ToolMetricsStore) -> int:
        """Counts of tools are told with the cached results."""
        act = metrics.unused if self._dry_run else metrics.drop_unused
        counted = act(self._before_ms)
        self.swept.cached += counted
        return counted

    def _sweep_queues(self, queue: SqlWorkQueue) -> int:
        old = queue.old_tasks(self._before_ms, self._disposable_queues, drop=not self._dry_run)
        self.swept.dead_letters, self.swept.abandoned_tasks = old
        return sum(old)


def _is_spent(name: str) -> bool:
    return name.startswith(ONE_OFF_PREFIX)


def _compacted(compact: Callable[[], int]) -> int:
    """The room that came back; none while somebody else is at work there, who fills it again."""
    try:
        return compact()
    except StateStorageError as error:
        if error.values.get("problem") not in ("busy", "full"):
            raise
        return 0
