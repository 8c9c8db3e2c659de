"""Queues operations to record in one write, and retries those that no sender would repeat."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from runtime.errors import FencedError, StateStorageError
from runtime.hosting.group_commit import GroupCommit, Job
from runtime.hosting.host_outputs import Deposed, NotRecorded, Output, RetryIn, WriteDue
from runtime.hosting.run_table import RunTable
from runtime.primitives.ids import RunId
from runtime.supervision.commands import Command

RETRY_S = 0.5
WRITE_DUE = WriteDue()

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class RecordQueue:
    """Queues the jobs of one host. `emit` takes the outputs for its shell."""

    def __init__(self, table: RunTable, emit: Callable[[Output], None]) -> None:
        self._table = table
        self._emit = emit
        self._commit = GroupCommit(table)
        self._retries: dict[int, Job[Any]] = {}
        self._numbers = itertools.count(1)
        self._settling: set[RunId] = set()
        self._is_due = False
        self.is_deposed = False

    def add(self, job: Job[Any]) -> None:
        """Add a job to the next write."""
        self._commit.add(job)
        if not self._is_due:
            self._is_due = True
            self._emit(WRITE_DUE)

    def withdraw(self, token: object) -> None:
        """Drop the pending jobs of a caller that is gone."""
        self._commit.withdraw(token)

    def retry_until_recorded(
        self,
        run_id: RunId | None,
        action: Callable[[], Result],
        then: Callable[[Result], None],
        given_up: Callable[[], None] = lambda: None,
        waits_first: bool = False,
        is_one_event: bool = False,
    ) -> None:
        """Run an operation that no sender would repeat, and retry it until the log records it.

        `given_up` is called if it fails for another reason than the log. `waits_first`: the log has just failed.
        """

        def failed(error: Exception) -> None:
            self._emit(NotRecorded(run_id, error))
            if isinstance(error, StateStorageError):
                self._retry_later(job)
            else:
                given_up()

        job = Job(action, then, failed, is_one_event=is_one_event)
        (self._retry_later if waits_first else self.add)(job)

    def settle(self, run_id: RunId, then: Callable[[list[Command]], None]) -> None:
        """Find out whether a failed record was kept after all, and call `then` with the commands that follow."""
        if run_id in self._settling:
            return
        self._settling.add(run_id)

        def settled(commands: list[Command]) -> None:
            self._settling.discard(run_id)
            then(commands)

        def given_up() -> None:
            self._settling.discard(run_id)

        self.retry_until_recorded(None, lambda: self._table.catch_up(run_id), settled, given_up, waits_first=True)

    def retry(self, number: int) -> None:
        """Queue the job of a `RetryIn` whose delay is over."""
        job = self._retries.pop(number, None)
        if job is not None:
            self.add(job)

    def write(self) -> None:
        """Run the queued jobs in one write, then call their callbacks."""
        if self.is_deposed:
            return
        outcomes = self._commit.write()
        for _, _, error in outcomes:
            if isinstance(error, FencedError):
                self.depose(error)
                return
        for job, result, error in outcomes:
            try:
                job.then(result) if error is None else job.failed(error)
            except Exception:
                log.exception("supervisor.job_failed")  # the callbacks of the other jobs must run all the same
        # After the callbacks of this write, so that none of its callers waits for the next one.
        self._is_due = self._commit.waiting > 0
        if self._is_due:
            self._emit(WRITE_DUE)

    def depose(self, error: FencedError) -> None:
        """Stop for good, as another owner has taken over the log."""
        self.is_deposed = True
        self._emit(Deposed(error))

    def _retry_later(self, job: Job[Any]) -> None:
        number = next(self._numbers)
        self._retries[number] = job
        self._emit(RetryIn(number, RETRY_S))
