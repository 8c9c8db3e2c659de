"""Holds the logs that one supervisor drives: its own, and those that it has adopted.

Accepted runs belong to the store, not to the system that accepted them. Each supervisor looks through the run logs at
intervals and takes over those with unfinished runs and without a lease, by a transaction that only one can win. New
runs go to its own log. An adopted log is released when none of its runs is left to drive.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from actors.driven_log import DrivenLog
from actors.log_owner import LEASE_MS, LogOwner, never_wait
from runtime.bus.endpoint import Endpoint
from runtime.errors import OwnedError, StateStorageError, UnknownNameError
from runtime.hosting.abandoned_runs import ABANDONED_AFTER_MS, close_abandoned
from runtime.hosting.limits.limits_service import Limits
from runtime.hosting.pinned_pipelines import PinnedPipelines
from runtime.hosting.run_meter import RunMeter
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address, RunId
from runtime.run.envelope import Envelope
from runtime.store.options import StoreOptions
from runtime.store.run_records import RunSummary
from runtime.store.unowned_logs import FoundLogs, FoundRun, UnownedLog, find_run, reading, unowned_logs
from runtime.supervision.commands import ClientEvent
from runtime.supervision.events import RunRequested
from runtime.supervision.replay import client_events_of, fold

SEARCH_EVERY_MS = LEASE_MS
LOOK_AGAIN_S = 0.5

log = logging.getLogger(__name__)


class Adopter(NamedTuple):
    """Identifies who adopts: a supervisor of a system. `shard` of `shards` adopts the logs whose names map to it."""

    address: Address
    system_id: str
    store: StoreOptions
    shard: int = 0
    shards: int = 1
    abandoned_after_ms: int = ABANDONED_AFTER_MS


class RecordedRun(NamedTuple):
    """Holds a run as its log has it, whoever drives it."""

    envelope: Envelope
    events: list[ClientEvent]

    @property
    def is_over(self) -> bool:
        """True if the run has ended."""
        return self.envelope.lifecycle == "terminated"


class DrivenLogs:
    """Holds one supervisor's own log, and the logs that it has adopted."""

    def __init__(
        self,
        own: DrivenLog,
        adopter: Adopter,
        pipelines: Mapping[str, PipelineConfig],
        limits: Limits,
        endpoint: Endpoint,
        clock: Clock,
        calls_models: bool,
        meter: RunMeter,
    ) -> None:
        self.own = own
        self._adopter = adopter
        self._pipelines = pipelines
        self._parts = (pipelines, limits, endpoint, clock, calls_models, meter)
        self._clock = clock
        self._adopted: dict[str, DrivenLog] = {}
        self._log_of: dict[RunId, DrivenLog] = {}
        self._left: set[RunId] = set()
        self._idle: set[str] = set()
        self._adopting = asyncio.Lock()

    def __iter__(self) -> Iterator[DrivenLog]:
        return iter([self.own, *self._adopted.values()])

    def of(self, run_id: RunId) -> DrivenLog:
        """Return the log that a run is driven in; the own one for a run that was not adopted."""
        return self._log_of.get(run_id, self.own)

    def drives(self, run_id: RunId) -> bool:
        """Return whether the run is in one of these logs, driven or finished."""
        return run_id in self._log_of or _has(self.own, run_id)

    def note(self, run_id: RunId, driven: DrivenLog) -> None:
        """Record that a new run was added to an adopted log, such as a fork of one of its runs."""
        if driven is not self.own:
            self._log_of[run_id] = driven

    async def to_change(self, run_id: RunId) -> DrivenLog:
        """Return the log that a run can be changed in, adopted now if nobody owns it.

        The lease of a dead owner is waited for. Raises UnknownNameError, and OwnedError if a living system drives it.
        """
        if self.drives(run_id):
            return self.of(run_id)
        found = first = await self._found(run_id)
        gives_up_ms = self._clock.now_ms() + LEASE_MS
        while found.lease is not None and found.lease == first.lease and self._clock.now_ms() <= gives_up_ms:
            await self._clock.sleep(LOOK_AGAIN_S)
            found = await self._found(run_id)
        if self.drives(run_id):
            return self.of(run_id)
        driven = None if found.lease is not None else await self._adopt(found.log_name)
        if driven is None:
            holder = "another system" if found.lease is None else f"'{found.lease.holder}'"
            raise OwnedError(f"run {run_id} is driven by {holder}, which is alive; use that system", run_id=run_id)
        self._log_of[run_id] = driven
        return driven

    async def has_elsewhere(self, run_id: RunId) -> bool:
        """Return whether another log has the run; if nobody drives it there, that log is adopted."""
        if self.drives(run_id):
            return False
        try:
            await self.to_change(run_id)
        except UnknownNameError:
            return False
        except OwnedError as error:
            log.info("run.driven_elsewhere", extra={"run_id": run_id, "reason": error.message})
        return True

    async def recorded(self, run_id: RunId) -> RecordedRun:
        """Return a run of any other log as it is recorded. Raises UnknownNameError."""
        found = await self._found(run_id)
        recorded = await asyncio.to_thread(self._read, found.log_name, run_id)
        if recorded is None:
            raise UnknownNameError(f"the rules of run '{run_id}' were not kept; it cannot be read", name=run_id)
        return recorded

    async def recorded_news(self, run_id: RunId, after_seq: int, timeout_s: float) -> tuple[list[ClientEvent], bool]:
        """Return the events after `after_seq` of a run that another system drives; wait for the first one."""
        gives_up_s = self._clock.monotonic_s() + timeout_s
        while True:
            run = await self.recorded(run_id)
            news = [event for event in run.events if event.seq > after_seq]
            if news or run.is_over or self.drives(run_id) or self._clock.monotonic_s() >= gives_up_s:
                return news, run.is_over
            await self._clock.sleep(LOOK_AGAIN_S)

    async def keep_adopting(self) -> None:
        """Look for logs to adopt and for adopted ones to release, for ever."""
        while True:
            wait_ms = SEARCH_EVERY_MS
            try:
                self._release_idle()
                found = await asyncio.to_thread(self._search)
                for unowned in found.unowned:
                    if self._is_to_adopt(unowned):
                        await self._adopt(unowned.name, closes=True)
                if found.next_end_ms is not None:
                    wait_ms = max(0, min(wait_ms, found.next_end_ms - self._clock.now_ms()))
            except StateStorageError as error:
                log.warning("adoption.failed", extra={"reason": error.message})
            await self._clock.sleep(wait_ms / 1000)

    def release_all(self) -> None:
        """Release every log, so that other owners may follow at once."""
        for driven in self:
            driven.owner.release()

    def close_abandoned(self, owner: LogOwner) -> None:
        """Close the abandoned runs of a log that was just acquired. Raises StateStorageError."""
        after_ms, now_ms = self._adopter.abandoned_after_ms, self._clock.now_ms()
        closed = close_abandoned(owner.log, owner.epoch, self._pipelines, owner.unowned_since_ms, now_ms, after_ms)
        for run_id in closed:
            log.warning("run.abandoned", extra={"run_id": run_id})

    def take_again(self) -> None:
        """Take the logs that this supervisor had adopted before its process died; call it before anything begins."""
        held = (self.own.owner.log_name,)
        for unowned in unowned_logs(self._adopter.store, self._clock.now_ms(), held, self.own.owner.name).unowned:
            if (owner := self._owner_of(unowned.name)) is not None:
                self._add(unowned.name, owner, unowned.unfinished)

    def _search(self) -> FoundLogs:
        held = {driven.owner.log_name for driven in self}
        return unowned_logs(self._adopter.store, self._clock.now_ms(), held)

    async def _found(self, run_id: RunId) -> FoundRun:
        found = await asyncio.to_thread(find_run, self._adopter.store, run_id, self._clock.now_ms())
        if found is None:
            raise UnknownNameError(f"no run '{run_id}' is known here", name=run_id, known=[])
        return found

    def _is_to_adopt(self, unowned: UnownedLog) -> bool:
        if zlib.crc32(unowned.name.encode()) % self._adopter.shards != self._adopter.shard:
            return False
        return any(self._is_to_drive(row) or self._is_old(row, unowned.since_ms) for row in unowned.unfinished)

    def _is_to_drive(self, row: RunSummary) -> bool:
        return row.pipeline in self._pipelines and row.run_id not in self._left

    def _is_old(self, row: RunSummary, since_ms: int) -> bool:
        age_ms = self._clock.now_ms() - max(row.last_at_ms, since_ms)
        return age_ms >= self._adopter.abandoned_after_ms and row.run_id not in self._left

    async def _adopt(self, name: str, closes: bool = False) -> DrivenLog | None:
        """Take over a log and continue its runs; return None if another system was first.

        `closes`: close those that were abandoned. A run that somebody asks for is not.
        """
        async with self._adopting:
            if name in self._adopted:
                return self._adopted[name]
            owner = await asyncio.to_thread(self._owner_of, name)
            if owner is None:
                return None
            if closes:
                await asyncio.to_thread(self.close_abandoned, owner)
            rows = await asyncio.to_thread(owner.log.unfinished)
            driven = self._add(name, owner, rows)
            driven.begin(takes_up=True)
            await driven.shell.recovered.wait()
            self._left.update(row.run_id for row in rows if not _has(driven, row.run_id))
            log.info("run_log.adopted", extra={"run_log": name, "runs": driven.table.running})
            return driven

    def _owner_of(self, name: str) -> LogOwner | None:
        adopter = self._adopter
        try:
            return LogOwner(adopter.address, adopter.system_id, adopter.store, (name,), self._clock, never_wait)
        except OwnedError:
            return None

    def _add(self, name: str, owner: LogOwner, rows: list[RunSummary]) -> DrivenLog:
        driven = DrivenLog(owner, *self._parts)
        self._adopted[name] = driven
        self._log_of.update((row.run_id, driven) for row in rows)
        return driven

    def _release_idle(self) -> None:
        for name, driven in list(self._adopted.items()):
            if not driven.host.is_recovered or driven.table.running:
                self._idle.discard(name)
            elif name not in self._idle:
                self._idle.add(name)  # a caller may be about to add a fork: not before the next look
            else:
                self._idle.discard(name)
                del self._adopted[name]
                self._log_of = {run_id: other for run_id, other in self._log_of.items() if other is not driven}
                driven.close()
                log.info("run_log.released", extra={"run_log": name})

    def _read(self, name: str, run_id: RunId) -> RecordedRun | None:
        with reading(self._adopter.store, name) as run_log:
            events = run_log.events(run_id)
            first = events[0].payload if events else None
            pinned = PinnedPipelines(self._pipelines, run_log)
            config = pinned.to_read(first) if isinstance(first, RunRequested) else None
            if config is None:
                return None
            return RecordedRun(fold(config, events).envelope, list(client_events_of(config, events)))


def _has(driven: DrivenLog, run_id: RunId) -> bool:
    try:
        driven.table.envelope(run_id)
    except UnknownNameError:
        return False
    return True
