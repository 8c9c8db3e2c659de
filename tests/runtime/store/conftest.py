"""Where the stores of these tests are: each test runs against every backend."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.database.database import Database, Durability
from runtime.database.postgres_database import PostgresDatabase
from runtime.database.sqlite_database import SqliteDatabase
from runtime.store.run_log import MemoryRunLog, RunLog, SqlRunLog
from tests.postgres_server import PostgresServer

BACKENDS = ("sqlite", "postgres")


class Place:
    """One SQLite file or one PostgreSQL schema, that can be opened again and again as several processes would."""

    def __init__(self, backend: str, folder: Path, server: PostgresServer | None = None) -> None:
        self.backend = backend
        self.path = folder / "deep" / "store.sqlite"
        self.server = server
        self.schema = f"t_{secrets.token_hex(6)}"
        self._opened: list[Database] = []

    def open(self, durability: Durability = "normal", readonly: bool = False) -> Database:
        """Another connection to the same place."""
        database: Database
        if self.server is None:
            database = SqliteDatabase(self.path, durability, readonly)
        else:
            database = PostgresDatabase(self.server.dsn, self.schema, durability, readonly)
        self._opened.append(database)
        return database

    def beside(self) -> Place:
        """Another place of the same kind, where nothing is yet."""
        return Place(self.backend, self.path.parent / secrets.token_hex(6), self.server)

    @property
    def arguments(self) -> list[str]:
        """The same place, for another process: see `tests.runtime.store.writer`."""
        return [self.backend, str(self.path)] if self.server is None else [self.backend, self.server.dsn, self.schema]

    def close(self) -> None:
        for database in self._opened:
            database.close()
        if self.server is not None:
            database = PostgresDatabase(self.server.dsn, self.schema)
            with database.transaction("be dropped") as changes:
                changes.execute(f'DROP SCHEMA "{self.schema}" CASCADE')
            database.close()


def make_place(backend: str, request: pytest.FixtureRequest, folder: Path) -> Place:
    return Place(backend, folder, request.getfixturevalue("postgres") if backend == "postgres" else None)


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = make_place(request.param, request, tmp_path)
    yield made
    made.close()


LogOpener = Callable[[], RunLog]


@pytest.fixture(params=["memory", *BACKENDS])
def open_log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LogOpener]:
    """Opens the same run log again and again; in memory there is but one."""
    if request.param == "memory":
        memory = MemoryRunLog()
        yield lambda: memory
        return
    made = make_place(request.param, request, tmp_path)
    yield lambda: SqlRunLog(made.open())
    made.close()


@pytest.fixture
def log(open_log: LogOpener) -> RunLog:
    return open_log()
