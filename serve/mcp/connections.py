"""Carries the connection of the current call: the session of an HTTP client that keeps one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CONNECTION: ContextVar[str] = ContextVar("mcp_connection", default="")


def current_connection() -> str:
    """Return the connection of the current call; empty on standard input, which has one client."""
    return _CONNECTION.get()


@contextmanager
def on_connection(connection: str) -> Iterator[None]:
    """Let what is called within the block know its connection."""
    token = _CONNECTION.set(connection)
    try:
        yield
    finally:
        _CONNECTION.reset(token)
