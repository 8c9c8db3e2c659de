"""Provides at-least-once sending (outbox) and deduplication (inbox) for both ends of a connection.

Every connection between supervisor and agents uses these. They hold no clock and send nothing: the host passes in a
monotonic time, sends the messages that are due, and reports acknowledgements.

    supervisor → agent   stage.run, under an id made of the stage key; StageStarted or any result acknowledges it
    agent → supervisor   reports, each acknowledged once it is recorded

A message keeps its id however often it is sent. A receiver notes an id only after it has handled the message, so that
one whose handling failed half-way is handled when it comes again.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Literal, TypeVar

import msgspec

from runtime.primitives.ids import MessageId, StageKey

Message = TypeVar("Message")
Admission = Literal["begin", "duplicate", "outdated"]

CAPACITY = 10_000
FIRST_WAIT_MS = 500
MAX_WAIT_MS = 15_000

# How many messages ask a silent receiver for a sign of life, and how many times more the next time.
ASKED_AT_ONCE = 8
ASKED_MORE = 8

# A receiver is silent for at least so many times the time that the newest acknowledgement took.
ROUND_TRIPS = 2


class _Waiting(msgspec.Struct, Generic[Message]):
    """Holds a message that was sent; `number` orders the newest sendings of all messages."""

    message: Message
    receiver: str
    first_sent_ms: int
    wait_ms: int
    number: int = 0
    sendings: int = 0


class _Receiver(msgspec.Struct):
    """Tracks what a receiver has acknowledged: messages up to `reached_ms`, the last of them at `heard_ms`.

    `overdue`: for each sending, until when messages must have been sent whose acknowledgement proves its loss.
    """

    heard_ms: int
    silence_ms: int
    reached_ms: float = -math.inf
    asked_at_once: int = ASKED_AT_ONCE
    waiting: int = 0
    round_trip_ms: int = 0
    has_lost: bool = False
    overdue: list[tuple[int, int, MessageId]] = []


class Outbox(Generic[Message]):
    """Holds messages that were sent and not acknowledged, and says which of them count as lost.

    A receiver deals with messages in the order in which they were sent. So a message counts as lost when one that was
    sent so much later as its wait is long has been acknowledged: one that waits in a long queue does not. From a
    receiver that has acknowledged nothing for longer than it usually takes, a few of the oldest messages ask for a sign
    of life, then more of them, each time after twice as long. The wait of a message doubles when it is sent again.
    """

    def __init__(
        self, capacity: int = CAPACITY, first_wait_ms: int = FIRST_WAIT_MS, max_wait_ms: int = MAX_WAIT_MS
    ) -> None:
        self._capacity = capacity
        self._first_wait_ms = first_wait_ms
        self._max_wait_ms = max_wait_ms
        self._waiting: dict[MessageId, _Waiting[Message]] = {}
        self._receivers: dict[str, _Receiver] = {}
        self._sendings = 0

    def put(self, message_id: MessageId, message: Message, now_ms: int, receiver: str = "") -> bool:
        """Remember a message that is sent now; return False when the outbox is full and the sender has to hold back.

        A message that waits already under this id is replaced, and its wait starts anew.
        """
        if message_id not in self._waiting and len(self._waiting) >= self._capacity:
            return False
        self.forget(message_id)
        known = self._receivers.get(receiver)
        if known is None:
            known = self._receivers[receiver] = _Receiver(heard_ms=now_ms, silence_ms=self._first_wait_ms)
        known.waiting += 1
        self._sent(message_id, _Waiting(message, receiver, now_ms, self._first_wait_ms), now_ms)
        return True

    def acknowledge(self, message_id: MessageId, now_ms: int) -> bool:
        """Stop resending a message that arrived; return False when it does not wait here."""
        waiting = self._waiting.get(message_id)
        if waiting is None:
            return False
        receiver = self._receivers[waiting.receiver]
        # The acknowledgement of a message that was sent twice may be that of its first sending, and proves no more.
        receiver.reached_ms = max(receiver.reached_ms, waiting.first_sent_ms)
        if waiting.sendings == 1:
            receiver.round_trip_ms = now_ms - waiting.first_sent_ms
            receiver.asked_at_once = ASKED_AT_ONCE
        receiver.heard_ms = now_ms
        receiver.silence_ms = self._at_most(max(self._first_wait_ms, ROUND_TRIPS * receiver.round_trip_ms))
        return self.forget(message_id)

    def forget(self, message_id: MessageId) -> bool:
        """Stop resending a message that is no longer wanted; return False when it does not wait here."""
        waiting = self._waiting.pop(message_id, None)
        if waiting is None:
            return False
        receiver = self._receivers[waiting.receiver]
        receiver.waiting -= 1
        if not receiver.waiting:
            del self._receivers[waiting.receiver]
        return True

    def lose(self) -> None:
        """Count all messages as lost: what carried or held them has died."""
        for receiver in self._receivers.values():
            receiver.has_lost = True

    def due(self, now_ms: int) -> list[Message]:
        """Return the messages to resend now, for each receiver the longest overdue first."""
        found = [message_id for receiver in self._receivers.values() for message_id in self._due_to(receiver, now_ms)]
        for message_id in found:
            waiting = self._waiting[message_id]
            waiting.wait_ms = self._at_most(2 * waiting.wait_ms)
            self._sent(message_id, waiting, now_ms)
        return [self._waiting[message_id].message for message_id in found]

    def next_due_ms(self) -> int | None:
        """Return when a message may be due next, unless one is acknowledged earlier; None when nothing waits."""
        return min((self._next_ms(receiver) for receiver in self._receivers.values()), default=None)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._waiting

    def _sent(self, message_id: MessageId, waiting: _Waiting[Message], now_ms: int) -> None:
        self._sendings += 1
        waiting.number = self._sendings
        waiting.sendings += 1
        self._waiting[message_id] = waiting
        lost_after_ms = now_ms + waiting.wait_ms
        heapq.heappush(self._receivers[waiting.receiver].overdue, (lost_after_ms, waiting.number, message_id))

    def _due_to(self, receiver: _Receiver, now_ms: int) -> list[MessageId]:
        found = []
        while self._oldest_ms(receiver) <= (math.inf if receiver.has_lost else receiver.reached_ms):
            found.append(heapq.heappop(receiver.overdue)[2])
            if len(found) == receiver.waiting:
                break
        if receiver.has_lost:
            receiver.has_lost = False
            receiver.heard_ms, receiver.silence_ms = now_ms, self._first_wait_ms
        elif now_ms >= receiver.heard_ms + receiver.silence_ms:
            asked = min(receiver.asked_at_once, receiver.waiting - len(found))
            for _ in range(asked):
                self._oldest_ms(receiver)
                found.append(heapq.heappop(receiver.overdue)[2])
            receiver.heard_ms, receiver.silence_ms = now_ms, self._at_most(2 * receiver.silence_ms)
            receiver.asked_at_once = min(ASKED_MORE * receiver.asked_at_once, self._capacity)
        return found

    def _at_most(self, wait_ms: int) -> int:
        return min(wait_ms, self._max_wait_ms)

    def _next_ms(self, receiver: _Receiver) -> int:
        if receiver.has_lost or self._oldest_ms(receiver) <= receiver.reached_ms:
            return receiver.heard_ms
        return receiver.heard_ms + receiver.silence_ms

    def _oldest_ms(self, receiver: _Receiver) -> float:
        """Return up to when later messages must have been sent to prove the loss of the one that is overdue first."""
        while receiver.overdue:
            lost_after_ms, number, message_id = receiver.overdue[0]
            waiting = self._waiting.get(message_id)
            if waiting is not None and waiting.number == number:
                return lost_after_ms
            heapq.heappop(receiver.overdue)
        return math.inf


class Inbox:
    """Remembers the ids of the newest `capacity` messages handled; older duplicates are not recognised."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._seen: dict[MessageId, None] = {}
        self._in_hand: set[MessageId] = set()

    @contextmanager
    def in_hand(self, message_id: MessageId) -> Iterator[bool]:
        """Mark a message as being handled; yield False when a copy of it is being handled already.

        Drop that copy without an acknowledgement: the first one is acknowledged when it is done.
        """
        is_first = message_id not in self._in_hand
        self._in_hand.add(message_id)
        try:
            yield is_first
        finally:
            if is_first:
                self._in_hand.discard(message_id)

    def is_duplicate(self, message_id: MessageId) -> bool:
        """Return True when a message under this id was handled already; acknowledge it again and drop it."""
        return message_id in self._seen

    def note(self, message_id: MessageId) -> None:
        """Record that the message has been handled."""
        self._seen.pop(message_id, None)
        self._seen[message_id] = None
        if len(self._seen) > self._capacity:
            del self._seen[next(iter(self._seen))]

    def __len__(self) -> int:
        return len(self._seen)


class NewestAttempts:
    """Tracks the newest attempt of each visit; an agent only ever begins a newer one than before.

    A newer attempt makes the older one's work worthless: the caller that admits it stops the older one, so that two
    attempts never carry out the same effect side by side.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._newest: dict[str, int] = {}

    def admit(self, key: StageKey) -> Admission:
        """Return whether the attempt begins now, has begun already, or is older than another one."""
        newest = self._newest.get(key.effect_key, 0)
        if key.attempt <= newest:
            return "duplicate" if key.attempt == newest else "outdated"
        self._newest.pop(key.effect_key, None)
        self._newest[key.effect_key] = key.attempt
        if len(self._newest) > self._capacity:
            del self._newest[next(iter(self._newest))]
        return "begin"
