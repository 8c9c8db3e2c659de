"""Declares SQL backends of the store: how databases are opened, listed and removed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from runtime.database.database import Backend, Database
from runtime.store.options import StoreOptions


class SqlBackend(msgspec.Struct, frozen=True):
    """Declares one backend, under its name in `store.backend`.

    `open_database(options, name, label, readonly)` opens a database; `names(options, folder)` returns the existing
    databases `folder`/NAME, by NAME, sorted; `has(options, name)` is true if a database exists. `remove(options, name)`
    deletes a database and returns its size in bytes; it is None if the backend keeps databases. `place(options)` names
    the whole store in errors. All of them raise StateStorageError.
    """

    name: Backend
    open_database: Callable[[StoreOptions, str, str, bool], Database]
    names: Callable[[StoreOptions, str], list[str]]
    has: Callable[[StoreOptions, str], bool]
    place: Callable[[StoreOptions], str]
    remove: Callable[[StoreOptions, str], int] | None = None
