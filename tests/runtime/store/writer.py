"""A process that writes until it is killed: groups of four events, two of each of two runs, telling which were kept."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from runtime.database.database import Database, Transaction
from runtime.database.postgres_database import PostgresDatabase
from runtime.database.sqlite_database import SqliteDatabase
from runtime.primitives.ids import RunId
from runtime.store.run_log import Entry, SqlRunLog
from runtime.supervision.events import CancelRequested, Event

RUNS = (RunId("r-left"), RunId("r-right"))


def group(number: int) -> list[Entry]:
    """Group number `number`, from 0: events 2n+1 and 2n+2 of both runs."""
    events = [
        Event(run_id, 2 * number + step, number, CancelRequested("x" * 500)) for run_id in RUNS for step in (1, 2)
    ]
    return [Entry("p", event) for event in events]


def opened(backend: str, place: str, schema: str = "") -> Database:
    return SqliteDatabase(Path(place)) if backend == "sqlite" else PostgresDatabase(place, schema)


class Dying:
    """A database whose process is killed at the `steps_left`-th step: a statement, or either side of a commit."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.steps_left = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def step(self) -> None:
        self.steps_left -= 1
        if self.steps_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def transaction(self, doing: str, **about: Any) -> Iterator[Any]:
        with self._database.transaction(doing, **about) as changes:
            yield DyingTransaction(changes, self.step)
            self.step()
        self.step()


class DyingTransaction:
    """Counts its statements."""

    def __init__(self, changes: Transaction, step: Callable[[], None]) -> None:
        self._changes = changes
        self._step = step

    def __getattr__(self, name: str) -> Any:
        self._step()
        return getattr(self._changes, name)


def main() -> None:
    dying = Dying(opened(*sys.argv[2:]))
    log = SqlRunLog(cast("Database", dying))
    dying.steps_left = int(sys.argv[1])
    for number in range(len(log.events(RUNS[0])) // 2, 1_000_000):
        log.append_all(group(number))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
