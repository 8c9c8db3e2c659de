"""What the stores stand on: transactions, reading, and schema versions, the same over SQLite and PostgreSQL.

SQL is written once, in what both understand: `?` for values, TEXT, BIGINT and BYTEA for columns, ON CONFLICT for
upserts. Each backend adapts what differs and turns its driver's errors into StateStorageError with a `problem`:

    damaged   the file is no database, or was cut off      read_only  it cannot be written
    full      no room is left                              busy       another process writes all the time
    newer     a newer version of Jeeves wrote it           refused    the server refuses user, password or right
    older     only a writer may bring it up to date        away       the server cannot be reached, or went away
    closed    it was closed before                         invalid    what was asked for makes no sense to the server

Schemas go forward only. Each component has an ordered list of migrations; a ledger in the same database says how many
of them were applied. A database that knows more of them than this program is left untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

import msgspec

from runtime.errors import StateStorageError

Backend = Literal["sqlite", "postgres"]
Durability = Literal["full", "normal"]
Problem = Literal["damaged", "full", "newer", "older", "closed", "read_only", "busy", "refused", "away", "invalid"]

LEDGER = "schema_versions"
_CREATE_LEDGER = f"CREATE TABLE IF NOT EXISTS {LEDGER} (component TEXT PRIMARY KEY, version BIGINT NOT NULL)"
_SET_VERSION = f"INSERT INTO {LEDGER} VALUES (?, ?) ON CONFLICT (component) DO UPDATE SET version = excluded.version"


class Transaction(Protocol):
    """Statements that are kept together or not at all."""

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows that a query gives."""

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Carry out a statement; how many rows it changed."""

    def execute_all(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Carry out a statement once for each row of values."""

    def has_table(self, name: str) -> bool:
        """True when there is a table of that name."""


class Database(Protocol):
    """One SQLite file or one PostgreSQL schema; safe to call from several threads of one process.

    `location` names it in errors: a path, or a connection string without its password. `durability` says what an
    accepted write survives: `full` a loss of power, `normal` only the death of this process.
    """

    backend: Backend
    location: str
    durability: Durability
    is_readonly: bool

    def transaction(self, doing: str, **about: Any) -> AbstractContextManager[Transaction]:
        """One writer at a time, here and beside other processes; when it ends well, all of it is kept.

        `doing` completes "could not …" in the StateStorageError that a failure raises; `about` are its values. When
        the failure met the very end, what was written may have been kept after all.
        """

    def read(self, doing: str = "be read") -> AbstractContextManager[Transaction]:
        """Queries that all see the same state. Raises StateStorageError."""

    def wait_at_most(self, patience_s: float) -> None:
        """From now on nobody is waited for much longer than that, for whoever has an event loop to serve.

        Other writers that take longer are `busy`; a server that says nothing for so long is `away`.
        """

    def work_on_copy(self) -> None:
        """Go on with a private copy of a database that was opened to look only, so that it can be migrated.

        Raises StateStorageError when the backend cannot do that.
        """

    def compact(self) -> int:
        """Give the room of deleted rows back to the machine; how many bytes that were.

        Others cannot write meanwhile. A server does that by itself, in its own time: 0. Raises StateStorageError.
        """

    def close(self) -> None:
        """Release what it holds; every later call raises StateStorageError."""


Step = str | Callable[[Transaction], None]
Migration = tuple[Step, ...]


class Schema(msgspec.Struct, frozen=True):
    """Lists the migrations of one component's tables, in order. Released migrations are never changed."""

    component: str
    migrations: tuple[Migration, ...]

    def apply(self, database: Database) -> None:
        """Migrate the tables to the newest version. Raises StateStorageError."""
        migrate(database, self.component, self.migrations)

    def version_in(self, database: Database) -> int:
        """Return how many migrations were applied. Raises StateStorageError if a newer version applied more."""
        with database.read("have its schema read") as queries:
            return _version(database, queries, self.component, len(self.migrations))


def migrate(database: Database, component: str, migrations: Sequence[Migration]) -> None:
    """Bring the tables of `component` to the newest version, all of it or nothing.

    Raises StateStorageError when they are newer than this program knows; nothing is changed then.
    """
    with database.read("have its schema read") as queries:
        version = _version(database, queries, component, len(migrations))
    if version == len(migrations):
        return
    if database.is_readonly:
        database.work_on_copy()
    with database.transaction(f"bring the schema of {component} up to date") as changes:
        changes.execute(_CREATE_LEDGER)
        # Another process may have been faster.
        version = _version(database, changes, component, len(migrations))
        for migration in migrations[version:]:
            for step in migration:
                if isinstance(step, str):
                    changes.execute(step)
                else:
                    step(changes)
        changes.execute(_SET_VERSION, (component, len(migrations)))


def _version(database: Database, queries: Transaction, component: str, known: int) -> int:
    if not queries.has_table(LEDGER):
        return 0
    found = queries.rows(f"SELECT version FROM {LEDGER} WHERE component = ?", (component,))
    version = int(found[0][0]) if found else 0
    if version > known:
        raise newer_schema(database.location, component, version, known)
    return version


def newer_schema(location: str, component: str, version: int, known: int) -> StateStorageError:
    """The error for a database that a newer version has written."""
    return StateStorageError(
        f"{location} has schema {version} of {component}, this version reads up to {known}; upgrade jeeves",
        location=location,
        problem="newer",
        version=version,
        known=known,
    )
