"""Keeps the store on a PostgreSQL server, a schema for each database.

The driver is an optional dependency.
"""

from __future__ import annotations

import importlib
import re
from types import ModuleType

from runtime.database.database import Database
from runtime.errors import StateStorageError
from runtime.store.backends.backend import SqlBackend
from runtime.store.options import StoreOptions


def _schema(options: StoreOptions, name: str) -> str:
    return f"{options.schema}_{_plain(name)}"


def _plain(name: str) -> str:
    """Return a name in the characters that schemas have without quotes."""
    return re.sub(r"[^a-z0-9_]", "_", name.lower())


def _open(options: StoreOptions, name: str, label: str, readonly: bool, is_guarded: bool) -> Database:
    # A server keeps its schemas: none is cut to nothing.
    del is_guarded
    database: Database = _driver().PostgresDatabase(
        options.dsn, _schema(options, name), options.durability, readonly, label
    )
    return database


def _names(options: StoreOptions, folder: str) -> list[str]:
    prefix = _schema(options, f"{folder}/")
    return [name.removeprefix(prefix) for name in _driver().schemas(options.dsn, prefix)]


def _has(options: StoreOptions, name: str) -> bool:
    schema = _schema(options, name)
    return schema in _driver().schemas(options.dsn, schema)


def _driver() -> ModuleType:
    try:
        return importlib.import_module("runtime.database.postgres_database")
    except ImportError as error:
        raise StateStorageError(
            f"store.backend is postgres, but psycopg cannot be loaded ({error}); pip install 'jeeves[postgres]'"
        ) from error


POSTGRES = SqlBackend(
    name="postgres",
    open_database=_open,
    names=_names,
    has=_has,
    place=lambda options: "the PostgreSQL server",
    listed_as=_plain,
)
