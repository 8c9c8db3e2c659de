"""Holds the lock files that git itself uses, so that a user's git and ours exclude one another."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from runtime.codebase.files.disk_room import NO_ROOM, has_room
from runtime.codebase.git.git_folder import GitFolder
from runtime.codebase.git.lock_marks import remove_abandoned, take_marked
from runtime.errors import GitWriteError

PATIENCE_S = 3.0
POLL_S = 0.05


@contextmanager
def locked(folder: GitFolder, *names: str) -> Iterator[dict[str, Path]]:
    """Hold the locks of files of a work tree's own git folder (HEAD, index): name → the lock file.

    GitWriteError, with all of them that are in the way, if another program holds one for three seconds. `publish` gives
    a locked file new content; the locks are removed at the end. What a killed process of ours left is removed first.
    """
    held: dict[str, Path] = {}
    wanted = [_lock_of(folder.private / name) for name in names]
    try:
        for name, lock in zip(names, wanted, strict=True):
            _take(lock, wanted[len(held) :])
            held[name] = lock
        yield held
    finally:
        for path in held.values():
            path.unlink(missing_ok=True)


def publish(lock: Path, content: bytes) -> None:
    """Replace the file that a lock is held of by new content, at once; the lock stays until it is released."""
    # Not written into the lock: it would lose the mark by which a killed process's lock is known.
    written = lock.with_name(f"{lock.name}.new")
    try:
        written.unlink(missing_ok=True)
        with os.fdopen(os.open(written, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        written.replace(lock.with_name(lock.name.removesuffix(".lock")))
    except OSError as error:
        written.unlink(missing_ok=True)
        raise GitWriteError(f"{written} cannot be written: {error.strerror}") from error


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _take(lock: Path, wanted: Sequence[Path]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            take_marked(lock)
            return
        except FileExistsError as error:
            if remove_abandoned(lock):
                continue
            if time.monotonic() >= deadline_s:
                raise GitWriteError(_in_the_way(wanted)) from error
            time.sleep(POLL_S)
        except OSError as error:
            if not has_room(lock.parent):
                raise GitWriteError(NO_ROOM.format(place=lock.parent)) from error
            raise GitWriteError(f"{lock} cannot be made: {error.strerror}") from error


def _in_the_way(wanted: Sequence[Path]) -> str:
    there = [str(lock) for lock in wanted if os.path.lexists(lock)] or [str(wanted[0])]
    verb, file = ("exists", "file") if len(there) == 1 else ("exist", "files")
    return f"{', '.join(there)} {verb}: another git is at work, or one was killed; wait, or remove the {file}"
