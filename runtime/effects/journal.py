"""Journals effects outside a run, so that a retried stage does not repeat them.

A call is journaled under a key that does not depend on the attempt: the visit, the number of the call in it, and a hash
of the request. It is `intended` before it is made and `done` with its result after. A reissued stage finds the finished
calls here. A call that was intended and has no result may or may not have been made: then its tool's declaration
decides.

    repeatable    make it again: doing it twice does no harm
    check_first   check whether it was done; make it only when it was not
    ask           a person decides

An attempt begins at most once, despite duplicate or late delivery and dead processes (`begin`).
"""

from __future__ import annotations

import hashlib
from typing import Literal, Protocol

import msgspec

from runtime.errors import FencedError
from runtime.primitives.ids import RunId, StageKey

BEGIN, FIND, INTEND, DONE = "journal.begin", "journal.find", "journal.intend", "journal.done"
JOURNAL_QUERIES = (BEGIN, FIND, INTEND, DONE)

Declaration = Literal["repeatable", "check_first", "ask"]
Action = Literal["run", "reuse", "check", "ask"]


class EffectKey(msgspec.Struct, frozen=True):
    """Identifies one call of one visit, independently of the attempt; `call` counts from 1."""

    run_id: RunId
    hop: int
    item: int
    call: int
    request_hash: str


class JournalRecord(msgspec.Struct, frozen=True):
    """Records a call: the attempt that intended it, and its result once it is done."""

    key: EffectKey
    attempt: int
    result: bytes | None = None

    @property
    def is_done(self) -> bool:
        """True when the call was made and its result is here."""
        return self.result is not None


class Resolution(msgspec.Struct, frozen=True):
    """Holds the action to take for a call; `result` comes with `reuse`."""

    action: Action
    result: bytes | None = None


class Journal(Protocol):
    """Records calls. Every method returns once the record is stored, or raises StateStorageError."""

    def begin(self, key: StageKey, by: str) -> bool:
        """Return True when the attempt may begin: no other process than `by` began it, and no newer one began."""

    def find(self, key: EffectKey) -> JournalRecord | None:
        """Return the record of a call; None when no attempt intended it."""

    def intend(self, key: EffectKey, attempt: int) -> None:
        """Record that `attempt` is about to make the call. Raises FencedError when a newer attempt has begun."""

    def done(self, key: EffectKey, result: bytes) -> None:
        """Record the result of the call. The first result stays; later ones are ignored."""

    def forget(self, run_id: RunId) -> None:
        """Drop the records of a finished run."""


def effect_key(stage: StageKey, call: int, request: bytes) -> EffectKey:
    """Return the key of a stage's call number `call` (from 1) with the encoded request."""
    return EffectKey(stage.run_id, stage.hop, stage.item, call, hashlib.blake2b(request, digest_size=8).hexdigest())


_ACTION_IN_DOUBT: dict[Declaration, Action] = {"repeatable": "run", "check_first": "check", "ask": "ask"}


def resolve(record: JournalRecord | None, declaration: Declaration) -> Resolution:
    """Return the action for a call with that record, for a tool with that declaration."""
    if record is None:
        return Resolution("run")
    if record.result is not None:
        return Resolution("reuse", record.result)
    return Resolution(_ACTION_IN_DOUBT[declaration])


def overtaken(key: EffectKey, attempt: int, newest: int) -> FencedError:
    """Return the error for an attempt that a newer one of the same visit has replaced."""
    return FencedError(
        f"attempt {attempt} of hop {key.hop} of run {key.run_id} was overtaken by attempt {newest}",
        run_id=key.run_id,
        attempt=attempt,
        newest=newest,
    )


class MemoryJournal:
    """Keeps a journal for the lifetime of the process."""

    def __init__(self) -> None:
        self._records: dict[RunId, dict[EffectKey, JournalRecord]] = {}
        self._begun: dict[RunId, dict[tuple[int, int], tuple[int, str]]] = {}

    def begin(self, key: StageKey, by: str) -> bool:
        visits = self._begun.setdefault(key.run_id, {})
        newest, holder = visits.get((key.hop, key.item), (0, ""))
        if key.attempt <= newest:
            return (key.attempt, by) == (newest, holder)
        visits[key.hop, key.item] = (key.attempt, by)
        return True

    def find(self, key: EffectKey) -> JournalRecord | None:
        return self._records.get(key.run_id, {}).get(key)

    def intend(self, key: EffectKey, attempt: int) -> None:
        newest, _ = self._begun.get(key.run_id, {}).get((key.hop, key.item), (0, ""))
        if attempt < newest:
            raise overtaken(key, attempt, newest)
        self._records.setdefault(key.run_id, {}).setdefault(key, JournalRecord(key, attempt))

    def done(self, key: EffectKey, result: bytes) -> None:
        records = self._records.setdefault(key.run_id, {})
        record = records.get(key)
        if record is None or record.result is None:
            records[key] = JournalRecord(key, record.attempt if record else 0, result)

    def forget(self, run_id: RunId) -> None:
        self._records.pop(run_id, None)
        self._begun.pop(run_id, None)
