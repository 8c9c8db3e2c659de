"""Opens the access tokens of the store for commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.primitives.clock import SystemClock
from runtime.settings import Settings, open_state_dir
from runtime.store.access_tokens import TOKENS, AccessTokens
from runtime.store.opening import has_database, open_store
from runtime.store.options import store_options


@contextmanager
def open_tokens(settings: Settings) -> Iterator[AccessTokens]:
    """Open the tokens for one command. Raises StateStorageError."""
    open_state_dir(settings.state_dir)
    stores = open_store(store_options(settings), SystemClock())
    try:
        yield stores.part(TOKENS)
    finally:
        stores.close()


def has_tokens(settings: Settings) -> bool:
    """Return whether there ever was a token."""
    return has_database(store_options(settings), TOKENS.database)


def has_valid_token(settings: Settings) -> bool:
    """Return whether some caller could be admitted now."""
    if not has_tokens(settings):
        return False
    now_ms = SystemClock().now_ms()
    with open_tokens(settings) as tokens:
        return any(each.state(now_ms) == "valid" for each in tokens.all())
