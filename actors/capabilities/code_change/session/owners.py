"""Tells which owners of sessions still run: each holds the lock of a file while it lives."""

from __future__ import annotations

import fcntl
import hashlib
import secrets
from contextlib import suppress
from pathlib import Path
from typing import IO

from runtime.errors import StateStorageError


class Owner:
    """Names this process among those that share a state folder."""

    def __init__(self, folder: Path) -> None:
        """Take a name and its lock. Raises StateStorageError."""
        self.name = secrets.token_hex(8)
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._held: IO[bytes] = (folder / f"{self.name}.lock").open("wb")
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StateStorageError(f"{folder} cannot be written: {error.strerror}") from error

    def is_alive(self, name: str) -> bool:
        """Return whether the process of that name holds its lock; the file of one that died is removed."""
        if server_of(name) == self.name:
            return True
        return is_driven(self._folder, name)

    def close(self) -> None:
        """Let go of the name."""
        self._held.close()
        with suppress(FileNotFoundError, NotADirectoryError):  # the state folder may be gone
            (self._folder / f"{self.name}.lock").unlink()


def driver_of(server: str, connection: str) -> str:
    """Return the name of a client of a server; clients without a connection of their own share the server's."""
    return f"{server}.{hashlib.sha256(connection.encode()).hexdigest()[:16]}" if connection else server


def server_of(driver: str) -> str:
    """Return the name of the process whose client a driver is."""
    return driver.partition(".")[0]


def is_driven(folder: Path, name: str) -> bool:
    """Return whether the process of that name holds its lock in a folder; the file of one that died is removed."""
    path = folder / f"{server_of(name)}.lock"
    try:
        with path.open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    with suppress(FileNotFoundError):
        path.unlink()
    return False
