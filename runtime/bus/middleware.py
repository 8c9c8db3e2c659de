"""What looks at messages on their way: a chain of middleware that sees headers and never a body.

`before` runs in order when a request (an event, a command or a query) comes; it may let the request on, change its
header, stop it, or drop it as a copy. `after` runs in reverse order with what became of the request:

- a query has one outcome, when its reply or its cancel frame passes or when it went nowhere;
- a command or an event is `accepted` when the bus has taken it, and `failed` once more if a handler then reports that
  it failed. Success is not reported: an acknowledgement for each would double the traffic of the bus.

The bus applies a chain to all that it routes, an endpoint one to all that it handles.
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
"""`rejected`: the handler works, and the asker's input was wrong. `dropped`: an event that nobody wants."""


class Continue(msgspec.Struct, frozen=True):
    """The request goes on as it is."""


class Replace(msgspec.Struct, frozen=True):
    """The request goes on with another header of the same message id, kind and source."""

    header: Header


class Stop(msgspec.Struct, frozen=True):
    """The request goes no further, and who waits for it is told; `error` is what a query fails with."""

    reason: str
    error: MessageStoppedError | None = None


class Drop(msgspec.Struct, frozen=True):
    """The request goes no further and nobody is told, because it is a copy of one that went on."""


Verdict = Continue | Replace | Stop | Drop
CONTINUE = Continue()


class Middleware:
    """Looks at messages on their way; the hooks of this base let everything pass."""

    name: ClassVar[str] = "middleware"

    def before(self, header: Header) -> Verdict:
        """What is to become of a request."""
        return CONTINUE

    def after(self, header: Header, outcome: Outcome) -> None:
        """What became of a request that `before` let on."""

    def stats(self) -> Mapping[str, Any]:
        """What this middleware knows, in plain data."""
        return {}


class Halted(msgspec.Struct, frozen=True):
    """A request that does not go on: who stopped it, and what its asker is told; no error for a dropped copy."""

    by: str
    error: MessageStoppedError | None


class Chain:
    """Middleware in order."""

    def __init__(self, links: Iterable[Middleware] = ()) -> None:
        self._links = list(links)

    def add(self, middleware: Middleware) -> None:
        """Put a middleware at the end: it sees what all others let on."""
        self._links.append(middleware)

    def before(self, header: Header) -> Header | Halted:
        """The header to go on with, or why the request does not. Those that let it on learn of a stop at once."""
        for number, link in enumerate(self._links):
            verdict = _ask(link, header)
            if isinstance(verdict, Replace):
                header = verdict.header
            elif isinstance(verdict, Stop):
                _tell(self._links[:number], header, "stopped")
                return Halted(link.name, verdict.error or _stopped(header, link.name, verdict.reason))
            elif isinstance(verdict, Drop):
                return Halted(link.name, None)
        return header

    def after(self, header: Header, outcome: Outcome) -> None:
        """Tell every middleware what became of a request, the last one first."""
        _tell(self._links, header, outcome)

    def stats(self) -> dict[str, Any]:
        """What each middleware knows, by name; those that know nothing are left out."""
        return {link.name: dict(stats) for link in self._links if (stats := link.stats())}


def _ask(link: Middleware, header: Header) -> Verdict:
    """The middleware's verdict; one that fails stops the request, so that no guard is passed unseen."""
    try:
        verdict = link.before(header)
    except Exception as error:
        log.exception("middleware.failed", extra={"middleware": link.name, "type": header.type})
        return Stop(f"it failed with {type(error).__name__}: {error}")
    if isinstance(verdict, Replace) and _identity(verdict.header) != _identity(header):
        log.error("middleware.changed_identity", extra={"middleware": link.name, "type": header.type})
        return Stop("it changed the message id, the kind or the source")
    return verdict


def _tell(links: Sequence[Middleware], header: Header, outcome: Outcome) -> None:
    for link in reversed(links):
        try:
            link.after(header, outcome)
        except Exception:
            log.exception("middleware.failed", extra={"middleware": link.name, "type": header.type})


def _identity(header: Header) -> tuple[str, ...]:
    return header.message_id, header.kind, header.source


def _stopped(header: Header, by: str, reason: str) -> MessageStoppedError:
    return MessageStoppedError(f"'{header.type}' was stopped by {by}: {reason}", type=header.type, by=by, reason=reason)
