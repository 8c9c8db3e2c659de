"""Pairs the violations of two listings of a file that are the same one, wherever their lines moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from actors.capabilities.violation_fix.checks.violation import Violation

Key = Callable[[Violation], Any]


class Paired(NamedTuple):
    """Holds pairs of violations before and after, those before that have no partner, and those after."""

    pairs: list[tuple[Violation, Violation]]
    left: list[Violation]
    rest: list[Violation]


def paired(before: Iterable[Violation], after: Iterable[Violation], keys: Sequence[Key]) -> Paired:
    """Return which violations share a key, one with one; a later key is asked of those that have none yet."""
    found: list[tuple[Violation, Violation]] = []
    left, rest = list(before), list(after)
    for key in keys:
        waiting: dict[Any, list[Violation]] = {}
        for each in left:
            waiting.setdefault(key(each), []).append(each)
        alone = []
        for each in rest:
            same = waiting.get(key(each))
            if same:
                found.append((same.pop(0), each))
            else:
                alone.append(each)
        left, rest = [each for several in waiting.values() for each in several], alone
    return Paired(found, left, rest)
