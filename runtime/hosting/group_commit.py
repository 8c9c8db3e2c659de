"""Group commit: what several callers want of a run table while one write is under way goes with the next one.

Jobs run one after the other; what one of them raises is its own, and a write that fails fails all that were in it.
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
    """Something to do to a run table, and what follows: `then` once it is recorded, `failed` when it is not.

    `token`: who asked for it. `is_one_event`: it records one event at most, so that it needs nothing to hold its
    records together when it is alone in its write.
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
    """The one way to a run table that is shared."""

    def __init__(self, table: RunTable) -> None:
        self._table = table
        self._jobs: deque[Job[Any]] = deque()

    def add(self, job: Job[Any]) -> None:
        """Take a job for the next write."""
        self._jobs.append(job)

    def withdraw(self, token: object) -> None:
        """Whoever asked is not there any more: what has not been done is not done for them."""
        self._jobs = deque(job for job in self._jobs if job.token is not token)

    @property
    def waiting(self) -> int:
        """How many jobs wait for a write."""
        return len(self._jobs)

    def write(self) -> list[Outcome]:
        """Do the jobs that came first, 256 at most, with one write; each with its result or what it failed with."""
        if len(self._jobs) == 1 and self._jobs[0].is_one_event:
            return [_outcome(self._jobs.popleft())]
        taken = [self._jobs.popleft() for _ in range(min(len(self._jobs), JOBS_AT_ONCE))]
        outcomes: list[Outcome] = []
        try:
            with self._table.together():
                for job in taken:
                    outcomes.append(_outcome(job))
        except Exception as failure:  # noqa: BLE001 - whoever waits for the write is to know, whatever it was
            return [(job, None, failure) for job in taken]
        return outcomes


def collect_until_failure(steps: Iterable[Result]) -> list[Result]:
    """What `steps` yields before the log fails, so that it is not lost. Raises StateStorageError when that is nothing.

    For a job of many steps, each of which is good without those after it; the caller comes back for the rest.
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
    except Exception as error:  # noqa: BLE001 - it is told where the job came from
        return job, None, error
