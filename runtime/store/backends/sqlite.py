"""Keeps the store in SQLite files below one folder, a file for each database."""

from __future__ import annotations

from pathlib import Path

from runtime.database.database import Database
from runtime.database.set_aside import set_aside
from runtime.database.sqlite_database import BUSY_TIMEOUT_S, MADE_SUFFIX, SqliteDatabase, made_mark
from runtime.store.backends.backend import SqlBackend
from runtime.store.options import StoreOptions

# A question waits no longer for a file that it can do without.
DISPOSABLE_BUSY_TIMEOUT_S = 2.0


def _path(options: StoreOptions, name: str) -> Path:
    return Path(options.folder) / f"{name}.sqlite"


def _open(options: StoreOptions, name: str, label: str, readonly: bool, is_guarded: bool) -> Database:
    timeout_s = BUSY_TIMEOUT_S if is_guarded else DISPOSABLE_BUSY_TIMEOUT_S
    return SqliteDatabase(_path(options, name), options.durability, readonly, label, timeout_s, is_guarded)


def _names(options: StoreOptions, folder: str) -> list[str]:
    # Those that are gone are named as well: opening them tells of the loss.
    below = Path(options.folder) / folder
    made = (path.with_suffix("") for path in below.glob(f"*.sqlite{MADE_SUFFIX}"))
    return sorted({path.stem for path in (*below.glob("*.sqlite"), *made)})


def _remove(options: StoreOptions, name: str) -> int:
    path, freed_bytes = _path(options, name), 0
    made_mark(path).unlink(missing_ok=True)  # first: a mark without its file would be reported as a loss
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        freed_bytes += file.stat().st_size if file.exists() else 0
        file.unlink(missing_ok=True)
    return freed_bytes


def _set_aside(options: StoreOptions, name: str, reason: str) -> Path:
    return set_aside(_path(options, name), reason)


SQLITE = SqlBackend(
    name="sqlite",
    open_database=_open,
    names=_names,
    has=lambda options, name: _path(options, name).exists() or made_mark(_path(options, name)).exists(),
    place=lambda options: options.folder,
    remove=_remove,
    set_aside=_set_aside,
)
