"""Where a frame goes: the bus's tables and rules, without any transport.

Events go to every subscriber, commands and queries to one address, replies back to who asked. A frame that nobody can
take is a dead letter; frames for an endpoint that is away for a moment are parked and handed over when it comes back.
Every queue has a bound. What is done around routing (middleware, pending queries) is in `runtime.bus.dispatcher`.
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

# What a stage and a query are given, too: poison must end, and what is innocent beside it is sent again by its sender.
MOST_DEATHS_IN_HAND = 4

Presence = Literal["connected", "away", "dead"]
RequeueOutcome = Literal["again", "parked", "let_go", "refused", "deadly"]


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


class _Deaths(msgspec.Struct, frozen=True):
    """How many incarnations could not take a frame, and the latest of them."""

    count: int
    incarnation: int


class RoutingTable:
    """Addresses, handlers, subscribers and counters of one bus."""

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
        """An endpoint is there (again): returns the frames that were parked for it, oldest first.

        Not among them are commands that their senders repeat, and that the process before had in hand when it died.

        Raises DuplicateHandlerError when another address handles one of `handles`; nothing is changed then.
        """
        for type_ in handles:
            self._check_free(address, type_)
        self._presence[address] = "connected"
        self._incarnation[address] = self._incarnation.get(address, 0) + 1
        self._handlers.update(dict.fromkeys(handles, address))
        for type_ in subscribes:
            self.subscribe(address, type_)
        return [data for data in self._parked.pop(address, ()) if not self._is_let_go(address, data)]

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

    def mark_lost(self, address: Address, incarnation: int, for_good: bool) -> bool:
        """An endpoint's process is gone; False when a newer incarnation has taken its place already."""
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
        """That incarnation can be reached again: what was parked meanwhile; None when a newer one is there."""
        if self._incarnation.get(address) != incarnation:
            return None
        self._presence[address] = "connected"
        return list(self._parked.pop(address, ()))

    def requeue(self, address: Address, data: bytes, incarnation: int) -> RequeueOutcome:
        """A frame that was sent to that incarnation could not be handed over; it may have been taken all the same.

        While nothing is known of a loss it is to be handed over `again`; otherwise it is `parked` for the endpoint. It
        is a dead letter, `refused`, where that is gone for good or too many wait, and `deadly` where the endpoint has
        died so often with this frame in hand that it may be what kills it. A command that its sender repeats is
        `let_go` with the process that had it in hand: sent again it comes only if it is still wanted.
        """
        header = decode_header(data)[0]
        deaths = self._death_in_hand((address, header.message_id), incarnation)
        presence = self._presence.get(address)
        outcome: RequeueOutcome = "refused"
        if presence == "dead":
            self._refuse(header, f"endpoint {address} is gone for good")
        elif _is_repeated(header) and self.incarnation(address) > incarnation:
            outcome = "let_go"
        elif deaths >= MOST_DEATHS_IN_HAND:
            outcome = "deadly"
            self._refuse(header, f"endpoint {address} died {deaths} times with it in hand")
        elif presence == "connected":
            return "again"
        elif self.park(address, data):
            return "parked"
        self.settled(address, data)
        return outcome

    def settled(self, address: Address, data: bytes) -> None:
        """The endpoint has taken a frame, or nobody wants it to any more."""
        if self._deaths:
            self._deaths.pop((address, decode_header(data)[0].message_id), None)

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

    def _is_let_go(self, address: Address, data: bytes) -> bool:
        if not self._deaths or not _is_repeated(header := decode_header(data)[0]):
            return False
        return self._deaths.pop((address, header.message_id), None) is not None

    def _death_in_hand(self, key: tuple[Address, MessageId], incarnation: int) -> int:
        """How many incarnations could not take a frame; one that could not twice counts once."""
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
    """True for commands that are sent again until they are acknowledged, each time as a message of its own."""
    return header.kind == "command" and header.correlation_id is not None
