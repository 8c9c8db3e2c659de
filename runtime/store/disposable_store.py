"""Keeps disposable parts usable: damage or a foreign lock costs their content, never a question.

A call that fails because of the file is repeated on a new connection, then on a new file, then in memory. The damaged
file is set aside (`runtime.database.set_aside`), once per damage, which is logged. A file that another process holds
locked is left as it is: the part continues in memory at once, which is logged once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from runtime.errors import StateStorageError

# Problems of the file itself; a full disk or a server that is away pass by themselves.
PROBLEMS_OF_THE_FILE = frozenset({"damaged", "newer", "read_only", "invalid", "lost", "closed"})
HELD = "busy"
_CURE = "end the process that holds the file, then start jeeves again"

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

    def __init__(self, name: str, cost_of_loss: str, ways: Ways) -> None:
        """Open the part in the first of the three ways that works."""
        self._name = name
        self._cost_of_loss = cost_of_loss
        self._ways = ways
        self._guard = threading.RLock()
        self._store: Any = None
        for open_store in self._openings([]):
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
                if not _can_be_replaced(error):
                    raise
                failed = error
            failures = [failed]
            for open_store in self._openings(failures):
                opened = open_store()
                if opened is None:
                    continue
                self._store = opened
                try:
                    return getattr(opened, method)(*args, **options)
                except StateStorageError as error:
                    if not _can_be_replaced(error):
                        raise
                    failures.append(error)
            raise failures[-1]

    def _openings(self, failures: list[StateStorageError]) -> Iterator[Callable[[], Any]]:
        """Yield the ways to open the part after these failures; each returns None and adds one if it did not work.

        A file that another process holds is neither waited for again nor set aside.
        """

        def again() -> Any:
            try:
                return self._ways.again()
            except StateStorageError as error:
                if not _can_be_replaced(error):
                    raise
                failures.append(error)
                return None

        def anew() -> Any:
            try:
                return self._ways.anew(failures[-1].message if failures else "opened")
            except (OSError, StateStorageError) as error:
                if isinstance(error, StateStorageError):
                    failures.append(error)
                if not _is_held(error):
                    log.warning("store.not_rebuilt", extra={"part": self._name, "reason": str(error)})
                return None

        for open_at_its_place in (again, anew):
            if not (failures and _is_held(failures[-1])):
                yield open_at_its_place
        if failures and _is_held(failures[-1]):
            told = {"part": self._name, "reason": failures[-1].message, "cost": self._cost_of_loss, "cure": _CURE}
            log.warning("store.in_memory", extra=told)
        yield self._ways.in_memory


def is_problem_of_the_file(error: StateStorageError) -> bool:
    """Return whether another file would help."""
    return error.values.get("problem") in PROBLEMS_OF_THE_FILE


def _is_held(error: Exception) -> bool:
    return isinstance(error, StateStorageError) and error.values.get("problem") == HELD


def _can_be_replaced(error: StateStorageError) -> bool:
    return is_problem_of_the_file(error) or _is_held(error)
