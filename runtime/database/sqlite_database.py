"""Implements a database in one SQLite file with a write-ahead log: the embedded default.

`durability` full waits for the disk at every commit (synchronous FULL). normal leaves that to the operating system:
commits survive a killed process, but the newest may be lost in a power failure; the file stays intact either way.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from runtime.database.database import Backend, Durability, Problem, newer_schema
from runtime.errors import StateStorageError

# The layout of the file as a whole; 1 and 2 were run logs without a ledger of components.
FILE_FORMAT = 3
BUSY_TIMEOUT_S = 10.0
OPENED_AGAIN_AFTER_S = 0.005
IN_MEMORY = Path(":memory:")
# Beside a database whose content cannot be recreated: an empty file that says that it was made.
MADE_SUFFIX = ".made"

_SYNCHRONOUS: dict[Durability, str] = {"full": "FULL", "normal": "NORMAL"}

# By SQLite's primary result code: the problem, its description in errors, and what to do.
_PROBLEMS: dict[int, tuple[Problem, str, str]] = {
    sqlite3.SQLITE_FULL: ("full", "no room is left on the disk", "make room there, or set JEEVES_STATE_DIR"),
    sqlite3.SQLITE_CORRUPT: ("damaged", "the file is damaged", "put a copy back, or move it away to begin anew"),
    sqlite3.SQLITE_NOTADB: ("damaged", "the file is no database", "put a copy back, or move it away to begin anew"),
    sqlite3.SQLITE_READONLY: ("read_only", "the file cannot be written", "check its rights, or set JEEVES_STATE_DIR"),
    sqlite3.SQLITE_CANTOPEN: ("read_only", "the file cannot be opened", "check the folder, or set JEEVES_STATE_DIR"),
    sqlite3.SQLITE_PERM: ("read_only", "the file cannot be opened", "check its rights, or set JEEVES_STATE_DIR"),
    sqlite3.SQLITE_BUSY: ("busy", "another process holds it", "try again, or end that process"),
    sqlite3.SQLITE_LOCKED: ("busy", "another process holds it", "try again, or end that process"),
    sqlite3.SQLITE_IOERR: ("full", "the disk failed or is full", "check the disk, or set JEEVES_STATE_DIR"),
}
_OTHER: tuple[Problem, str, str] = ("invalid", "SQLite refused", "check the state folder")


class SqliteDatabase:
    """Implements `Database` over one file. With `readonly` nothing is written, and a missing file is an error."""

    backend: Backend = "sqlite"

    def __init__(
        self,
        path: Path,
        durability: Durability = "full",
        readonly: bool = False,
        label: str = "store",
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        is_guarded: bool = False,
    ) -> None:
        """Open and prepare the file; `label` names its kind in errors. Raises StateStorageError.

        A database that `is_guarded` is marked once it holds something; with the mark, an empty or missing file is a
        loss (problem `lost`) and no new database. So is one that is deleted, moved or replaced while it is open.
        """
        self.path = path
        self.location = f"{label} {path}"
        self.durability = durability
        self.is_readonly = readonly
        self._lock = threading.RLock()
        self._is_private = False
        self._is_guarded = is_guarded
        self._check_not_lost()
        try:
            _check_kind(path)
            if not readonly:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _connected(_uri(path, readonly), busy_timeout_s)
        except (OSError, sqlite3.Error) as error:
            raise self._failed("be opened", error) from error
        try:
            self._prepare_in_turn(busy_timeout_s)
            self._mark()
            self._file = _file_at(path)
        except BaseException as error:
            self._db.close()
            if isinstance(error, sqlite3.Error | OSError):
                raise self._failed("be opened", error) from error
            raise

    def _prepare_in_turn(self, timeout_s: float) -> None:
        """Prepare the file and retry while another process does: switching to WAL does not wait for its lock."""
        until_s = time.monotonic() + timeout_s
        while True:
            try:
                self._prepare()
                return
            except sqlite3.OperationalError as error:
                if _diagnosis(error, self.path)[0] != "busy" or time.monotonic() >= until_s:
                    raise
            time.sleep(OPENED_AGAIN_AFTER_S)

    def _prepare(self) -> None:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > FILE_FORMAT:
            raise newer_schema(self.location, "the file", version, FILE_FORMAT)
        # Reads the first pages: this fails for a file that is damaged or cut off.
        self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if self.is_readonly:
            return
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={_SYNCHRONOUS[self.durability]}")
        if version < FILE_FORMAT:
            # Versions without the ledger refuse the file from here on, and so cannot damage it.
            self._db.execute(f"PRAGMA user_version={FILE_FORMAT}")

    @contextmanager
    def transaction(self, doing: str, **about: Any) -> Iterator[SqliteTransaction]:
        """Begin a write transaction: see `Database.transaction`."""
        if self.is_readonly and not self._is_private:
            raise StateStorageError(
                f"{self.location} could not {doing}: it was opened to look only",
                location=self.location,
                path=str(self.path),
                problem="read_only",
                **about,
            )
        with self._transaction("BEGIN IMMEDIATE", doing, about) as changes:
            yield changes
        if self._is_guarded and not self._is_marked:
            try:
                self._mark()
            except (OSError, sqlite3.Error) as error:
                raise self._failed("be marked as made", error, about) from error

    @contextmanager
    def read(self, doing: str = "be read") -> Iterator[SqliteTransaction]:
        """Begin a read transaction: see `Database.read`."""
        with self._transaction("BEGIN", doing, {}) as queries:
            yield queries

    @contextmanager
    def _transaction(self, begin: str, doing: str, about: dict[str, Any]) -> Iterator[SqliteTransaction]:
        with self._lock:
            if self._is_guarded:
                self._check_in_place()
            try:
                self._db.execute(begin)
                try:
                    yield SqliteTransaction(self._db)
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:
                        with suppress(sqlite3.Error):  # the first error is reported; closing rolls back as well
                            self._db.execute("ROLLBACK")
                    raise
            except (sqlite3.Error, OverflowError) as error:
                raise self._failed(doing, error, about) from error

    def wait_at_most(self, patience_s: float) -> None:
        """Bound all later waits: see `Database.wait_at_most`."""
        with self._lock:
            self._db.execute(f"PRAGMA busy_timeout={round(patience_s * 1000)}")

    def work_on_copy(self) -> None:
        """Replace the file by a copy in memory: see `Database.work_on_copy`."""
        with self._lock:
            copy = _connected(":memory:", BUSY_TIMEOUT_S)
            try:
                self._db.backup(copy)
            except sqlite3.Error as error:
                copy.close()
                raise self._failed("be read", error) from error
            self._db.close()
            self._db, self._is_private = copy, True

    def compact(self) -> int:
        """Release the space of deleted rows: see `Database.compact`."""
        with self._lock:
            try:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                before = self._bytes()
                if self._db.execute("PRAGMA freelist_count").fetchone()[0]:
                    self._db.execute("VACUUM")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                return max(before - self._bytes(), 0)
            except (sqlite3.Error, OSError) as error:
                raise self._failed("give room back", error) from error

    def _bytes(self) -> int:
        wal = self.path.with_name(self.path.name + "-wal")
        return self.path.stat().st_size + (wal.stat().st_size if wal.exists() else 0)

    def clock_ahead_ms(self) -> int:
        """Return 0: see `Database.clock_ahead_ms`."""
        return 0

    def is_current(self) -> bool:
        """Compare the open file with the one at its path: see `Database.is_current`."""
        if self._is_private or self._file is None:
            return True
        try:
            return _file_at(self.path) == self._file
        except FileNotFoundError as error:
            mark = made_mark(self.path)
            raise StateStorageError(
                f"{self.location} was deleted or moved while it was open, perhaps with its folder {self.path.parent}: "
                "move it back, or end this process, put a copy back if there is one, and start again",
                location=self.location,
                path=str(self.path),
                problem="lost",
                **({"mark": str(mark)} if mark.exists() else {}),
            ) from error
        except OSError as error:
            raise self._failed("be found", error) from error

    def _check_in_place(self) -> None:
        """Raise StateStorageError unless the open file is at its path: what is written elsewhere nobody finds again."""
        if not self.is_current():
            raise StateStorageError(
                f"{self.location} was replaced by another file while it was open: end this process and start again, "
                "which then goes on with the file that is there",
                location=self.location,
                path=str(self.path),
                problem="lost",
            )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _check_not_lost(self) -> None:
        """Raise StateStorageError if the file was made before and is empty or gone now."""
        try:
            if not self._is_guarded or not made_mark(self.path).exists() or _has_content(self.path):
                return
        except OSError:  # a folder that cannot be looked into: whoever opens the file tells of that
            return
        wal = self.path.with_name(self.path.name + "-wal")
        kept = f" ({wal} is still there and may hold its newest part)" if wal.exists() and wal.stat().st_size else ""
        raise StateStorageError(
            f"{self.location} was cut to nothing or deleted: what it held is lost{kept}; put a copy back, or start "
            f"anew with: rm '{made_mark(self.path)}'",
            location=self.location,
            path=str(self.path),
            mark=str(made_mark(self.path)),
            problem="lost",
        )

    def _mark(self) -> None:
        """Mark a database that holds tables as made."""
        self._is_marked = not self._is_guarded or self.is_readonly or made_mark(self.path).exists()
        if not self._is_marked and self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            made_mark(self.path).touch(mode=0o600)
            self._is_marked = True

    def _failed(self, doing: str, error: Exception, about: dict[str, Any] | None = None) -> StateStorageError:
        self._check_not_lost()
        problem, what, remedy = _diagnosis(error, self.path)
        could = "cannot" if doing.startswith("be ") else "could not"
        return StateStorageError(
            f"{self.location} {could} {doing}: {what} ({error}); {remedy}",
            location=self.location,
            path=str(self.path),
            problem=problem,
            **(about or {}),
        )


class SqliteTransaction:
    """Executes statements between BEGIN and COMMIT."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self._db.execute(sql, values).fetchall()

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement and return the number of rows that it changed."""
        return self._db.execute(sql, values).rowcount

    def execute_all(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement once for each row of values."""
        self._db.executemany(sql, rows)

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)))


def made_mark(path: Path) -> Path:
    """Return the path of the mark beside a database."""
    return path.with_name(path.name + MADE_SUFFIX)


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _file_at(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from all others as long as it is open; None in memory."""
    if path == IN_MEMORY:
        return None
    told = path.stat()
    return told.st_dev, told.st_ino


def _check_kind(path: Path) -> None:
    """Raise OSError for what is no regular file, before SQLite waits for a pipe or reads a device."""
    if path != IN_MEMORY and os.path.lexists(path) and not path.is_file():
        kind = "a folder" if path.is_dir() else "a link that leads nowhere" if path.is_symlink() else "no regular file"
        raise NotRegularFileError(f"it is {kind}")


class NotRegularFileError(OSError):
    """Reports a folder, pipe, device or dangling link in the place of a database."""


def _connected(uri: str, busy_timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=uri.startswith("file:"), check_same_thread=False, timeout=busy_timeout_s, isolation_level=None
    )


def _uri(path: Path, readonly: bool) -> str:
    if not readonly:
        return str(path)
    # A file in WAL mode without its side files can only be read in a folder where SQLite may create them.
    is_still = not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists()
    return f"{path.absolute().as_uri()}?mode=ro" + ("&immutable=1" if is_still else "")


def _diagnosis(error: Exception, path: Path) -> tuple[Problem, str, str]:
    if isinstance(error, NotRegularFileError):
        return ("damaged", "something else is in its place", "put a copy back, or move it away to begin anew")
    if isinstance(error, OSError):
        return ("read_only", f"{path.parent} cannot be made or used", "check the folder, or set JEEVES_STATE_DIR")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return ("closed", "it is closed", "open it again")
    code = getattr(error, "sqlite_errorcode", None)
    return _PROBLEMS.get(code & 0xFF, _OTHER) if code is not None else _OTHER
