"""Bounds how long a connection to PostgreSQL waits for a silent server.

psycopg bounds only the time to connect: a host that keeps the connection open but sends nothing (stopped, cut off,
overloaded) would block its caller until the kernel drops the connection, many minutes later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import psycopg


class SilentServerError(psycopg.OperationalError):
    """Reports that the server has sent nothing within the time limit; the connection is closed."""


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """Closes the connection when the server is silent for `patience_s`; None waits for ever."""

    patience_s: float | None = None

    def wait(self, gen: Any, *rest: Any, **more: Any) -> Any:
        """Run an exchange with the server to its end. Raises SilentServerError."""
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
    """Wrap an exchange so that it raises SilentServerError when nothing is received or sent for `patience_s`.

    It yields what it waits for and is sent what is ready; 0 from time to time while nothing is.
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
