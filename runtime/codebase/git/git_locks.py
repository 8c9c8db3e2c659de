"""Holds the lock files that git itself uses, so that a user's git and ours exclude one another."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.codebase.git.git_folder import GitFolder
from runtime.errors import GitWriteError

PATIENCE_S = 3.0
POLL_S = 0.05


@contextmanager
def locked(folder: GitFolder, *names: str) -> Iterator[dict[str, Path]]:
    """Hold the locks of files of a work tree's own git folder (HEAD, index): name → the lock file.

    GitWriteError if another program holds one for three seconds. `publish` writes a file through its lock; a lock that
    is left is removed at the end.
    """
    held: dict[str, Path] = {}
    try:
        for name in names:
            held[name] = _taken(folder.private / name)
        yield held
    finally:
        for path in held.values():
            path.unlink(missing_ok=True)


def publish(lock: Path, content: bytes) -> None:
    """Replace a file by its lock file with new content, at once."""
    try:
        with lock.open("wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        lock.replace(lock.with_name(lock.name.removesuffix(".lock")))
    except OSError as error:
        raise GitWriteError(f"{lock} cannot be written: {error.strerror}") from error


def _taken(path: Path) -> Path:
    lock = path.with_name(f"{path.name}.lock")
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return lock
        except FileExistsError as error:
            if time.monotonic() >= deadline_s:
                raise GitWriteError(
                    f"{lock} exists: another git is at work, or one was killed; wait, or remove the file"
                ) from error
            time.sleep(POLL_S)
        except OSError as error:
            raise GitWriteError(f"{lock} cannot be made: {error.strerror}") from error
