"""Tells the violations that a branch brought from those that its base commit had already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from actors.capabilities.violation_fix.checks.violation import Finding, Violation

_Place = tuple[str, ...]


class ByAge(NamedTuple):
    """Holds violations that are new and those that are old, each in the order in which they were given."""

    new: tuple[Violation, ...]
    old: tuple[Violation, ...]


def by_age(violations: Sequence[Violation], base: Iterable[Finding]) -> ByAge:
    """Return which violations are new, given what the same checks find in the base commit's files.

    Files are known by their present paths on both sides. Each finding of the base commit makes one violation old: of
    the same check and file, and on a line of the same text in the same definition, else on a line of the same text,
    else in the same definition. The numbers of lines count for nothing. Outside of all definitions only the text of
    the line counts.
    """
    waiting = list(violations)
    left = list(base)
    for place in (_line_and_symbol, _line, _symbol):
        waiting, left = _unmatched(waiting, left, place)
    new = {each.violation_id for each in waiting}
    return ByAge(
        tuple(each for each in violations if each.violation_id in new),
        tuple(each for each in violations if each.violation_id not in new),
    )


def _unmatched(
    violations: Sequence[Violation], base: Sequence[Finding], place: Callable[[Finding], _Place | None]
) -> tuple[list[Violation], list[Finding]]:
    """Return both without those that pair off, one with one, at the same place."""
    theirs = Counter(at for each in base if (at := place(each)) is not None)
    ours: Counter[_Place] = Counter()
    waiting = []
    for each in violations:
        at = place(each)
        if at is None or ours[at] == theirs[at]:
            waiting.append(each)
        else:
            ours[at] += 1
    left = []
    for finding in base:
        at = place(finding)
        if at is None or ours[at] == 0:
            left.append(finding)
        else:
            ours[at] -= 1
    return waiting, left


def _line_and_symbol(finding: Finding) -> _Place:
    return (finding.check_id, finding.path, finding.symbol, finding.text)


def _line(finding: Finding) -> _Place:
    return (finding.check_id, finding.path, finding.text)


def _symbol(finding: Finding) -> _Place | None:
    return (finding.check_id, finding.path, finding.symbol) if finding.symbol else None
