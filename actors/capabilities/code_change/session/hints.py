"""Finds earlier changes for a like request: failures to avoid, and successes to follow."""

from __future__ import annotations

import re
from collections.abc import Iterable

from actors.capabilities.code_change.store.session_store import OutcomeRow
from runtime.codebase.files.words import index_terms
from runtime.contracts.contract import END

# The share of the words of two queries, taken together, that both must have; or so many, and that share of the shorter
# one, since a request that comes again is often told in fewer words.
LEAST_LIKENESS = 0.4
LEAST_SHARED = 4
LEAST_WITHIN = 0.75
MAX_HINTS = 3
MAX_REASON_CHARS = 300
MAX_TOUCHED = 8
# What is imported may name anything.
_PHASE = re.compile(r"[A-Z][A-Z0-9_]{0,39}")


def likeness(one: str, other: str) -> float:
    """Return the share of the terms of two texts that both have, 0 to 1."""
    first, second = _terms(one), _terms(other)
    return len(first & second) / len(first | second) if first | second else 0.0


def is_like(one: str, other: str) -> bool:
    """Return whether two requests are so alike that what became of one says something of the other."""
    first, second = _terms(one), _terms(other)
    shared = len(first & second)
    is_within = shared >= LEAST_SHARED and shared >= LEAST_WITHIN * min(len(first), len(second))
    return is_within or likeness(one, other) >= LEAST_LIKENESS


def hints_of(query: str, outcomes: Iterable[OutcomeRow]) -> list[str]:
    """Return what became of changes for a like request, the likest first, at most three."""
    like = [(likeness(query, row.query), row) for row in outcomes if is_like(query, row.query)]
    near = sorted(like, key=lambda pair: (-pair[0], -pair[1].at_ms))
    return [_hint(row) for _, row in near[:MAX_HINTS]]


def _terms(text: str) -> set[str]:
    return set(index_terms(text).split())


def _hint(row: OutcomeRow) -> str:
    about = f"«{row.query[:MAX_REASON_CHARS]}»"
    touched = ", ".join((*row.symbols, *row.files)[:MAX_TOUCHED])
    if row.verdict == "success":
        return f"an earlier change for {about} went well; it was about {touched or 'files that it did not name'}"
    reason = row.reason[:MAX_REASON_CHARS] or "nobody said why"
    rooted = f"; it went wrong in {row.phase}" if row.phase != END and _PHASE.fullmatch(row.phase) else ""
    files = f"; it was about {touched}" if touched else ""
    return f"an earlier change for {about} ended as {row.verdict}: {reason}{rooted}{files}"
