"""A process that writes until it is killed: groups of four events, two of each of two runs, telling which were kept."""

from __future__ import annotations

import sys
from pathlib import Path

from runtime.ids import RunId
from runtime.store.database import Database
from runtime.store.postgres_database import PostgresDatabase
from runtime.store.run_log import Entry, SqlRunLog
from runtime.store.sqlite_database import SqliteDatabase
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


def main() -> None:
    log = SqlRunLog(opened(*sys.argv[1:]))
    for number in range(len(log.events(RUNS[0])) // 2, 1_000_000):
        log.append_all(group(number))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
