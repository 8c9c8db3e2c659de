"""A connection to PostgreSQL that does not wait for a silent server for ever.

psycopg bounds how long connecting takes and nothing else: a host that keeps the connection and says nothing any more
(stopped, cut off, out of breath) would hold its caller up until the kernel gives the connection up, many minutes later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import psycopg


class SilentServerError(psycopg.OperationalError):
    """The server has said nothing for as long as it was waited for; the connection is closed."""


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is given up when the server is silent for `patience_s`; None waits for ever."""

    patience_s: float | None = None

    def wait(self, gen: Any, *rest: Any, **more: Any) -> Any:
        """Follow an exchange with the server to its end. Raises SilentServerError."""
        if self.patience_s is None:
            return super().wait(gen, *rest, **more)
        try:
            return super().wait(heard(gen, self.patience_s), *rest, **more)
        except SilentServerError:
            self.close()
            raise


def heard(
    exchange: Generator[Any, Any, Any], patience_s: float, now_s: Callable[[], float] = time.monotonic
) -> Generator[Any, Any, Any]:
    """The same exchange, ended by SilentServerError when nothing comes or goes for `patience_s`.

    It yields what it waits for and is sent what is ready, every now and then that nothing is (0).
    """
    until_s = now_s() + patience_s
    try:
        wanted = next(exchange)
        while True:
            ready = yield wanted
            if ready:
                until_s = now_s() + patience_s
            elif now_s() >= until_s:
                raise SilentServerError(f"the server has been silent for {patience_s:g} s")
            wanted = exchange.send(ready)
    except StopIteration as over:
        return over.value
