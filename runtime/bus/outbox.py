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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Literal, TypeVar

from runtime.primitives.ids import MessageId, StageKey

Message = TypeVar("Message")
Admission = Literal["begin", "duplicate", "outdated"]

CAPACITY = 10_000
FIRST_WAIT_MS = 500
MAX_WAIT_MS = 15_000


class Outbox(Generic[Message]):
    """Holds messages that were sent and not acknowledged; each is due again after a wait that doubles up to a cap."""

    def __init__(
        self, capacity: int = CAPACITY, first_wait_ms: int = FIRST_WAIT_MS, max_wait_ms: int = MAX_WAIT_MS
    ) -> None:
        self._capacity = capacity
        self._first_wait_ms = first_wait_ms
        self._max_wait_ms = max_wait_ms
        self._waiting: dict[MessageId, tuple[Message, int, int]] = {}
        self._due: list[tuple[int, int, MessageId]] = []
        self._puts = 0

    def put(self, message_id: MessageId, message: Message, now_ms: int) -> bool:
        """Remember a message that is sent now; return False when the outbox is full and the sender has to hold back.

        A message that waits already under this id is replaced, and its wait starts anew.
        """
        if message_id not in self._waiting and len(self._waiting) >= self._capacity:
            return False
        self._wait_for(message_id, message, now_ms, self._first_wait_ms)
        return True

    def acknowledge(self, message_id: MessageId) -> bool:
        """Stop resending a message that arrived or is no longer wanted; return False when it does not wait here."""
        return self._waiting.pop(message_id, None) is not None

    def due(self, now_ms: int) -> list[Message]:
        """Return the messages to resend now, the longest overdue first; each is due again after twice its last wait."""
        found = []
        while self._due and self._due[0][0] <= now_ms:
            _, number, message_id = heapq.heappop(self._due)
            waiting = self._waiting.get(message_id)
            if waiting is not None and waiting[2] == number:
                found.append((message_id, waiting))
        for message_id, (message, wait_ms, _) in found:
            self._wait_for(message_id, message, now_ms, min(2 * wait_ms, self._max_wait_ms))
        return [message for _, (message, _, _) in found]

    def next_due_ms(self) -> int | None:
        """Return when the next message is due; None when nothing waits."""
        while self._due:
            due_ms, number, message_id = self._due[0]
            waiting = self._waiting.get(message_id)
            if waiting is not None and waiting[2] == number:
                return due_ms
            heapq.heappop(self._due)
        return None

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._waiting

    def _wait_for(self, message_id: MessageId, message: Message, now_ms: int, wait_ms: int) -> None:
        self._puts += 1
        self._waiting[message_id] = (message, wait_ms, self._puts)
        heapq.heappush(self._due, (now_ms + wait_ms, self._puts, message_id))


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
