"""Lists the SQL backends by their names in the settings."""

from __future__ import annotations

from runtime.store.backends.backend import SqlBackend
from runtime.store.backends.postgres import POSTGRES
from runtime.store.backends.sqlite import SQLITE
from runtime.store.options import StoreOptions

BACKENDS: dict[str, SqlBackend] = {backend.name: backend for backend in (SQLITE, POSTGRES)}


def backend_of(options: StoreOptions) -> SqlBackend:
    """Return the backend that the options name."""
    return BACKENDS[options.backend]
