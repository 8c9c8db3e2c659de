"""Reads the runs of a store that no host of this process drives, as a caller may see them."""

from __future__ import annotations

import asyncio

from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.run.principal import may_control
from runtime.settings import Settings
from runtime.store.options import store_options
from runtime.store.run_records import RunSummary
from runtime.supervision.commands import ClientEvent
from runtime.supervision.replay import client_events_of, fold
from serve.run_logs import StoredRun, newest_runs, no_such_event, stored_run


class StoredRuns:
    """Shows the recorded runs of one user."""

    def __init__(self, settings: Settings, user_id: str) -> None:
        self._options = store_options(settings)
        self._user_id = user_id

    async def envelope(self, run_id: RunId) -> Envelope:
        """Return the envelope of a run as it was recorded. Raises UnknownNameError, also for a run of somebody else."""
        run = await self._run(run_id)
        return fold(run.rules, run.events).envelope

    async def events(self, run_id: RunId, after_seq: int) -> list[ClientEvent]:
        """Return the recorded events of a run after `after_seq`."""
        run = await self._run(run_id)
        return [event for event in client_events_of(run.rules, run.events) if event.seq > after_seq]

    async def check_event(self, run_id: RunId, seq: int) -> None:
        """Raise InputError if a run has no event with that number; 0 is before the first one."""
        if seq > 0 and not await self.events(run_id, seq - 1):
            raise no_such_event(run_id, seq)

    async def _run(self, run_id: RunId) -> StoredRun:
        def may_see(owner_id: str) -> bool:
            return may_control(self._user_id, owner_id)

        return await asyncio.to_thread(stored_run, self._options, run_id, may_see)

    async def newest(self, limit: int) -> list[RunSummary]:
        """Return the newest runs of the user, newest first."""
        return await asyncio.to_thread(newest_runs, self._options, limit, self._user_id)
