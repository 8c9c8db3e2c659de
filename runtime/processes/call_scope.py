"""Calls off work in a thread: kills its programs, and lets it end at its next check.

    scope = CallScope()
    await asyncio.to_thread(run_in, scope, work)       # `work` runs programs by `programs.run_program`
    scope.call_off()                                   # from any thread

The scope of the work is found by its thread's context, so functions on the way do not pass it on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from runtime.errors import CalledOffError
from runtime.processes.process_tree import kill_tree

T = TypeVar("T")


class CallScope:
    """Tracks the programs of one piece of work, and whether it was called off. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_called_off = False
        self._programs: set[int] = set()

    @property
    def is_called_off(self) -> bool:
        """True once the work is to end."""
        return self._is_called_off

    def forbid(self) -> None:
        """Let the work end at its next check, without killing its programs yet; does not wait for anything."""
        self._is_called_off = True

    def call_off(self) -> None:
        """Kill the programs of the work with all their children; further ones are not started. Idempotent."""
        with self._guard:
            self._is_called_off = True
            for pid in self._programs:
                kill_tree(pid)

    def check(self) -> None:
        """Raise CalledOffError if the work was called off."""
        if self._is_called_off:
            raise CalledOffError("the call was called off")

    def add(self, pid: int) -> None:
        """Add a started program, the leader of its group; it is killed at once if the work was called off meanwhile."""
        with self._guard:
            self._programs.add(pid)
            if self._is_called_off:
                kill_tree(pid)

    def remove(self, pid: int) -> None:
        """Remove a program before it is reaped, so that its number cannot be killed as another process's."""
        with self._guard:
            self._programs.discard(pid)


_current: ContextVar[CallScope | None] = ContextVar("call_scope", default=None)


def run_in(scope: CallScope, work: Callable[[], T]) -> T:
    """Run work within a scope, in the calling thread."""
    token = _current.set(scope)
    try:
        scope.check()
        return work()
    finally:
        _current.reset(token)


def current_scope() -> CallScope:
    """Return the scope of the calling thread's work; a new one, which nothing calls off, outside of any."""
    return _current.get() or CallScope()


def check_called_off() -> None:
    """Raise CalledOffError if the work of the calling thread was called off. Cheap: for loops that take long."""
    scope = _current.get()
    if scope is not None:
        scope.check()
