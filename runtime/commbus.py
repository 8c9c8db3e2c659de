"""Where a frame goes: the bus's tables and rules, without any transport.

Events go to every subscriber, commands and queries to one address, replies back to who asked. A frame that nobody can
take is a dead letter; frames for an endpoint that is away for a moment are parked and handed over when it comes back.
Every queue has a bound. What is done around routing (middleware, pending queries) is in `runtime.dispatch`.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Literal

import msgspec

from runtime.errors import DuplicateHandlerError
from runtime.ids import Address
from runtime.messages import Header, decode_header

KEPT_DEAD_LETTERS = 200
PARKED_FRAMES_PER_ADDRESS = 1_000

Presence = Literal["connected", "away", "dead"]


class DeadLetter(msgspec.Struct, frozen=True):
    """A frame that went nowhere, and why."""

    header: Header
    reason: str


class Routing(msgspec.Struct, frozen=True):
    """What to do with a frame: addresses to hand it to, addresses to park it for, or why it goes nowhere."""

    deliver: tuple[Address, ...] = ()
    park: tuple[Address, ...] = ()
    refused: str | None = None


NOWHERE = Routing()


class BusTable:
    """Addresses, handlers, subscribers and counters of one bus."""

    def __init__(self) -> None:
        self._presence: dict[Address, Presence] = {}
        self._incarnation: dict[Address, int] = {}
        self._handlers: dict[str, Address] = {}
        self._subscribers: dict[str, list[Address]] = {}
        self._parked: dict[Address, deque[bytes]] = {}
        self.dead_letters: deque[DeadLetter] = deque(maxlen=KEPT_DEAD_LETTERS)
        self.counts: Counter[str] = Counter()

    def connect(self, address: Address, handles: tuple[str, ...] = (), subscribes: tuple[str, ...] = ()) -> list[bytes]:
        """An endpoint is there (again): returns the frames that were parked for it, oldest first.

        Raises DuplicateHandlerError when another address handles one of `handles`; nothing is changed then.
        """
        for type_ in handles:
            self._check_free(address, type_)
        self._presence[address] = "connected"
        self._incarnation[address] = self._incarnation.get(address, 0) + 1
        self._handlers.update(dict.fromkeys(handles, address))
        for type_ in subscribes:
            self.subscribe(address, type_)
        return list(self._parked.pop(address, ()))

    def subscribe(self, address: Address, type_: str) -> None:
        """Events of that type go to `address` as well; a second time changes nothing."""
        if address not in self._subscribers.setdefault(type_, []):
            self._subscribers[type_].append(address)

    def unsubscribe(self, address: Address, type_: str) -> None:
        """Events of that type no longer go to `address`."""
        subscribers = self._subscribers.get(type_, [])
        if address in subscribers:
            subscribers.remove(address)
        if not subscribers:
            self._subscribers.pop(type_, None)

    def register_handler(self, address: Address, type_: str) -> None:
        """Commands and queries of that type go to `address`. Raises DuplicateHandlerError when another has it."""
        self._check_free(address, type_)
        self._handlers[type_] = address

    def deregister_handler(self, address: Address, type_: str) -> None:
        """Commands and queries of that type go to nobody, if it was `address` that took them."""
        if self._handlers.get(type_) == address:
            del self._handlers[type_]

    def has_handler(self, type_: str) -> bool:
        """True when somebody takes commands and queries of that type."""
        return type_ in self._handlers

    @property
    def handler_types(self) -> list[str]:
        """The types that have a handler, sorted."""
        return sorted(self._handlers)

    def subscribers(self, type_: str) -> tuple[Address, ...]:
        """Who gets events of that type, in the order of subscription."""
        return tuple(self._subscribers.get(type_, ()))

    def expect(self, address: Address, handles: tuple[str, ...] = ()) -> None:
        """An endpoint is about to appear: until it connects, frames for it are parked rather than refused."""
        self._presence.setdefault(address, "away")
        for type_ in handles:
            self._handlers.setdefault(type_, address)

    def lose(self, address: Address, incarnation: int, for_good: bool) -> bool:
        """An endpoint's process is gone; False when a newer incarnation has taken its place already."""
        if self._incarnation.get(address) != incarnation:
            return False
        self._presence[address] = "dead" if for_good else "away"
        if for_good:
            self._forget_types(address)
            for data in self._parked.pop(address, ()):
                self._refuse(decode_header(data)[0], f"endpoint {address} is gone for good")
        return True

    def rejoin(self, address: Address, incarnation: int) -> list[bytes] | None:
        """That incarnation can be reached again: what was parked meanwhile; None when a newer one is there."""
        if self._incarnation.get(address) != incarnation:
            return None
        self._presence[address] = "connected"
        return list(self._parked.pop(address, ()))

    def take_back(self, address: Address, data: bytes) -> bool:
        """A frame could not be handed over: it waits for the endpoint, or is a dead letter where that is gone for good.

        True when nothing is known of a loss: the frame is to be handed over once more.
        """
        presence = self._presence.get(address)
        if presence == "connected":
            return True
        if presence == "dead":
            self._refuse(decode_header(data)[0], f"endpoint {address} is gone for good")
        else:
            self.park(address, data)
        return False

    def incarnation(self, address: Address) -> int:
        """How many times an endpoint has connected; 0 when never."""
        return self._incarnation.get(address, 0)

    def route(self, header: Header) -> Routing:
        """Where the frame goes. Counts it, and remembers a dead letter."""
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
        """Remember a frame that nobody could take, or that its handler failed at."""
        self._refuse(header, reason)

    def park(self, address: Address, data: bytes) -> bool:
        """Keep a frame for an endpoint that is away; False, and a dead letter, when its queue is full."""
        queue = self._parked.setdefault(address, deque())
        if len(queue) >= PARKED_FRAMES_PER_ADDRESS:
            self._refuse(decode_header(data)[0], f"{len(queue)} frames wait for {address} already")
            return False
        queue.append(data)
        self.counts["parked"] += 1
        return True

    def stats(self) -> dict[str, object]:
        """Counters and tables, for people and metrics."""
        return {
            "endpoints": dict(self._presence),
            "handlers": dict(self._handlers),
            "subscribers": {type_: len(addresses) for type_, addresses in self._subscribers.items()},
            "parked": sum(len(queue) for queue in self._parked.values()),
            "dead_letters": len(self.dead_letters),
            "counts": dict(self.counts),
        }

    def _to(self, header: Header, addresses: list[Address], required: bool) -> Routing:
        by_presence: dict[str, list[Address]] = {"connected": [], "away": [], "dead": [], "unknown": []}
        for address in addresses:
            by_presence[self._presence.get(address, "unknown")].append(address)
        unreachable = by_presence["dead"] + by_presence["unknown"]
        if required and unreachable:
            return self._refuse(header, f"endpoint {unreachable[0]} is not there")
        return Routing(tuple(by_presence["connected"]), tuple(by_presence["away"]))

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
