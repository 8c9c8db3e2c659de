"""Declares SQL backends of the store: how databases are opened, listed and removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from runtime.database.database import Backend, Database
from runtime.store.options import StoreOptions


class SqlBackend(msgspec.Struct, frozen=True):
    """Declares one backend, under its name in `store.backend`.

    `open_database(options, name, label, readonly, is_guarded)` opens a database; a guarded one that was made before is
    not begun anew. `names(options, folder)` returns the existing databases `folder`/NAME, by NAME, sorted;
    `listed_as(name)` returns the form in which `names` lists a database of that name.
    `has(options, name)` is true if a database exists. `remove(options, name)` deletes a database and returns its size
    in bytes; it is None if the backend keeps databases. `set_aside(options, name, reason)` moves a damaged one away, so
    that it can be made anew; None if the backend cannot. `place(options)` names the whole store in errors. All of them
    raise StateStorageError.
    """

    name: Backend
    open_database: Callable[[StoreOptions, str, str, bool, bool], Database]
    names: Callable[[StoreOptions, str], list[str]]
    has: Callable[[StoreOptions, str], bool]
    place: Callable[[StoreOptions], str]
    listed_as: Callable[[str], str] = str
    remove: Callable[[StoreOptions, str], int] | None = None
    set_aside: Callable[[StoreOptions, str, str], Path] | None = None
