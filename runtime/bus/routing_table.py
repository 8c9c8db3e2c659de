"""Holds the bus's routing tables and decides where each frame goes, without any transport.

Events go to every subscriber, commands and queries to one address, replies back to the asker. A frame without a
recipient is a dead letter; frames for an endpoint that is away for a moment are parked and delivered when it is back.
Every queue is bounded. Middleware and pending queries are handled in `runtime.bus.dispatcher`.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Literal

import msgspec

from runtime.bus.frames import Header, decode_header
from runtime.errors import DuplicateHandlerError
from runtime.primitives.ids import Address, MessageId

KEPT_DEAD_LETTERS = 200
PARKED_FRAMES_PER_ADDRESS = 1_000

# Stages and queries have the same limit: a poison frame must end, and senders resend the innocent ones beside it.
MAX_DEATHS_PER_FRAME = 4

Presence = Literal["connected", "away", "dead"]
RequeueOutcome = Literal["retry", "parked", "dropped", "refused", "poison"]


class DeadLetter(msgspec.Struct, frozen=True):
    """Holds an undeliverable frame's header and the reason."""

    header: Header
    reason: str


class Routing(msgspec.Struct, frozen=True):
    """Decides on a frame: addresses to deliver it to, addresses to park it for, or the reason why it is refused."""

    deliver: tuple[Address, ...] = ()
    park: tuple[Address, ...] = ()
    refused: str | None = None


NOWHERE = Routing()


class _Deaths(msgspec.Struct, frozen=True):
    """Counts the incarnations that could not take a frame, and names the latest of them."""

    count: int
    incarnation: int


class RoutingTable:
    """Holds the addresses, handlers, subscribers and counters of one bus."""

    def __init__(self) -> None:
        self._presence: dict[Address, Presence] = {}
        self._incarnation: dict[Address, int] = {}
        self._handlers: dict[str, Address] = {}
        self._subscribers: dict[str, list[Address]] = {}
        self._parked: dict[Address, deque[bytes]] = {}
        self._deaths: dict[tuple[Address, MessageId], _Deaths] = {}
        self.dead_letters: deque[DeadLetter] = deque(maxlen=KEPT_DEAD_LETTERS)
        self.counts: Counter[str] = Counter()

    def connect(self, address: Address, handles: tuple[str, ...] = (), subscribes: tuple[str, ...] = ()) -> list[bytes]:
        """Connect an endpoint, for the first time or again; return the frames that were parked for it, oldest first.

        Left out are commands that their senders resend, and that the former process was handling when it died.

        Raises DuplicateHandlerError when another address handles one of `handles`; nothing is changed then.
        """
        for type_ in handles:
            self._check_free(address, type_)
        self._presence[address] = "connected"
        self._incarnation[address] = self._incarnation.get(address, 0) + 1
        self._handlers.update(dict.fromkeys(handles, address))
        for type_ in subscribes:
            self.subscribe(address, type_)
        return [data for data in self._parked.pop(address, ()) if not self._is_superseded(address, data)]

    def still_wanted(self, parked: list[bytes], loss_event: str) -> list[bytes]:
        """Return what was parked for a process that died and its successor may have.

        Left out are commands that are resent by somebody who is told of the loss by `loss_event`, and then issues anew
        what is wanted: the former process may have died of them.
        """
        told = self._subscribers.get(loss_event, [])

        def is_wanted(header: Header) -> bool:
            return header.source not in told or not _is_repeated(header)

        return [data for data in parked if is_wanted(decode_header(data)[0])]

    def subscribe(self, address: Address, type_: str) -> None:
        """Send events of that type to `address` as well; a second call changes nothing."""
        if address not in self._subscribers.setdefault(type_, []):
            self._subscribers[type_].append(address)

    def unsubscribe(self, address: Address, type_: str) -> None:
        """Stop sending events of that type to `address`."""
        subscribers = self._subscribers.get(type_, [])
        if address in subscribers:
            subscribers.remove(address)
        if not subscribers:
            self._subscribers.pop(type_, None)

    def register_handler(self, address: Address, type_: str) -> None:
        """Send commands and queries of that type to `address`. Raises DuplicateHandlerError when it is taken."""
        self._check_free(address, type_)
        self._handlers[type_] = address

    def deregister_handler(self, address: Address, type_: str) -> None:
        """Stop sending commands and queries of that type to `address`, if they went there."""
        if self._handlers.get(type_) == address:
            del self._handlers[type_]

    def has_handler(self, type_: str) -> bool:
        """Return True when an endpoint handles commands and queries of that type."""
        return type_ in self._handlers

    @property
    def handler_types(self) -> list[str]:
        """The types that have a handler, sorted."""
        return sorted(self._handlers)

    def subscribers(self, type_: str) -> tuple[Address, ...]:
        """Return the subscribers of that event type, in the order of subscription."""
        return tuple(self._subscribers.get(type_, ()))

    def expect(self, address: Address, handles: tuple[str, ...] = ()) -> None:
        """Announce an endpoint: until it connects, frames for it are parked rather than refused."""
        self._presence.setdefault(address, "away")
        for type_ in handles:
            self._handlers.setdefault(type_, address)

    def mark_lost(self, address: Address, incarnation: int, for_good: bool) -> bool:
        """Record that an endpoint's process is gone; return False when a newer incarnation has replaced it."""
        if self._incarnation.get(address) != incarnation:
            return False
        self._presence[address] = "dead" if for_good else "away"
        if for_good:
            self._forget_types(address)
            for data in self._parked.pop(address, ()):
                self.settled(address, data)
                self._refuse(decode_header(data)[0], f"endpoint {address} is gone for good")
        return True

    def rejoin(self, address: Address, incarnation: int) -> list[bytes] | None:
        """Return the frames parked while that incarnation was unreachable; None when a newer one is connected."""
        if self._incarnation.get(address) != incarnation:
            return None
        self._presence[address] = "connected"
        return list(self._parked.pop(address, ()))

    def requeue(self, address: Address, data: bytes, incarnation: int) -> RequeueOutcome:
        """Take back a frame that could not be delivered to that incarnation; it may have arrived all the same.

        Return `retry` while there is no news of a loss, otherwise `parked` when the frame waits for the endpoint. It
        becomes a dead letter, `refused`, where the endpoint is gone for good or too many frames wait, and `poison`
        where the endpoint has died so often while handling this frame that the frame may be the cause. A command that
        its sender resends is `dropped` with the process that was handling it: it comes again only if it is still
        wanted.
        """
        header = decode_header(data)[0]
        deaths = self._count_death((address, header.message_id), incarnation)
        presence = self._presence.get(address)
        outcome: RequeueOutcome = "refused"
        if presence == "dead":
            self._refuse(header, f"endpoint {address} is gone for good")
        elif _is_repeated(header) and self.incarnation(address) > incarnation:
            outcome = "dropped"
        elif deaths >= MAX_DEATHS_PER_FRAME:
            outcome = "poison"
            self._refuse(header, f"endpoint {address} died {deaths} times while handling it")
        elif presence == "connected":
            return "retry"
        elif self.park(address, data):
            return "parked"
        self.settled(address, data)
        return outcome

    def settled(self, address: Address, data: bytes) -> None:
        """Forget the deaths counted for a frame that was delivered or is no longer wanted."""
        if self._deaths:
            self._deaths.pop((address, decode_header(data)[0].message_id), None)

    def incarnation(self, address: Address) -> int:
        """Return how many times an endpoint has connected; 0 when never."""
        return self._incarnation.get(address, 0)

    def route(self, header: Header) -> Routing:
        """Decide where the frame goes; count it, and remember a dead letter."""
        self.counts[header.kind] += 1
        if header.kind == "event":
            routing = self._to(header, self._subscribers.get(header.type, []), required=False)
            if routing == NOWHERE:
                self.counts["dropped"] += 1
            return routing
        target = header.target or self._handlers.get(header.type)
        if target is None:
            return self._refuse(header, f"nobody handles '{header.type}'")
        return self._to(header, [target], required=True)

    def add_dead_letter(self, header: Header, reason: str) -> None:
        """Remember a frame that could not be delivered, or whose handler failed."""
        self._refuse(header, reason)

    def park(self, address: Address, data: bytes) -> bool:
        """Keep a frame for an endpoint that is away; return False, and keep a dead letter, when its queue is full."""
        queue = self._parked.setdefault(address, deque())
        if len(queue) >= PARKED_FRAMES_PER_ADDRESS:
            self._refuse(decode_header(data)[0], f"{len(queue)} frames wait for {address} already")
            return False
        queue.append(data)
        self.counts["parked"] += 1
        return True

    def stats(self) -> dict[str, object]:
        """Return counters and tables, for people and metrics."""
        return {
            "endpoints": dict(self._presence),
            "handlers": dict(self._handlers),
            "subscribers": {type_: len(addresses) for type_, addresses in self._subscribers.items()},
            "parked": sum(len(queue) for queue in self._parked.values()),
            "dead_letters": len(self.dead_letters),
            "counts": dict(self.counts),
        }

    def _to(self, header: Header, addresses: list[Address], required: bool) -> Routing:
        if len(addresses) == 1 and self._presence.get(addresses[0]) == "connected":
            return Routing((addresses[0],))
        by_presence: dict[str, list[Address]] = {"connected": [], "away": [], "dead": [], "unknown": []}
        for address in addresses:
            by_presence[self._presence.get(address, "unknown")].append(address)
        unreachable = by_presence["dead"] + by_presence["unknown"]
        if required and unreachable:
            return self._refuse(header, f"endpoint {unreachable[0]} is not there")
        return Routing(tuple(by_presence["connected"]), tuple(by_presence["away"]))

    def _is_superseded(self, address: Address, data: bytes) -> bool:
        if not self._deaths or not _is_repeated(header := decode_header(data)[0]):
            return False
        return self._deaths.pop((address, header.message_id), None) is not None

    def _count_death(self, key: tuple[Address, MessageId], incarnation: int) -> int:
        """Return how many incarnations could not take a frame; repeated failures of one incarnation count once."""
        deaths = self._deaths.get(key, _Deaths(0, 0))
        if incarnation > deaths.incarnation:
            deaths = self._deaths[key] = _Deaths(deaths.count + 1, incarnation)
        return deaths.count

    def _refuse(self, header: Header, reason: str) -> Routing:
        self.dead_letters.append(DeadLetter(header, reason))
        self.counts["dead_letter"] += 1
        return Routing(refused=reason)

    def _check_free(self, address: Address, type_: str) -> None:
        holder = self._handlers.get(type_, address)
        if holder != address:
            raise DuplicateHandlerError(f"'{type_}' is handled by {holder} already, not by {address}", type=type_)

    def _forget_types(self, address: Address) -> None:
        for type_ in [type_ for type_, holder in self._handlers.items() if holder == address]:
            del self._handlers[type_]
        for type_ in [type_ for type_, addresses in self._subscribers.items() if address in addresses]:
            self.unsubscribe(address, type_)


def _is_repeated(header: Header) -> bool:
    """Return True for commands that are resent until acknowledged, each time as a new message."""
    return header.kind == "command" and header.correlation_id is not None
