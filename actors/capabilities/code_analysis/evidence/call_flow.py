"""What is called on the way, in the order of the calls, without calls that nothing shown leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from actors.capabilities.code_analysis.evidence.facts import Fact
from runtime.primitives.dotted_names import last_part

# Methods that every container and stream has: a call of one seldom means the definition of that name in a repository.
COMMON_METHODS = frozenset(
    {"get", "set", "add", "pop", "update", "append", "extend", "insert", "remove", "clear", "copy", "keys", "values"}
    | {"items", "join", "split", "strip", "replace", "format", "read", "write", "close", "open", "send", "put"}
    | {"encode", "decode", "index", "count", "sort", "start", "stop", "run"}
)


def is_common(fact: Fact) -> bool:
    """True for a call whose name says little about what is meant."""
    return last_part(fact.name) in COMMON_METHODS


def reached(traced: Sequence[Fact], starts: Iterable[str]) -> list[Fact]:
    """The traced calls that something shown before them leads to; common methods, and what follows them, left out."""
    known = {name for start in starts for name in (start, last_part(start))}
    kept = []
    for fact in traced:
        if fact.about in known and not is_common(fact):
            kept.append(fact)
            known.add(fact.name)
    return kept
