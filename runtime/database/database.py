"""Defines the interface of databases: transactions, reads and migrations over SQLite and PostgreSQL.

SQL is written once, in the common subset: `?` for values, TEXT, BIGINT and BYTEA for columns, ON CONFLICT for
upserts. Each backend adapts the differences and turns its driver's errors into StateStorageError with a `problem`:

    damaged   the file is no database, or was cut off      read_only  it cannot be written
    full      no space is left                             busy       another process writes all the time
    newer     a newer version of Jeeves wrote it           refused    the server refuses user, password or right
    older     only a writer may bring it up to date        away       the server cannot be reached, or went away
    closed    it was closed before                         invalid    the server rejects the request as invalid
    lost      it was made before, and is empty or gone

Schemas migrate forward only. Each component has an ordered list of migrations; a ledger in the same database counts
those that were applied. A database with more of them than this program knows is left untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

import msgspec

from runtime.errors import StateStorageError

Backend = Literal["sqlite", "postgres"]
Durability = Literal["full", "normal"]
Problem = Literal[
    "damaged", "full", "newer", "older", "closed", "read_only", "busy", "refused", "away", "invalid", "lost"
]

LEDGER = "schema_versions"
_CREATE_LEDGER = f"CREATE TABLE IF NOT EXISTS {LEDGER} (component TEXT PRIMARY KEY, version BIGINT NOT NULL)"
_SET_VERSION = f"INSERT INTO {LEDGER} VALUES (?, ?) ON CONFLICT (component) DO UPDATE SET version = excluded.version"


class Transaction(Protocol):
    """Executes statements that are committed together or not at all."""

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement and return the number of rows that it changed."""

    def execute_all(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement once for each row of values."""

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""


class Database(Protocol):
    """Reads and writes one SQLite file or one PostgreSQL schema; safe to call from several threads of one process.

    `location` names it in errors: a path, or a connection string without its password. `durability`: with `full` a
    committed write survives a loss of power, with `normal` only the death of this process.
    """

    backend: Backend
    location: str
    durability: Durability
    is_readonly: bool

    def transaction(self, doing: str, **about: Any) -> AbstractContextManager[Transaction]:
        """Begin a write transaction, one at a time over all processes; it commits when its block ends without error.

        `doing` completes "could not …" in the StateStorageError that a failure raises; `about` are its values. If the
        commit itself fails, the transaction may have been committed after all.
        """

    def read(self, doing: str = "be read") -> AbstractContextManager[Transaction]:
        """Begin a read transaction, whose queries all see the same state. Raises StateStorageError."""

    def wait_at_most(self, patience_s: float) -> None:
        """Bound all later waits to about that long, for callers on an event loop.

        Waiting longer for another writer raises `busy`; a server that is silent for so long is `away`.
        """

    def work_on_copy(self) -> None:
        """Replace a database that was opened read-only by a private copy of it, which can be migrated.

        Raises StateStorageError if the backend does not support that.
        """

    def compact(self) -> int:
        """Release the space of deleted rows to the disk and return the bytes freed.

        Others cannot write meanwhile. A server does that by itself: 0. Raises StateStorageError.
        """

    def is_current(self) -> bool:
        """Return False if another file was put in the place of the open one. Raises StateStorageError if none is there.

        A server has no such place: True.
        """

    def clock_ahead_ms(self) -> int:
        """Return how far the clock that all users of the database go by is ahead of this machine's, negative: behind.

        That clock is the server's; a file's is this machine's: 0. Raises StateStorageError.
        """

    def close(self) -> None:
        """Close the database; every later call raises StateStorageError."""


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
    """Migrate the tables of `component` to the newest version, in one transaction.

    Raises StateStorageError if they are newer than this program knows; nothing is changed then.
    """
    with database.read("have its schema read") as queries:
        version = _version(database, queries, component, len(migrations))
    if version == len(migrations):
        return
    if database.is_readonly:
        database.work_on_copy()
    with database.transaction(f"bring the schema of {component} up to date") as changes:
        changes.execute(_CREATE_LEDGER)
        # Another process may have migrated them meanwhile.
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
    """Return the error for a database that a newer version has written."""
    return StateStorageError(
        f"{location} has schema {version} of {component}, this version reads up to {known}; upgrade jeeves",
        location=location,
        problem="newer",
        version=version,
        known=known,
    )
