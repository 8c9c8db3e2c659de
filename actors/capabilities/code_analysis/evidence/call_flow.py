"""Selects the calls on a path, in call order, that are reachable from the starting places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from runtime.primitives.dotted_names import last_part

# Methods common to containers and streams: a call of one seldom means a definition of that name in the repository.
COMMON_METHODS = frozenset(
    {"get", "set", "add", "pop", "update", "append", "extend", "insert", "remove", "clear", "copy", "keys", "values"}
    | {"items", "join", "split", "strip", "replace", "format", "read", "write", "close", "open", "send", "put"}
    | {"encode", "decode", "index", "count", "sort", "start", "stop", "run"}
)


def is_common(fact: CodeFact) -> bool:
    """Return whether the name of a called function says little about which definition is meant."""
    return last_part(fact.name) in COMMON_METHODS


def reached(traced: Sequence[CodeFact], starts: Iterable[str]) -> list[CodeFact]:
    """Return the traced calls reachable from `starts`, without common methods and calls reached only through those."""
    known = {name for start in starts for name in (start, last_part(start))}
    kept = []
    for fact in traced:
        if fact.about in known and not is_common(fact):
            kept.append(fact)
            known.add(fact.name)
    return kept
