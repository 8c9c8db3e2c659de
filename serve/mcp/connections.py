"""Carries the connection of the current call, and counts the requests of each.

A connection is the session of an HTTP client that keeps one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CONNECTION: ContextVar[str] = ContextVar("mcp_connection", default="")


def current_connection() -> str:
    """Return the connection of the current call; empty on standard input, which has one client."""
    return _CONNECTION.get()


class OpenRequests:
    """Counts the requests under way of each connection: a client that is there keeps one open to be told of news."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def is_away(self, connection: str) -> bool:
        """Return True if no request of that connection is under way."""
        return connection not in self._counts

    @contextmanager
    def counted(self, connection: str) -> Iterator[None]:
        """Count a request while the block runs."""
        self._counts[connection] = self._counts.get(connection, 0) + 1
        try:
            yield
        finally:
            self._counts[connection] -= 1
            if not self._counts[connection]:
                del self._counts[connection]


@contextmanager
def on_connection(connection: str) -> Iterator[None]:
    """Let what is called within the block know its connection."""
    token = _CONNECTION.set(connection)
    try:
        yield
    finally:
        _CONNECTION.reset(token)
