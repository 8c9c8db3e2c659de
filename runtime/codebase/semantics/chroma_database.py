"""Opens a Chroma database below a folder, one operation at a time of all processes.

Chroma's own client neither sees what another process has written since it was opened nor keeps two writers apart. So
operations hold a lock file. It counts the writes, so that a client that has missed one is opened anew, and marks one
that is under way: a database in which a writer died may be torn. Such a one, one that Chroma fails on and one whose
seal is broken are made anew; all that is lost can be made again. Nothing is sent anywhere: the database is embedded,
and Chroma's reports to its maker are switched off.
"""

from __future__ import annotations

import fcntl
import importlib
import logging
import os
import shutil
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runtime.codebase.semantics.chroma_seal import ChromaSeal
from runtime.codebase.semantics.vector_store import first_number
from runtime.errors import JeevesError, StateStorageError

LOCK_NAME = "jeeves.lock"
LOCK_TIMEOUT_S = 10.0
_LOCK_POLL_S = 0.005
# The number of the last write, and whether one is under way.
_STATE = struct.Struct("!QQ")
# A number that no clock gives.
_NO_NUMBER = 1 << 60

log = logging.getLogger(__name__)


class ChromaWrites:
    """Holds the state of an operation under the lock."""

    def __init__(self, lock: int, client: Any, seal: ChromaSeal) -> None:
        self.client = client
        self.number = _state_of(lock)[0]
        self._lock = lock
        self._seal = seal
        self._is_begun = False

    def begin(self) -> int:
        """Mark that the database is being changed, and return the number of this write; once for each operation."""
        if not self._is_begun:
            self._is_begun = True
            self.number += 1
            os.pwrite(self._lock, _STATE.pack(self.number, 1), 0)
        return self.number

    def end(self) -> None:
        """Mark that the database is whole."""
        if self._is_begun:
            self._seal.write()
            os.pwrite(self._lock, _STATE.pack(self.number, 0), 0)


class ChromaDatabase:
    """Gives the stores of this process one client of a database, opened anew after a write by another process."""

    def __init__(self, path: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        self._path = path
        self._lock_timeout_s = lock_timeout_s
        self._seal = ChromaSeal(path)
        self._guard = threading.RLock()
        self._client: Any = None
        self._seen = -1

    @contextmanager
    def opened(self, *, is_write: bool = False) -> Iterator[ChromaWrites]:
        """Yield the client under the lock. Raises StateStorageError for whatever fails in it.

        After a failure of Chroma itself, or in a write, the next operation begins with an empty database.
        """
        with self._guard:
            try:
                with self._locked(is_write=is_write) as lock:
                    yield from self._used(lock)
            except JeevesError:
                self._close()
                raise
            except OSError as error:
                self._close()
                raise self._storage_error(f"{error}; check the folder and the disk") from error

    def _used(self, lock: int) -> Iterator[ChromaWrites]:
        number, _ = _state_of(lock)
        try:
            if self._client is not None and self._seen != number:
                self._close()
            if self._client is None:
                self._client = _client(self._path)
            writes = ChromaWrites(lock, self._client, self._seal)
            yield writes
            writes.end()
            self._seen = writes.number
        except (JeevesError, OSError, MemoryError):
            raise
        except BaseException as error:
            # A fault in Chroma's native code is no Exception.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            self._close()
            os.pwrite(lock, _STATE.pack(_state_of(lock)[0], 1), 0)
            raise self._storage_error(f"{error}; it is made anew") from error

    def _storage_error(self, reason: str) -> StateStorageError:
        problem = f"the vector store {self._path} cannot be read or written: {reason}"
        return StateStorageError(problem, path=str(self._path))

    def close(self) -> None:
        """Close the client; it is opened again when it is needed."""
        with self._guard:
            self._close()

    def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def _locked(self, *, is_write: bool) -> Iterator[int]:
        self._refuse_foreign()
        self._path.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self._wait_for(lock, is_write=is_write)
            if not self._is_whole(lock):
                # Only one process may begin anew; the others wait for it and then find the database whole.
                self._wait_for(lock, is_write=True)
                if not self._is_whole(lock):
                    self._begin_anew(lock)
            yield lock
        finally:
            os.close(lock)

    def _wait_for(self, lock: int, *, is_write: bool) -> None:
        deadline_s = time.monotonic() + self._lock_timeout_s
        while True:
            try:
                fcntl.flock(lock, (fcntl.LOCK_EX if is_write else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline_s:
                    raise StateStorageError(
                        f"the vector store {self._path} has been in use by another process for "
                        f"{self._lock_timeout_s:g} s; try again, or end that process",
                        path=str(self._path),
                    ) from None
                time.sleep(_LOCK_POLL_S)
            else:
                return

    def _refuse_foreign(self) -> None:
        """Refuse a database that was not begun here: it is not ours to write to, nor to empty."""
        is_others = (self._path / "chroma.sqlite3").exists() and not (self._path / LOCK_NAME).exists()
        if self._path.is_symlink() or is_others:
            raise StateStorageError(
                f"{self._path} is a link or holds a Chroma database that Jeeves did not make; move it away, and one is "
                "made in its place",
                path=str(self._path),
            )

    def _is_whole(self, lock: int) -> bool:
        """Return whether no write was left in its middle, and files that are to be opened are as they were sealed."""
        number, is_begun = _state_of(lock)
        if not number or is_begun:
            return False
        return (self._client is not None and self._seen == number) or self._seal.holds()

    def _begin_anew(self, lock: int) -> None:
        self._close()
        number = max(_state_of(lock)[0], first_number()) + 1
        os.pwrite(lock, _STATE.pack(number, 1), 0)
        left = [entry for entry in self._path.iterdir() if entry.name != LOCK_NAME]
        for entry in left:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        if left:
            log.warning("vector_store.begun_anew", extra={"path": str(self._path)})
        self._client = _client(self._path)
        self._seal.write()
        os.pwrite(lock, _STATE.pack(number, 0), 0)
        self._seen = number


_databases: dict[Path, ChromaDatabase] = {}
_databases_guard = threading.Lock()


def chroma_database(path: Path) -> ChromaDatabase:
    """Return the database below a folder, the same one for all stores of this process."""
    with _databases_guard:
        return _databases.setdefault(path.absolute(), ChromaDatabase(path))


@contextmanager
def between_writes(path: Path, patience_s: float) -> Iterator[None]:
    """Keep other processes from writing meanwhile, if none has begun to write for longer than `patience_s`."""
    try:
        lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # there is no database
        yield
        return
    deadline_s = time.monotonic() + patience_s
    try:
        while time.monotonic() < deadline_s:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOCK_POLL_S)
            else:
                break
        yield
    finally:
        os.close(lock)


def _client(path: Path) -> Any:
    chromadb = importlib.import_module("chromadb")
    settings = importlib.import_module("chromadb.config").Settings(anonymized_telemetry=False)
    try:
        return chromadb.PersistentClient(path=str(path), settings=settings)
    except Exception:
        # Chroma remembers a client that could not be opened, and would give the next one that one's remains.
        importlib.import_module("chromadb.api.shared_system_client").SharedSystemClient.clear_system_cache()
        raise


def _state_of(lock: int) -> tuple[int, int]:
    """Return the number of the last write, 0 for a database that is new, and whether it was not ended."""
    content = os.pread(lock, _STATE.size, 0)
    number, is_begun = _STATE.unpack(content.ljust(_STATE.size, b"\0"))
    return (number, is_begun) if number < _NO_NUMBER else (0, 1)
