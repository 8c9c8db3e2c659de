"""Reads the runs of a store that no host of this process drives, as a caller may see them."""

from __future__ import annotations

import asyncio
from typing import Any

from runtime.errors import InputError, NotPermittedError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.run.principal import FORMER_USERS, may_control, read_principal
from runtime.settings import Settings
from runtime.store.options import store_options
from runtime.store.run_records import RunSummary
from runtime.supervision.commands import ClientEvent
from runtime.supervision.replay import client_events_of, fold
from serve.asked_runs import AskedRun, asked_runs
from serve.run_logs import StoredRun, newest_runs, no_such_event, stored_run, visible_runs
from serve.stage_outputs import OutputReader, stored_output

ALL = "all"


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

    def outputs_of(self, run_id: RunId) -> OutputReader:
        """Return what adds the outputs of stages to the events of a run."""
        return OutputReader(self._options, run_id, self._may_see)

    async def stage_output(self, run_id: RunId, seq: int) -> dict[str, Any]:
        """Return the output of the stage whose end is that event of a run. Raises UnknownNameError."""
        return await asyncio.to_thread(stored_output, self._options, run_id, seq, self._may_see)

    async def check_event(self, run_id: RunId, seq: int) -> None:
        """Raise InputError if a run has no event with that number; 0 is before the first one."""
        if seq > 0 and not await self.events(run_id, seq - 1):
            raise no_such_event(run_id, seq)

    async def _run(self, run_id: RunId) -> StoredRun:
        return await asyncio.to_thread(stored_run, self._options, run_id, self._may_see)

    def _may_see(self, owner_id: str) -> bool:
        return may_control(self._user_id, owner_id)

    async def newest(self, limit: int, principal: str | None = None) -> list[AskedRun]:
        """Return the newest runs of the user or, with `principal`, of that one or of `all` whose runs the user may see.

        Raises NotPermittedError for the runs of others, and InputError for what is no principal.
        """
        if principal == ALL:
            return await self._asked(await asyncio.to_thread(visible_runs, self._options, limit, self._may_see))
        user_id = principal or self._user_id
        if read_principal(user_id) is None and user_id not in FORMER_USERS:
            raise InputError(f"principal is {user_id[:100]!r}; give one such as `token:NAME` or `user:NAME`, or `all`")
        if not self._may_see(user_id):
            raise NotPermittedError(f"{self._user_id} may not see the runs of {user_id[:100]}")
        return await self._asked(await asyncio.to_thread(newest_runs, self._options, limit, user_id))

    async def _asked(self, runs: list[RunSummary]) -> list[AskedRun]:
        return await asyncio.to_thread(asked_runs, self._options, runs)
