"""Keeps the store in SQLite files below one folder, a file for each database."""

from __future__ import annotations

from pathlib import Path

from runtime.database.database import Database
from runtime.database.sqlite_database import SqliteDatabase
from runtime.store.backends.backend import SqlBackend
from runtime.store.options import StoreOptions


def _path(options: StoreOptions, name: str) -> Path:
    return Path(options.folder) / f"{name}.sqlite"


def _open(options: StoreOptions, name: str, label: str, readonly: bool) -> Database:
    return SqliteDatabase(_path(options, name), options.durability, readonly, label)


def _names(options: StoreOptions, folder: str) -> list[str]:
    return sorted(path.stem for path in (Path(options.folder) / folder).glob("*.sqlite"))


def _remove(options: StoreOptions, name: str) -> int:
    path, freed_bytes = _path(options, name), 0
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        freed_bytes += file.stat().st_size if file.exists() else 0
        file.unlink(missing_ok=True)
    return freed_bytes


SQLITE = SqlBackend(
    name="sqlite",
    open_database=_open,
    names=_names,
    has=lambda options, name: _path(options, name).exists(),
    place=lambda options: options.folder,
    remove=_remove,
)
