"""Opens the store of code changes for commands that read or amend their records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from actors.capabilities.code_change.records.changes import ChangeRecords
from actors.capabilities.code_change.store.session_store import CODE_CHANGES
from runtime.contracts.loading import load_contract
from runtime.primitives.clock import SystemClock
from runtime.settings import Settings
from runtime.store.opening import has_database, open_store
from runtime.store.options import store_options
from serve.wiring import CHANGE_CONTRACT


@contextmanager
def open_change_records(settings: Settings) -> Iterator[ChangeRecords]:
    """Open the records for one command. Raises StateStorageError."""
    stores = open_store(store_options(settings), SystemClock())
    try:
        yield ChangeRecords(stores.part(CODE_CHANGES), settings.state_dir, load_contract(CHANGE_CONTRACT))
    finally:
        stores.close()


def has_change_records(settings: Settings) -> bool:
    """Return whether there ever was a change."""
    return has_database(store_options(settings), CODE_CHANGES.database)
