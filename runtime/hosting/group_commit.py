"""Commits concurrent run-table operations in one write.

Jobs run one after the other; an error of one job fails that job alone, and a failed write fails all of its jobs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from runtime.errors import StateStorageError
from runtime.hosting.run_table import RunTable

JOBS_AT_ONCE = 256

Result = TypeVar("Result")
Outcome = tuple["Job[Any]", Any, Exception | None]


class Job(Generic[Result]):
    """Holds an operation on a run table, with callbacks: `then` once it is recorded, `failed` if it is not.

    `token`: identifies the caller. `is_one_event`: it records one event at most, so that alone in its write it needs no
    batch.
    """

    __slots__ = ("action", "failed", "is_one_event", "then", "token")

    def __init__(
        self,
        action: Callable[[], Result],
        then: Callable[[Result], None],
        failed: Callable[[Exception], None],
        token: object = None,
        is_one_event: bool = False,
    ) -> None:
        self.action = action
        self.then = then
        self.failed = failed
        self.token = token
        self.is_one_event = is_one_event


class GroupCommit:
    """Queues jobs for a shared run table and runs them in batches."""

    def __init__(self, table: RunTable) -> None:
        self._table = table
        self._jobs: deque[Job[Any]] = deque()

    def add(self, job: Job[Any]) -> None:
        """Add a job to the next write."""
        self._jobs.append(job)

    def withdraw(self, token: object) -> None:
        """Drop the pending jobs of a caller that is gone."""
        self._jobs = deque(job for job in self._jobs if job.token is not token)

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a write."""
        return len(self._jobs)

    def write(self) -> list[Outcome]:
        """Run the oldest jobs, 256 at most, in one write; return each with its result or its error."""
        if len(self._jobs) == 1 and self._jobs[0].is_one_event:
            return [_outcome(self._jobs.popleft())]
        taken = [self._jobs.popleft() for _ in range(min(len(self._jobs), JOBS_AT_ONCE))]
        outcomes: list[Outcome] = []
        try:
            with self._table.together():
                for job in taken:
                    outcomes.append(_outcome(job))
        except Exception as failure:  # noqa: BLE001 - every caller that waits for the write gets its error
            return [(job, None, failure) for job in taken]
        return outcomes


def collect_until_failure(steps: Iterable[Result]) -> list[Result]:
    """Collect what `steps` yields before the log fails. Raises StateStorageError if that is nothing.

    For a job of many steps, each of which is valid without those after it; the caller runs the rest later.
    """
    done: list[Result] = []
    try:
        for step in steps:
            done.append(step)
    except StateStorageError:
        if not done:
            raise
    return done


def _outcome(job: Job[Any]) -> Outcome:
    try:
        return job, job.action(), None
    except Exception as error:  # noqa: BLE001 - the caller of the job gets it
        return job, None, error
