"""Decides which calls of a model go on at once, over all processes of a system.

Pure: times are passed in.

Places are held by lease: whoever dies stops renewing, and its places are free when the leases end. Calls that wait get
places by turns over users, first come first served per user, as in `runtime.llm.fair_share`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

LEASE_S = 15.0


class Claim(NamedTuple):
    """Asks for a place: `ticket` identifies one call, `places` is how many there are of its deployment."""

    ticket: str
    deployment: str
    places: int
    user_id: str


class _Deployment:
    """Holds the calls of one deployment: ticket → end of the lease, waiting ones by user."""

    def __init__(self) -> None:
        self.places = 1
        self.held: dict[str, float] = {}
        self.waiting: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()


class PlaceTable:
    """Grants places. `closed_until_s`: before that, none are granted, so that holders can report theirs first."""

    def __init__(self, closed_until_s: float = 0.0) -> None:
        self._closed_until_s = closed_until_s
        self._deployments: dict[str, _Deployment] = {}

    def enter(self, claim: Claim, now_s: float) -> list[str]:
        """Let a call wait for a place, if it does not yet; return the tickets that are granted one now."""
        here = self._deployments.setdefault(claim.deployment, _Deployment())
        here.places = claim.places
        if claim.ticket in here.held:
            here.held[claim.ticket] = now_s + LEASE_S
        else:
            here.waiting.setdefault(claim.user_id, OrderedDict())[claim.ticket] = now_s + LEASE_S
        return self.grant(now_s)

    def renew(self, claims: Iterable[Claim], now_s: float) -> None:
        """Extend the leases of calls that hold places. Those that are unknown here hold theirs all the same."""
        for claim in claims:
            here = self._deployments.setdefault(claim.deployment, _Deployment())
            here.places = claim.places
            self._stop_waiting(here, claim.ticket)
            here.held[claim.ticket] = now_s + LEASE_S

    def leave(self, deployment: str, ticket: str, now_s: float) -> list[str]:
        """Give a place back, or wait no longer; return the tickets that are granted one now."""
        here = self._deployments.get(deployment)
        if here is not None:
            here.held.pop(ticket, None)
            self._stop_waiting(here, ticket)
        return self.grant(now_s)

    def grant(self, now_s: float) -> list[str]:
        """End the leases that are over, and return the tickets that are granted a place now."""
        granted: list[str] = []
        for name, here in list(self._deployments.items()):
            self._end_leases(here, now_s)
            while here.waiting and len(here.held) < here.places and now_s >= self._closed_until_s:
                user_id, queue = here.waiting.popitem(last=False)
                ticket, _ = queue.popitem(last=False)
                if queue:
                    here.waiting[user_id] = queue  # behind the other users: this user had its turn
                here.held[ticket] = now_s + LEASE_S
                granted.append(ticket)
            if not here.held and not here.waiting:
                del self._deployments[name]
        return granted

    def holds(self, deployment: str, ticket: str) -> bool:
        """Return True if a call has a place."""
        here = self._deployments.get(deployment)
        return here is not None and ticket in here.held

    def counts(self) -> dict[str, tuple[int, int, int]]:
        """Return the places of each deployment that is in use: those that are held, all, and calls that wait."""
        return {
            name: (len(here.held), here.places, sum(map(len, here.waiting.values())))
            for name, here in self._deployments.items()
        }

    def _stop_waiting(self, here: _Deployment, ticket: str) -> None:
        for user_id, queue in list(here.waiting.items()):
            if queue.pop(ticket, None) is not None and not queue:
                del here.waiting[user_id]

    def _end_leases(self, here: _Deployment, now_s: float) -> None:
        here.held = {ticket: until_s for ticket, until_s in here.held.items() if until_s > now_s}
        for queue in list(here.waiting.values()):
            for ticket in [ticket for ticket, until_s in queue.items() if until_s <= now_s]:
                self._stop_waiting(here, ticket)
