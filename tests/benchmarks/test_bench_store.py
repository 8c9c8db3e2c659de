"""What keeping events costs: against the bare driver that writes the same bytes as durably, in the same run.

One per commit is what a run alone pays; 32 per commit is what a busy supervisor pays, which writes events of many runs
together.
"""

from __future__ import annotations

import itertools
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from runtime.database.database import Database, Durability
from runtime.database.postgres_database import PostgresDatabase
from runtime.database.sqlite_database import SqliteDatabase
from runtime.primitives.ids import RunId
from runtime.store.run_log import Entry, SqlRunLog
from runtime.supervision.events import CancelRequested, Event, encode_event
from tests.benchmarks.conftest import Report
from tests.postgres_server import PostgresServer

COMMITS = 40
BYTES_PER_EVENT = 1_000
TEXT = os.urandom(BYTES_PER_EVENT // 2).hex()
DURABILITIES: tuple[Durability, ...] = ("full", "normal")

Group = list[tuple[str, int, int, bytes]]
Writer = Callable[[Group], None]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | PostgresServer:
    return tmp_path if request.param == "sqlite" else request.getfixturevalue("postgres")


def bare_sqlite(folder: Path, durability: Durability) -> Iterator[Writer]:
    db = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'}")
    db.execute("CREATE TABLE events (run_id TEXT, seq INTEGER, at_ms INTEGER, body BLOB, PRIMARY KEY (run_id, seq))")

    def write(group: Group) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", group)
        db.execute("COMMIT")

    yield write
    db.close()


def bare_postgres(server: PostgresServer, durability: Durability) -> Iterator[Writer]:
    table = f"bare_{secrets.token_hex(4)}"
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("SELECT set_config('synchronous_commit', %s, false)", ("on" if durability == "full" else "off",))
        db.execute(
            f"CREATE TABLE {table} (run_id TEXT, seq BIGINT, at_ms BIGINT, body BYTEA, PRIMARY KEY (run_id, seq))"
        )

        def write(group: Group) -> None:
            with db.transaction(), db.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", group)

        yield write


def opened(place: Path | PostgresServer, durability: Durability) -> Database:
    if isinstance(place, Path):
        return SqliteDatabase(place / "runs.sqlite", durability)
    return PostgresDatabase(place.dsn, f"bench_{secrets.token_hex(4)}", durability)


def commits_of(per_commit: int) -> Iterator[list[Event]]:
    """Groups without end: the next event of each of `per_commit` runs."""
    run_ids = [RunId(f"r-{number:016}") for number in range(per_commit)]
    for seq in itertools.count(1):
        yield [Event(run_id, seq, seq, CancelRequested(TEXT)) for run_id in run_ids]


@pytest.mark.benchmark(group="store")
@pytest.mark.parametrize("per_commit", [1, 32])
@pytest.mark.parametrize("durability", DURABILITIES)
def test_appending_events(
    benchmark: Any, held_against: Report, place: Path | PostgresServer, durability: Durability, per_commit: int
) -> None:
    database = opened(place, durability)
    log = SqlRunLog(database)
    epoch = log.take_over("bench")
    groups, bare_groups = commits_of(per_commit), commits_of(per_commit)

    def append() -> None:
        for group in itertools.islice(groups, COMMITS):
            log.append_all([Entry("p", event) for event in group], epoch)

    benchmark.pedantic(append, rounds=5, warmup_rounds=1)
    bare = bare_sqlite(place, durability) if isinstance(place, Path) else bare_postgres(place, durability)
    write = next(bare)

    def floor() -> None:
        for group in itertools.islice(bare_groups, COMMITS):
            write([(event.run_id, event.seq, event.at_ms, encode_event(event)) for event in group])

    held_against(floor, "events", COMMITS * per_commit, named="bare INSERTs")
    next(bare, None)
    log.close()


@pytest.mark.benchmark(group="store")
@pytest.mark.parametrize("durability", DURABILITIES)
def test_appending_events_beside_checkpoints_of_langgraph(
    benchmark: Any, held_against: Report, tmp_path: Path, durability: Durability
) -> None:
    saver_of = pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver
    checkpoint_of = pytest.importorskip("langgraph.checkpoint.base").empty_checkpoint
    log = SqlRunLog(SqliteDatabase(tmp_path / "runs.sqlite", durability))
    epoch = log.take_over("bench")
    groups = commits_of(1)

    def append() -> None:
        for (event,) in itertools.islice(groups, COMMITS):
            log.append("p", event, epoch)

    benchmark.pedantic(append, rounds=5, warmup_rounds=1)
    db = sqlite3.connect(tmp_path / "checkpoints.sqlite", check_same_thread=False)
    saver = saver_of(db)
    saver.setup()
    db.execute(f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'}")
    config: dict[str, Any] = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

    def checkpoints() -> None:
        nonlocal config
        for number in range(COMMITS):
            checkpoint = checkpoint_of() | {"channel_values": {"text": TEXT}}
            config = saver.put(config, checkpoint, {"source": "loop", "step": number, "parents": {}}, {"text": number})

    held_against(checkpoints, "events", COMMITS, named="LangGraph's saver")
    db.close()
