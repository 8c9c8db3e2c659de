"""Keeps disposable parts of the store usable: damage costs their content, never a question.

A call that fails because of the file is repeated on a new connection, then on a new file, then in memory. The damaged
file is set aside (`runtime.database.set_aside`), once per damage, which is logged.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from runtime.errors import StateStorageError

# Problems of the file itself; a full disk, a writer that holds it or a server that is away pass by themselves.
PROBLEMS_OF_THE_FILE = frozenset({"damaged", "newer", "read_only", "invalid", "lost", "closed"})

log = logging.getLogger(__name__)


class Ways(NamedTuple):
    """Opens one part: `again` at its place, `anew` after the file there was set aside, `in_memory` for this process.

    `anew` may raise OSError if the file cannot be moved.
    """

    again: Callable[[], Any]
    anew: Callable[[str], Any]
    in_memory: Callable[[], Any]


class DisposableStore:
    """Stands for an opened part and forwards every method call to it; safe to call from several threads."""

    def __init__(self, name: str, ways: Ways) -> None:
        """Open the part in the first of the three ways that works."""
        self._name = name
        self._ways = ways
        self._guard = threading.RLock()
        self._store: Any = None
        for open_store in self._openings("opened"):
            self._store = open_store()
            if self._store is not None:
                break

    def __getattr__(self, method: str) -> Callable[..., Any]:
        """Return the method of the part, repeated where the file fails it."""
        return partial(self._call, method)

    def _call(self, method: str, *args: Any, **options: Any) -> Any:
        with self._guard:
            try:
                return getattr(self._store, method)(*args, **options)
            except StateStorageError as error:
                if not is_problem_of_the_file(error):
                    raise
                failed = error
            for open_store in self._openings(failed.message):
                opened = open_store()
                if opened is None:
                    continue
                self._store = opened
                try:
                    return getattr(opened, method)(*args, **options)
                except StateStorageError as error:
                    if not is_problem_of_the_file(error):
                        raise
                    failed = error
            raise failed

    def _openings(self, reason: str) -> Iterator[Callable[[], Any]]:
        """Yield the three ways to open the part; each returns None if it did not work."""
        state = {"reason": reason}

        def again() -> Any:
            try:
                return self._ways.again()
            except StateStorageError as error:
                if not is_problem_of_the_file(error):
                    raise
                state["reason"] = error.message
                return None

        def anew() -> Any:
            try:
                return self._ways.anew(state["reason"])
            except (OSError, StateStorageError) as error:
                log.warning("store.not_rebuilt", extra={"part": self._name, "reason": str(error)})
                return None

        yield again
        yield anew
        yield self._ways.in_memory


def is_problem_of_the_file(error: StateStorageError) -> bool:
    """Return whether another file would help."""
    return error.values.get("problem") in PROBLEMS_OF_THE_FILE
