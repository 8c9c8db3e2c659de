"""Defines typed identifiers, so that a stage's name cannot be mistaken for an agent's or a run's."""

from __future__ import annotations

import os
import secrets
from collections import deque
from typing import Annotated, ClassVar, NewType

import msgspec

RunId = NewType("RunId", str)
StageName = NewType("StageName", str)
MessageId = NewType("MessageId", str)
Address = NewType("Address", str)
GoalId = NewType("GoalId", str)

DEFAULT_SYSTEM = "default"

# Marks of ids that contain the id of their run: `KIND:KEY`, `KIND:INTERRUPT`, and `RUN-qN`. A fork renames them.
TIMER_ID = "timer id"
INTERRUPT_ID = "interrupt id"
TimerId = Annotated[str, TIMER_ID]
InterruptId = Annotated[str, INTERRUPT_ID]

_ID_BYTES = 8
_MADE_AT_ONCE = 256

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_run_id(now_ms: int) -> RunId:
    """Return a new run id that sorts by time: `r-` + 9 characters of time + 8 random ones (Crockford's base 32)."""
    return RunId(f"r-{_base32(now_ms, 9)}{_base32(secrets.randbits(40), 8)}")


def new_message_id() -> MessageId:
    """Return a new id for one message on the bus: 64 random bits."""
    if _FreshIds.process_id != os.getpid():  # a fork would give the ids that its parent gives
        _FreshIds.ids.clear()
        _FreshIds.process_id = os.getpid()
    while True:
        try:
            return MessageId(_FreshIds.ids.pop())
        except IndexError:  # of several threads that find none, each adds its own
            digits, width = os.urandom(_MADE_AT_ONCE * _ID_BYTES).hex(), 2 * _ID_BYTES
            _FreshIds.ids.extend(digits[at : at + width] for at in range(0, len(digits), width))


class _FreshIds:
    """Holds ids made in advance by one call of the system, which takes longer than all else about an id."""

    ids: ClassVar[deque[str]] = deque()
    process_id = 0


def _base32(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


class StageKey(msgspec.Struct, frozen=True, order=True):
    """Identifies one execution of a stage.

    `hop` counts the visits that routing decided, from 1; `item` is the index in a fan-out; `attempt` counts retries and
    re-issues of the same visit, from 1, and makes no new hop.
    """

    run_id: RunId
    hop: int
    item: int = 0
    attempt: int = 1

    def __str__(self) -> str:
        return f"{self.run_id}/{self.hop}/{self.item}/{self.attempt}"

    @property
    def effect_key(self) -> str:
        """The key for journaling effects: the same for every attempt of this visit."""
        return f"{self.run_id}/{self.hop}/{self.item}"
