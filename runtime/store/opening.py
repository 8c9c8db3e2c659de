"""Opens the stores that the settings ask for: one SQLite file each, or one PostgreSQL schema each.

`StoreOptions` is plain data, so that actors can be given it without the settings.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from runtime.database.database import Backend, Database, Durability
from runtime.database.sqlite_database import SqliteDatabase
from runtime.errors import StateStorageError
from runtime.memory.cache import CacheStore
from runtime.memory.entity_relations import RelationStore
from runtime.memory.sessions import SessionStore
from runtime.memory.tool_metrics import ToolMetricsStore
from runtime.primitives.clock import Clock
from runtime.store.run_log import SqlRunLog
from runtime.store.sql_journal import SqlJournal
from runtime.store.sql_work_queue import SqlWorkQueue

if TYPE_CHECKING:
    from runtime.settings import Settings

_SCHEMA_PREFIX = "jeeves"


class StoreOptions(msgspec.Struct, frozen=True):
    """Where state is kept: below `folder`, or on the server that `dsn` names, in schemas that begin with `schema`."""

    folder: str
    backend: Backend = "sqlite"
    dsn: str = ""
    durability: Durability = "full"
    schema: str = _SCHEMA_PREFIX

    def __repr__(self) -> str:
        """Without the dsn, which may hold a password."""
        return f"StoreOptions(folder={self.folder!r}, backend={self.backend!r}, durability={self.durability!r})"


class Stores:
    """What all agents of a system share, each part in a database of its own, opened when it is first asked for."""

    def __init__(self, options: StoreOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._opened: list[Database] = []

    def sessions(self) -> SessionStore:
        """Turns of users' sessions."""
        return SessionStore(self._open("sessions", "sessions"))

    def journal(self) -> SqlJournal:
        """Effects of stages."""
        return SqlJournal(self._open("journal", "journal"))

    def work_queue(self) -> SqlWorkQueue:
        """Tasks for workers."""
        return SqlWorkQueue(self._open("queues", "work queues"), self._clock)

    def cache(self) -> CacheStore:
        """Results worth keeping."""
        return CacheStore(self._open("cache", "cache"))

    def relations(self) -> RelationStore:
        """What evidence showed of how symbols and files are related."""
        return RelationStore(self._open("relations", "relations"), self._clock)

    def tool_metrics(self) -> ToolMetricsStore:
        """How tools fared on each repository."""
        return ToolMetricsStore(self._open("tool_metrics", "tool metrics"), self._clock)

    def _open(self, name: str, label: str) -> Database:
        database = open_database(self._options, name, label)
        self._opened.append(database)
        return database

    def close(self) -> None:
        """Release all of it."""
        for database in self._opened:
            database.close()


def store_options(settings: Settings) -> StoreOptions:
    """What the settings say about the store."""
    store = settings.store
    folder = store.path or settings.state_dir
    dsn = store.dsn.get_secret_value() if store.dsn is not None else ""
    return StoreOptions(str(folder), store.backend, dsn, store.durability)


def open_store(options: StoreOptions, clock: Clock) -> Stores:
    """The stores that all agents share. Parts raise StateStorageError when they are opened and cannot be."""
    return Stores(options, clock)


def open_run_log(options: StoreOptions, name: str, readonly: bool = False) -> SqlRunLog:
    """The run log `name` (such as `local` or `supervisor-0`). Raises StateStorageError."""
    return SqlRunLog(open_database(options, f"runs/{name}", "run log", readonly))


def run_log_names(options: StoreOptions) -> list[str]:
    """The names of the run logs that are there, sorted. Raises StateStorageError when a server cannot be asked."""
    if options.backend == "sqlite":
        return sorted(path.stem for path in (Path(options.folder) / "runs").glob("*.sqlite"))
    prefix = _schema_of(options, "runs/")
    return [name.removeprefix(prefix) for name in _postgres().schemas(options.dsn, prefix)]


def has_database(options: StoreOptions, name: str) -> bool:
    """True when that file or schema is there. Raises StateStorageError when a server cannot be asked."""
    if options.backend == "sqlite":
        return (Path(options.folder) / f"{name}.sqlite").exists()
    schema = _schema_of(options, name)
    return schema in _postgres().schemas(options.dsn, schema)


def open_database(options: StoreOptions, name: str, label: str, readonly: bool = False) -> Database:
    """The file `name`.sqlite, or the schema of that name. Raises StateStorageError."""
    if options.backend == "sqlite":
        return SqliteDatabase(Path(options.folder) / f"{name}.sqlite", options.durability, readonly, label)
    schema = _schema_of(options, name)
    database: Database = _postgres().PostgresDatabase(options.dsn, schema, options.durability, readonly, label)
    return database


def _schema_of(options: StoreOptions, name: str) -> str:
    return f"{options.schema}_{re.sub(r'[^a-z0-9_]', '_', name.lower())}"


def _postgres() -> ModuleType:
    """The module for PostgreSQL, whose driver is not always installed. Raises StateStorageError."""
    try:
        return importlib.import_module("runtime.database.postgres_database")
    except ImportError as error:
        raise StateStorageError(
            f"store.backend is postgres, but psycopg cannot be loaded ({error}); pip install 'jeeves[postgres]'"
        ) from error
