"""Limits concurrent calls of models, in this process or over all processes of a system.

`model.enter` {claim} → {granted}: waits a while for a place and is then asked again. `model.leave` {deployment, ticket}
→ {}. `model.renew` {claims} → {}. What they do is decided by `runtime.llm.place_table`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import msgspec

from runtime.bus.queries import QueryClient, QueryHandler
from runtime.errors import BusError, ModelBusyError
from runtime.llm.fair_share import FairShare
from runtime.llm.place_table import LEASE_S, Claim, PlaceTable
from runtime.primitives.clock import Clock, wait_at_most

log = logging.getLogger(__name__)

PLACE_QUERIES = ("model.enter", "model.leave", "model.renew")

# A call waits that long at the other side before it asks again: much shorter than a lease.
POLL_S = 5.0
RENEW_S = 5.0
PATIENCE_S = 30.0
PAUSE_S = 0.2


class Places(Protocol):
    """Limits how many calls of a deployment go on at once."""

    def place(self, deployment: str, user_id: str) -> AbstractAsyncContextManager[None]:
        """Hold a place while the block runs. Raises ModelBusyError if none can be asked for."""

    async def close(self) -> None:
        """Give back what is held, as the process ends."""


class LocalPlaces:
    """Counts the calls of this process alone. `places`: deployment → calls at once."""

    def __init__(self, places: Mapping[str, int]) -> None:
        self._shares = {name: FairShare(number) for name, number in places.items()}

    def place(self, deployment: str, user_id: str) -> AbstractAsyncContextManager[None]:
        """Hold a place while the block runs."""
        return self._shares[deployment].place(user_id)

    async def close(self) -> None:
        """Do nothing: places end with the process."""


class SharedPlaces:
    """Asks for places that all processes of a system share, and keeps their leases while it has some.

    `places`: deployment → calls at once. Those that are not in `places` are left to `others`.
    """

    def __init__(self, places: Mapping[str, int], others: Places, queries: QueryClient, clock: Clock) -> None:
        self._places = dict(places)
        self._others = others
        self._queries = queries
        self._clock = clock
        self._process = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._held: dict[str, Claim] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def place(self, deployment: str, user_id: str) -> AsyncGenerator[None, None]:
        """Hold a place while the block runs. Raises ModelBusyError if nobody hands out places for half a minute."""
        if deployment not in self._places:
            async with self._others.place(deployment, user_id):
                yield
            return
        claim = Claim(f"{self._process}-{next(self._numbers)}", deployment, self._places[deployment], user_id)
        try:
            await self._enter(claim)
            self._held[claim.ticket] = claim
            if self._renewing is None or self._renewing.done():
                self._renewing = asyncio.create_task(self._renew())
            yield
        finally:
            self._held.pop(claim.ticket, None)
            leaving = asyncio.create_task(self._leave(claim))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Stop renewing, and wait until the places that were left are given back."""
        if self._renewing is not None:
            self._renewing.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    async def _enter(self, claim: Claim) -> None:
        gives_up_s = self._clock.monotonic_s() + PATIENCE_S
        while True:
            try:
                if (await self._queries.query("model.enter", {"claim": claim}))["granted"]:
                    return
                gives_up_s = self._clock.monotonic_s() + PATIENCE_S
            except BusError as error:
                if self._clock.monotonic_s() >= gives_up_s:
                    raise ModelBusyError(
                        f"nobody hands out the places of deployment '{claim.deployment}': {error.message}",
                        deployment=claim.deployment,
                    ) from error
                await self._clock.sleep(PAUSE_S)

    async def _leave(self, claim: Claim) -> None:
        try:
            await self._queries.query("model.leave", {"deployment": claim.deployment, "ticket": claim.ticket})
        except BusError as error:
            # The lease ends by itself.
            log.info("model.place_not_left", extra={"deployment": claim.deployment, "reason": error.message})

    async def _renew(self) -> None:
        while self._held:
            await self._clock.sleep(RENEW_S)
            try:
                if self._held:
                    await self._queries.query("model.renew", {"claims": list(self._held.values())}, LEASE_S - RENEW_S)
            except BusError as error:
                log.warning("model.places_not_renewed", extra={"places": len(self._held), "reason": error.message})


class PlaceService:
    """Hands out places to the processes of a system. `is_restarted`: holders of another process may still renew."""

    def __init__(self, clock: Clock, is_restarted: bool = False) -> None:
        self._clock = clock
        now_s = clock.monotonic_s()
        self._table = PlaceTable(now_s + RENEW_S + 1 if is_restarted else now_s)
        self._waiting: dict[str, asyncio.Event] = {}

    def queries(self) -> dict[str, QueryHandler]:
        """Return the handlers of the queries."""
        return dict(zip(PLACE_QUERIES, (self._enter, self._leave, self._renew), strict=True))

    def counts(self) -> dict[str, tuple[int, int, int]]:
        """Return for each deployment in use the places that are held, all of its places, and the calls that wait."""
        self._wake(self._table.grant(self._clock.monotonic_s()))
        return self._table.counts()

    async def _enter(self, body: dict[str, Any]) -> dict[str, Any]:
        claim = msgspec.convert(body["claim"], Claim)
        granted = self._waiting.setdefault(claim.ticket, asyncio.Event())
        try:
            until_s = self._clock.monotonic_s() + POLL_S
            self._wake(self._table.enter(claim, self._clock.monotonic_s()))
            while not self._table.holds(claim.deployment, claim.ticket):
                now_s = self._clock.monotonic_s()
                if now_s >= until_s:
                    return {"granted": False}
                await self._wait(granted, min(until_s - now_s, 1.0))
                self._wake(self._table.grant(self._clock.monotonic_s()))
            return {"granted": True}
        finally:
            self._waiting.pop(claim.ticket, None)

    async def _leave(self, body: dict[str, Any]) -> dict[str, Any]:
        self._wake(self._table.leave(str(body["deployment"]), str(body["ticket"]), self._clock.monotonic_s()))
        return {}

    async def _renew(self, body: dict[str, Any]) -> dict[str, Any]:
        self._table.renew(msgspec.convert(body["claims"], list[Claim]), self._clock.monotonic_s())
        return {}

    async def _wait(self, granted: asyncio.Event, at_most_s: float) -> None:
        with contextlib.suppress(TimeoutError):  # leases may have ended meanwhile
            await wait_at_most(self._clock, at_most_s, granted.wait())

    def _wake(self, tickets: Iterable[str]) -> None:
        for ticket in tickets:
            if ticket in self._waiting:
                self._waiting[ticket].set()
