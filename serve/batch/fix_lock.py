"""Lets one process at a time work on a fix."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import InputError, OwnedError

FIX_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,79}")


def check_fix_id(fix_id: str) -> None:
    """Raise InputError for what cannot be the id of a fix, which names a branch and folders."""
    if FIX_ID.fullmatch(fix_id) is None:
        raise InputError(f"the id of a fix has letters, digits and dashes, at most 80, not {fix_id[:100]!r}")


@contextmanager
def only_one(folder: Path, fix_id: str) -> Iterator[None]:
    """Hold the lock of a fix within the block. Raises OwnedError if another process of this machine has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{fix_id}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            told = f"fix {fix_id} is under way in another process; wait for it, or stop that process"
            raise OwnedError(told, fix_id=fix_id) from error
        yield
