"""Implements a database in one PostgreSQL schema, over psycopg, for machines that share a store.

`durability` full waits until the server has the commit on its disk (synchronous_commit on). normal does not: commits
survive the death of this process, but the newest (some 0.6 s) may be lost when the server itself dies. A lost
connection is reopened before the next transaction; a transaction in progress fails. After a server was silent for some
time, calls fail at once for as long, so that callers on an event loop wait half of the time at most.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import conninfo

from runtime.database.database import Backend, Durability, Problem
from runtime.database.postgres_patience import BoundedConnection, SilentServerError
from runtime.errors import StateStorageError

CONNECT_TIMEOUT_S = 10
LOCK_TIMEOUT_S = 30
LOCK_SHARE = 0.75

_COMMITS: dict[Durability, str] = {"full": "on", "normal": "off"}
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")

# By SQLSTATE, the longest prefix first: the problem, its description in errors, and what to do.
_PROBLEMS: dict[str, tuple[Problem, str, str]] = {
    "28": ("refused", "the server refuses the user or the password", "check store.dsn"),
    "3D000": ("refused", "there is no such database", "create it, or check store.dsn"),
    "42501": ("refused", "the user lacks a right", "grant it the right to create and use the schema"),
    "53100": ("full", "no room is left on the server's disk", "make room there"),
    "53": ("busy", "the server lacks something", "look at its limits"),
    "55P03": ("busy", "another process holds it", "try again, or end that process"),
    "57": ("away", "the server is going down or coming up", "try again when it is there"),
    "08": ("away", "the connection was lost", "try again when the server is there"),
    "58": ("damaged", "the server's disk failed", "look at the server's log"),
    "XX": ("damaged", "the server found its data damaged", "look at the server's log"),
    "25006": ("read_only", "it was opened to look only", "open it for writing"),
}
_OTHER: tuple[Problem, str, str] = ("invalid", "the server refused", "look at the server's log")
_SILENT = (SilentServerError, psycopg.errors.ConnectionTimeout)
# Clocks that differ by less count as one.
LEAST_SKEW_S = 1.0

_AWAY: tuple[Problem, str, str] = ("away", "the server cannot be reached", "start it, or check store.dsn")


class PostgresDatabase:
    """Implements `Database` over one schema on a server, created if missing. `readonly` opens it for reading only."""

    backend: Backend = "postgres"

    def __init__(
        self,
        dsn: str,
        schema: str = "jeeves",
        durability: Durability = "full",
        readonly: bool = False,
        label: str = "store",
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """Connect, and create the schema if missing. Raises StateStorageError.

        `label` names its kind in errors; `wall_s` is this machine's clock, in seconds since the epoch.
        """
        if not _SCHEMA_NAME.fullmatch(schema):
            raise StateStorageError(
                f"'{schema}' cannot be the name of a schema; use lower-case letters, digits and _, 63 at most",
                problem="invalid",
                schema=schema,
            )
        self.schema = schema
        self.durability = durability
        self.is_readonly = readonly
        self._dsn = dsn
        self.location = f"{label} {_without_password(dsn)}, schema {schema}"
        self._lock = threading.RLock()
        self._wall_s = wall_s
        self._clock_ahead_ms, self._clock_offset_s = 0, 0.0
        self._is_closed = False
        self._patience_s: float | None = None
        self._left_alone_until_s = 0.0
        self._begin_writing = f"BEGIN; SELECT pg_advisory_xact_lock({_lock_number(schema)})"
        self._begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        try:
            self._db = self._connected()
        except psycopg.Error as error:
            raise self._failed("be opened", error) from error
        if not readonly:
            try:
                with self.transaction("be opened") as changes:
                    if not changes.rows("SELECT 1 FROM pg_namespace WHERE nspname = ?", (schema,)):
                        changes.execute(f'CREATE SCHEMA "{schema}"')
            except BaseException:
                self._db.close()
                raise

    def _connected(self) -> BoundedConnection:
        db = _connection(self._dsn, self._patience_s)
        try:
            self._set_up(db)
        except BaseException:
            db.close()
            raise
        return db

    def _set_up(self, db: BoundedConnection) -> None:
        lock_timeout_s = LOCK_TIMEOUT_S if self._patience_s is None else self._patience_s * LOCK_SHARE
        settings = {
            "search_path": f'"{self.schema}"',
            "synchronous_commit": _COMMITS[self.durability],
            "lock_timeout": f"{round(lock_timeout_s * 1000)}ms",
            "client_encoding": "UTF8",
        }
        for name, value in settings.items():
            db.execute("SELECT set_config(%s, %s, false)", (name, value))
        self._compare_clocks(db)

    def _compare_clocks(self, db: BoundedConnection) -> None:
        """Note how far the server's clock is ahead; a second is told from none, as answers take time."""
        began_s, offset_s = self._wall_s(), self._wall_s() - time.monotonic()
        row = db.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        assert row is not None
        ahead_s = row[0] - (began_s + self._wall_s()) / 2
        self._clock_ahead_ms = round(ahead_s * 1000) if abs(ahead_s) >= LEAST_SKEW_S else 0
        self._clock_offset_s = offset_s

    def clock_ahead_ms(self) -> int:
        """Return how far the server's clock is ahead: see `Database.clock_ahead_ms`."""
        with self._lock:
            if abs(self._wall_s() - time.monotonic() - self._clock_offset_s) >= LEAST_SKEW_S and not self._is_closed:
                # This machine's clock was set since.
                try:
                    self._compare_clocks(self._db)
                except psycopg.Error as error:
                    raise self._failed("tell its time", error) from error
            return self._clock_ahead_ms

    def wait_at_most(self, patience_s: float) -> None:
        """Bound all later waits: see `Database.wait_at_most`. Locks time out earlier, so that the server reports it."""
        with self._lock:
            self._patience_s = patience_s
            try:
                self._db.close()
                self._db = self._connected()
            except psycopg.Error as error:
                raise self._failed("be opened", error) from error

    @contextmanager
    def transaction(self, doing: str, **about: Any) -> Iterator[PostgresTransaction]:
        """Begin a write transaction: see `Database.transaction`."""
        if self.is_readonly:
            raise StateStorageError(
                f"{self.location} could not {doing}: it was opened to look only",
                location=self.location,
                problem="read_only",
                **about,
            )
        with self._transaction(self._begin_writing, doing, about) as changes:
            yield changes

    @contextmanager
    def read(self, doing: str = "be read") -> Iterator[PostgresTransaction]:
        """Begin a read transaction: see `Database.read`."""
        with self._transaction(self._begin_reading, doing, {}) as queries:
            yield queries

    @contextmanager
    def _transaction(self, begin: str, doing: str, about: dict[str, Any]) -> Iterator[PostgresTransaction]:
        with self._lock:
            if self._is_closed:
                raise self._closed(doing, about)
            began_s = time.monotonic()
            try:
                self._start(begin)
                try:
                    with self._db.cursor(binary=True) as cursor:
                        together = PostgresTransaction(self._db, cursor)
                        yield together
                        together.commit()
                except BaseException:
                    if not self._db.closed:
                        with suppress(psycopg.Error):  # the first error is reported; a lost connection rolls back too
                            self._db.execute("ROLLBACK")
                    raise
            except psycopg.Error as error:
                if self._patience_s is not None and isinstance(error, _SILENT):
                    now_s = time.monotonic()
                    self._left_alone_until_s = now_s + (now_s - began_s)
                raise self._failed(doing, error, about) from error

    def _start(self, begin: str) -> None:
        """Begin, on a new connection if the old one was lost: no statement was sent yet, so none is repeated."""
        if time.monotonic() < self._left_alone_until_s:
            raise psycopg.OperationalError("it was silent a moment ago and is left alone for now")
        try:
            if not self._db.closed:
                self._db.execute(begin)
                return
        except SilentServerError:
            raise
        except psycopg.OperationalError:
            if not self._db.closed:
                self._db.execute("ROLLBACK")
                raise
        self._db = self._connected()
        self._db.execute(begin)

    def work_on_copy(self) -> None:
        """Raise StateStorageError: a server's schema is not copied (see `Database.work_on_copy`)."""
        raise StateStorageError(
            f"{self.location} has an older schema; start jeeves once to bring it up to date",
            location=self.location,
            problem="older",
        )

    def compact(self) -> int:
        """Return 0: the server's own vacuum does that (see `Database.compact`)."""
        return 0

    def is_current(self) -> bool:
        """Return True: see `Database.is_current`."""
        return True

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._is_closed = True
            self._db.close()

    def _closed(self, doing: str, about: dict[str, Any]) -> StateStorageError:
        text = f"{self.location} could not {doing}: it is closed; open it again"
        return StateStorageError(text, location=self.location, problem="closed", **about)

    def _failed(self, doing: str, error: psycopg.Error, about: dict[str, Any] | None = None) -> StateStorageError:
        return _failure(self.location, doing, error, about or {})


class PostgresTransaction:
    """Executes statements between BEGIN and COMMIT.

    Statements for many rows are buffered until the next statement whose answer is needed, most often COMMIT, and are
    sent with it: each awaited answer costs a round trip.
    """

    def __init__(self, db: psycopg.Connection[tuple[Any, ...]], cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._db = db
        self._cursor = cursor
        self._waiting: list[tuple[str, list[Sequence[object]]]] = []

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        self._send()
        return self._cursor.execute(adapted(sql), values).fetchall()

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement and return the number of rows that it changed."""
        self._send()
        return self._cursor.execute(adapted(sql), values).rowcount

    def execute_all(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement once for each row of values, later: a later call may raise its error."""
        self._waiting.append((adapted(sql), list(rows)))

    def commit(self) -> None:
        """Send the buffered statements and commit."""
        self._send("COMMIT")

    def _send(self, last: str | None = None) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            if last is not None:
                self._db.execute(last)
            return
        with self._db.pipeline():
            for sql, rows in waiting:
                self._cursor.executemany(sql, rows)
            if last is not None:
                self._db.execute(last)

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""
        query = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
        return bool(self.rows(query, (name,)))


def schemas(dsn: str, prefix: str) -> list[str]:
    """Return the schemas of a server with that name prefix that the user may use. Raises StateStorageError."""
    query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) AND has_schema_privilege(oid, 'USAGE')"
    location = f"the store on {_without_password(dsn)}"
    try:
        with _connection(dsn) as db:
            return sorted(row[0] for row in db.execute(query, (prefix,)).fetchall())
    except psycopg.Error as error:
        raise _failure(location, "be opened", error, {}) from error


def _connection(dsn: str, patience_s: float | None = None) -> BoundedConnection:
    given = conninfo.conninfo_to_dict(dsn)
    timeout_s = int(given.pop("connect_timeout", None) or CONNECT_TIMEOUT_S)
    if patience_s is not None:
        timeout_s = min(timeout_s, int(patience_s)) if timeout_s > 0 else int(patience_s)
    db = BoundedConnection.connect(conninfo.make_conninfo("", **given, connect_timeout=timeout_s), autocommit=True)
    db.patience_s = patience_s
    return db


def _failure(location: str, doing: str, error: psycopg.Error, about: dict[str, Any]) -> StateStorageError:
    problem, what, remedy = _diagnosis(error)
    could = "cannot" if doing.startswith("be ") else "could not"
    told = " ".join(str(error).split())
    text = f"{location} {could} {doing}: {what} ({told}); {remedy}"
    return StateStorageError(text, location=location, problem=problem, **about)


@lru_cache(maxsize=512)
def adapted(sql: str) -> str:
    """Return the statement in psycopg's syntax. Statements are ours; values never become part of them."""
    return sql.replace("%", "%%").replace("?", "%s").replace(" WITHOUT ROWID", "")


def _without_password(dsn: str) -> str:
    try:
        given = conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        # libpq's message may quote the password.
        text = "store.dsn is no connection string of PostgreSQL; write postgresql://user:password@host:port/database"
        raise StateStorageError(text, problem="invalid") from None
    shown = {name: value for name, value in given.items() if name not in ("password", "sslpassword", "passfile")}
    return f"PostgreSQL ({conninfo.make_conninfo('', **shown)})"


def _lock_number(schema: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"jeeves {schema}".encode(), digest_size=8).digest(), "big", signed=True)


def _diagnosis(error: psycopg.Error) -> tuple[Problem, str, str]:
    state = error.sqlstate or ""
    if not state and isinstance(error, psycopg.OperationalError):
        # While connecting, libpq gives a message and no SQLSTATE.
        text = str(error)
        if "authentication failed" in text or "no password supplied" in text or "no pg_hba.conf entry" in text:
            return _PROBLEMS["28"]
        if "does not exist" in text and "database" in text:
            return _PROBLEMS["3D000"]
        return _AWAY
    matches = [prefix for prefix in _PROBLEMS if state.startswith(prefix)]
    return _PROBLEMS[max(matches, key=len)] if matches else _OTHER
