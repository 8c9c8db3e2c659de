"""Describes where the store is, as plain data that actors can be given without the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from runtime.database.database import Backend, Durability

if TYPE_CHECKING:
    from runtime.settings import Settings

_SCHEMA_PREFIX = "jeeves"


class StoreOptions(msgspec.Struct, frozen=True):
    """Locates the store: below `folder`, or on the server of `dsn`, in schemas whose names begin with `schema`."""

    folder: str
    backend: Backend = "sqlite"
    dsn: str = ""
    durability: Durability = "full"
    schema: str = _SCHEMA_PREFIX

    def __repr__(self) -> str:
        """Leave out the dsn, which may hold a password."""
        return f"StoreOptions(folder={self.folder!r}, backend={self.backend!r}, durability={self.durability!r})"


def store_options(settings: Settings) -> StoreOptions:
    """Return the options of the store that the settings configure."""
    store = settings.store
    folder = store.path or settings.state_dir
    dsn = store.dsn.get_secret_value() if store.dsn is not None else ""
    return StoreOptions(str(folder), store.backend, dsn, store.durability)
