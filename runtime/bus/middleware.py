"""Runs a chain of middleware over the headers of messages; bodies are never read.

`before` runs in order when a request (an event, a command or a query) arrives; it may let the request pass, change its
header, stop it, or drop it as a copy. `after` runs in reverse order with the request's outcome:

- a query has one outcome, when its reply or its cancel frame passes or when it could not be delivered;
- a command or an event is `accepted` when the bus has taken it, and `failed` once more if a handler then reports that
  it failed. Success is not reported: an acknowledgement for each would double the traffic of the bus.

The bus applies a chain to every request that it routes, an endpoint one to every request that it handles.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from runtime.bus.frames import Header
from runtime.errors import MessageStoppedError

log = logging.getLogger(__name__)

Outcome = Literal[
    "answered", "failed", "rejected", "timeout", "cancelled", "accepted", "dropped", "refused", "full", "stopped"
]
"""`rejected`: the handler works, and the asker's input was wrong. `dropped`: an event without subscribers."""


class Continue(msgspec.Struct, frozen=True):
    """Lets the request pass unchanged."""


class Replace(msgspec.Struct, frozen=True):
    """Lets the request pass with another header of the same message id, kind and source."""

    header: Header


class Stop(msgspec.Struct, frozen=True):
    """Ends the request with an answer to its sender; `error` is what a query fails with."""

    reason: str
    error: MessageStoppedError | None = None


class Drop(msgspec.Struct, frozen=True):
    """Ends the request silently, because it is a copy of one that has passed."""


Verdict = Continue | Replace | Stop | Drop
CONTINUE = Continue()


class Middleware:
    """Observes and filters messages; the hooks of this base class let everything pass."""

    name: ClassVar[str] = "middleware"

    def before(self, header: Header) -> Verdict:
        """Return what is to happen to a request."""
        return CONTINUE

    def after(self, header: Header, outcome: Outcome) -> None:
        """Handle the outcome of a request that `before` let pass."""

    def stats(self) -> Mapping[str, Any]:
        """Return the middleware's statistics in plain data."""
        return {}


class Halted(msgspec.Struct, frozen=True):
    """Names the middleware that ended a request, and the error for its asker; no error for a dropped copy."""

    by: str
    error: MessageStoppedError | None


class Chain:
    """Applies middleware in order."""

    def __init__(self, links: Iterable[Middleware] = ()) -> None:
        self._links: list[Middleware] = []
        self._asked: list[tuple[int, Middleware]] = []
        self._told: list[Middleware] = []
        for link in links:
            self.add(link)

    def add(self, middleware: Middleware) -> None:
        """Append a middleware; it sees only requests that all others let pass."""
        if type(middleware).before is not Middleware.before:
            self._asked.append((len(self._links), middleware))
        if type(middleware).after is not Middleware.after:
            self._told.append(middleware)
        self._links.append(middleware)

    def before(self, header: Header) -> Header | Halted:
        """Return the header to route, or why the request ends; earlier middleware get the outcome of a stop."""
        for number, link in self._asked:
            verdict = _ask(link, header)
            if verdict is CONTINUE:
                continue
            if isinstance(verdict, Replace):
                header = verdict.header
            elif isinstance(verdict, Stop):
                _notify(self._links[:number], header, "stopped")
                return Halted(link.name, verdict.error or _stopped(header, link.name, verdict.reason))
            elif isinstance(verdict, Drop):
                return Halted(link.name, None)
        return header

    def after(self, header: Header, outcome: Outcome) -> None:
        """Pass the outcome of a request to every middleware, the last one first."""
        _notify(self._told, header, outcome)

    def stats(self) -> dict[str, Any]:
        """Return the statistics of each middleware by name; those without any are left out."""
        return {link.name: dict(stats) for link in self._links if (stats := link.stats())}


def _ask(link: Middleware, header: Header) -> Verdict:
    """Return the middleware's verdict; one that raises stops the request, so that no guard is bypassed."""
    try:
        verdict = link.before(header)
    except Exception as error:
        log.exception("middleware.failed", extra={"middleware": link.name, "type": header.type})
        return Stop(f"it failed with {type(error).__name__}: {error}")
    if isinstance(verdict, Replace) and _identity(verdict.header) != _identity(header):
        log.error("middleware.changed_identity", extra={"middleware": link.name, "type": header.type})
        return Stop("it changed the message id, the kind or the source")
    return verdict


def _notify(links: Sequence[Middleware], header: Header, outcome: Outcome) -> None:
    for link in reversed(links):
        try:
            link.after(header, outcome)
        except Exception:
            log.exception("middleware.failed", extra={"middleware": link.name, "type": header.type})


def _identity(header: Header) -> tuple[str, ...]:
    return header.message_id, header.kind, header.source


def _stopped(header: Header, by: str, reason: str) -> MessageStoppedError:
    return MessageStoppedError(f"'{header.type}' was stopped by {by}: {reason}", type=header.type, by=by, reason=reason)
