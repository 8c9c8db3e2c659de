"""Keeps the facts of a task: newer ones supersede older ones, the least valuable are compacted away.

A store is a value: `add` returns another one and a record of the change. Nothing disappears unrecorded: superseded and
compacted facts stay in the understanding, inactive, and what leaves that at its bound is returned as `dropped`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec
from pydantic import Field

from runtime.context.fields import Frozen
from runtime.context.understanding import MAX_FACTS, Fact, FactCategory, Understanding

MAX_ACTIVE = 20
KEPT_ACTIVE = 15
CONTEXT_CONFIDENCE = 0.6
MAX_REMEMBERED = 1_000

# A number of its own, not one in a name or a place: that tells subjects apart.
_NUMBER = re.compile(r"(?<![^\s(])\d+(?:\.\d+)?(?=[\s,.;)]|$)")
_VALUE_OF_CATEGORY = {FactCategory.VERIFICATION: 0.3, FactCategory.ERROR: 0.2}
_VALUE_OF_RECENCY = 0.2
_REPLACEABLE = frozenset({FactCategory.VERIFICATION, FactCategory.CODE_STRUCTURE})
_OUTDATED_BY_VERIFICATION = frozenset({FactCategory.VERIFICATION, FactCategory.ERROR})


class StoreChange(msgspec.Struct, frozen=True):
    """Records what an addition did, for the event log."""

    added: tuple[Fact, ...] = ()
    superseded: tuple[Fact, ...] = ()
    compacted: tuple[Fact, ...] = ()
    dropped: tuple[Fact, ...] = ()


class FactStore(Frozen):
    """Holds an understanding and its limits: compacted to `kept_active` facts above `max_active` active ones."""

    understanding: Understanding = Understanding()
    max_active: int = Field(default=MAX_ACTIVE, ge=1, le=MAX_REMEMBERED)
    kept_active: int = Field(default=KEPT_ACTIVE, ge=1)
    context_confidence: float = Field(default=CONTEXT_CONFIDENCE, ge=0, le=1)
    max_remembered: int = Field(default=MAX_REMEMBERED, ge=1, le=MAX_FACTS // 2)

    def add(self, facts: Iterable[Fact], current_step: int) -> tuple[FactStore, StoreChange]:
        """Return the store with the facts of one tool output added, and the change.

        Facts of one call do not supersede each other. Those whose ids are known are ignored, so that a step that is
        carried out again changes nothing.
        """
        known = {fact.id for fact in self.understanding.facts} | self.understanding.superseded
        new = [fact for name, fact in {fact.id: fact for fact in facts}.items() if name not in known]
        if not new:
            return self, StoreChange()
        active = self.understanding.active
        outdated = [old for old in active if any(_replaces(fact, old) for fact in new)]
        added = [_naming(fact, outdated) for fact in new]
        gone = {fact.id for fact in outdated}
        compacted = self._surplus([*(old for old in active if old.id not in gone), *added], current_step)
        understanding, dropped = self._remembered([*self.understanding.facts, *added], [*outdated, *compacted])
        change = StoreChange(tuple(added), tuple(outdated), tuple(compacted), dropped)
        return self.changed(understanding=understanding), change

    def for_context(self) -> tuple[Fact, ...]:
        """Return the active facts that are sure enough to be shown, in the order in which they were added."""
        return self.understanding.above(self.context_confidence)

    def _surplus(self, active: Sequence[Fact], current_step: int) -> list[Fact]:
        """Return the least valuable facts, none as long as there are at most `max_active`; of equals, older ones."""
        if len(active) <= self.max_active:
            return []
        best = sorted(enumerate(active), key=lambda item: (value_of(item[1], current_step), item[0]), reverse=True)
        kept = {fact.id for _, fact in best[: min(self.kept_active, self.max_active)]}
        return [fact for fact in active if fact.id not in kept]

    def _remembered(self, facts: Sequence[Fact], gone: Sequence[Fact]) -> tuple[Understanding, tuple[Fact, ...]]:
        """Return the understanding without the oldest inactive facts above the bound, and those facts.

        The ids of facts that remain are all kept; an id that is lost would make its fact active again.
        """
        ids = dict.fromkeys((*self.understanding.superseded_ids, *(fact.id for fact in gone)))
        inactive = self.understanding.superseded.union(ids)
        surplus = max(0, len(facts) - self.max_remembered)
        dropped = tuple(fact for fact in facts if fact.id in inactive)[:surplus]
        remembered = {fact.id for fact in facts} - {fact.id for fact in dropped}
        former = [name for name in ids if name not in remembered][-self.max_remembered :]
        understanding = Understanding(
            facts=tuple(fact for fact in facts if fact.id in remembered),
            superseded_ids=(*former, *(name for name in ids if name in remembered)),
        )
        return understanding, dropped


def value_of(fact: Fact, current_step: int) -> float:
    """Return how valuable a fact is: its confidence, more for verifications and errors, and more the newer it is."""
    recency = min(1.0, fact.step / current_step) if current_step > 0 else 0.0
    return fact.confidence + _VALUE_OF_CATEGORY.get(fact.category, 0.0) + _VALUE_OF_RECENCY * recency


def _replaces(new: Fact, old: Fact) -> bool:
    """Return whether a fact outdates an older one.

    It does so if both are of the same kind and subject; and a verification also if both are of the same family and
    scope, since a later run of the same check or tests says all anew.
    """
    if new.step < old.step:
        return False
    if new.category is FactCategory.VERIFICATION and old.category in _OUTDATED_BY_VERIFICATION:
        family, dot, _ = new.kind.partition(".")
        if dot and old.kind.startswith(f"{family}.") and new.scope == old.scope:
            return True
    return new.category is old.category and new.category in _REPLACEABLE and _topic(new) == _topic(old)


def _topic(fact: Fact) -> tuple[str, str, str]:
    """Return kind, subject and scope; a fact without a kind is about what it states, whatever the numbers in it."""
    if fact.kind:
        return fact.kind, fact.subject, fact.scope
    return fact.source, _NUMBER.sub("#", fact.statement), fact.scope


def _naming(fact: Fact, outdated: Sequence[Fact]) -> Fact:
    """Return the fact with the id of the latest one that it replaces."""
    replaced = [old.id for old in outdated if _replaces(fact, old)]
    return fact.changed(supersedes=replaced[-1]) if replaced else fact
