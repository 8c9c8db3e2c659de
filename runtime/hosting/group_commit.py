"""Group commit: what several callers want of a run table while one write is under way goes with the next one.

Each caller waits until what it did is recorded. Jobs run one after the other on the event loop; what one of them raises
is its caller's alone, and a write that fails fails all that were in it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from runtime.errors import StateStorageError
from runtime.hosting.run_table import RunTable

JOBS_AT_ONCE = 256

Result = TypeVar("Result")


class GroupCommit:
    """The one way to a run table that is shared."""

    def __init__(self, table: RunTable) -> None:
        self._table = table
        self._jobs: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._is_due = False

    async def do(self, job: Callable[[], Result]) -> Result:
        """What `job` returns, once what it did to the table is recorded. Raises what the job or the write raises."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()
        self._jobs.append((job, done))
        if not self._is_due:
            self._is_due = True
            loop.call_soon(self._write)
        return await done

    def _write(self) -> None:
        taken = [self._jobs.popleft() for _ in range(min(len(self._jobs), JOBS_AT_ONCE))]
        results: list[tuple[asyncio.Future[Any], Any, Exception | None]] = []
        try:
            with self._table.together():
                for job, done in taken:
                    if done.cancelled():
                        continue  # whoever wanted it is not there any more to carry out what follows
                    results.append((done, *_outcome(job)))
        except Exception as failure:  # noqa: BLE001 - whoever waits for the write is to know, whatever it was
            results = [(done, None, failure) for _, done in taken]
        for done, result, error in results:
            if done.cancelled():
                continue
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)
        # After the callers of this write have been told, so that none of them waits for the next one.
        self._is_due = bool(self._jobs)
        if self._is_due:
            asyncio.get_running_loop().call_soon(self._write)


def as_far_as_possible(steps: Iterable[Result]) -> list[Result]:
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


def _outcome(job: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return job(), None
    except Exception as error:  # noqa: BLE001 - it is raised where the job came from
        return None, error
