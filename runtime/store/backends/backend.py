"""What a SQL backend of the store is: how databases are opened, listed and removed there."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from runtime.database.database import Backend, Database
from runtime.store.options import StoreOptions


class SqlBackend(msgspec.Struct, frozen=True):
    """One backend, by its name in `store.backend`.

    `open_database(options, name, label, readonly)`; `names(options, folder)`: the databases `folder`/NAME that are
    there, by NAME, sorted; `has(options, name)`. `remove(options, name)` takes a database away and tells how many
    bytes that were; None where a database is not removed. `place(options)` names all of it in errors. All of them raise
    StateStorageError.
    """

    name: Backend
    open_database: Callable[[StoreOptions, str, str, bool], Database]
    names: Callable[[StoreOptions, str], list[str]]
    has: Callable[[StoreOptions, str], bool]
    place: Callable[[StoreOptions], str]
    remove: Callable[[StoreOptions, str], int] | None = None
