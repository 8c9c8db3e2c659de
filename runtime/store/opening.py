"""Opens the parts of the store: one SQLite file or one PostgreSQL schema each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from runtime.bus.queries import QueryHandler
from runtime.database.database import Database
from runtime.database.sqlite_database import IN_MEMORY, SqliteDatabase
from runtime.database.store_part import AnyPart, StorePart
from runtime.errors import DuplicateHandlerError
from runtime.primitives.clock import Clock
from runtime.store.backends.backend_registry import backend_of
from runtime.store.disposable_store import DisposableStore, Ways
from runtime.store.options import StoreOptions
from runtime.store.run_log_part import RUN_LOGS
from runtime.store.sql_run_log import SqlRunLog

Opened = TypeVar("Opened")


class Stores:
    """Opens the parts that all agents of a system share, each in its database, and closes them together."""

    def __init__(self, options: StoreOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._opened: list[Database] = []

    def part(self, part: StorePart[Opened]) -> Opened:
        """Open a part for writing. Raises StateStorageError; a damaged file is made anew if the part is disposable."""
        set_aside = backend_of(self._options).set_aside
        if not part.is_disposable or set_aside is None:
            return self._on(part, self._database(part))

        def anew(reason: str) -> Opened:
            set_aside(self._options, part.database, reason)
            return self._on(part, self._database(part))

        ways = Ways(
            lambda: self._on(part, self._database(part)),
            anew,
            lambda: self._on(part, SqliteDatabase(IN_MEMORY, label=part.label)),
        )
        return cast(Opened, DisposableStore(part.name, part.cost_of_loss, ways))

    def _database(self, part: AnyPart) -> Database:
        return open_database(self._options, part.database, part.label, is_disposable=part.is_disposable)

    def _on(self, part: StorePart[Opened], database: Database) -> Opened:
        self._opened.append(database)
        return part.open(database, self._clock)

    def close(self) -> None:
        """Close all databases that were opened."""
        for database in self._opened:
            database.close()


def open_store(options: StoreOptions, clock: Clock) -> Stores:
    """Return the stores that all agents share; `Stores.part` opens them and raises StateStorageError."""
    return Stores(options, clock)


def store_queries(parts: Iterable[AnyPart], open_part: Callable[[AnyPart], object]) -> dict[str, QueryHandler]:
    """Return the handlers of the parts by message type; parts without handlers are not opened.

    Raises DuplicateHandlerError for a type that two of them answer, and what `open_part` raises.
    """
    found: dict[str, QueryHandler] = {}
    for part in parts:
        if part.handlers is None:
            continue
        for type_, handler in part.handlers(open_part(part)).items():
            if type_ in found:
                raise DuplicateHandlerError(f"two parts of the store answer '{type_}'", type=type_)
            found[type_] = handler
    return found


def open_run_log(options: StoreOptions, name: str, readonly: bool = False) -> SqlRunLog:
    """Open the run log `name` (such as `local` or `supervisor-0`). Raises StateStorageError."""
    return SqlRunLog(open_database(options, f"{RUN_LOGS.name}/{name}", RUN_LOGS.label, readonly))


def run_log_names(options: StoreOptions) -> list[str]:
    """Return the names of the existing run logs, sorted. Raises StateStorageError if a server cannot be queried."""
    return backend_of(options).names(options, RUN_LOGS.name)


def listed_log_name(options: StoreOptions, name: str) -> str:
    """Return the form in which `run_log_names` lists the run log of that name: PostgreSQL has no `-` in names."""
    return backend_of(options).listed_as(name)


def databases_of(options: StoreOptions, part: AnyPart) -> list[str]:
    """Return the existing databases of a part. Raises StateStorageError if a server cannot be queried."""
    if part.is_family:
        return [f"{part.name}/{name}" for name in backend_of(options).names(options, part.name)]
    return [part.database] if has_database(options, part.database) else []


def part_state(options: StoreOptions, part: AnyPart) -> str:
    """Describe the state of a part without creating it. Raises StateStorageError if it cannot be read."""
    names = databases_of(options, part)
    versions = {_version_in(options, part, name) for name in names}
    told = f"schema {', '.join(map(str, sorted(versions)))} of {len(part.schema.migrations)}"
    if part.is_family:
        number = "1 database" if len(names) == 1 else f"{len(names)} databases"
        return f"{number}, {told}" if versions else number
    return told if versions else "not made yet"


def _version_in(options: StoreOptions, part: AnyPart, name: str) -> int:
    database = open_database(options, name, part.label, True, part.is_disposable)
    try:
        return part.schema.version_in(database)
    finally:
        database.close()


def has_database(options: StoreOptions, name: str) -> bool:
    """Return whether that file or schema exists. Raises StateStorageError if a server cannot be queried."""
    return backend_of(options).has(options, name)


def open_database(
    options: StoreOptions, name: str, label: str, readonly: bool = False, is_disposable: bool = False
) -> Database:
    """Open the database of that name on the configured backend. Raises StateStorageError.

    One that was made before and is empty or gone now is refused, unless it `is_disposable`.
    """
    return backend_of(options).open_database(options, name, label, readonly, not is_disposable)
