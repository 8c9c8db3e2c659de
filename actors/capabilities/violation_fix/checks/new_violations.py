"""Tells the violations that a branch brought from those that its base commit had already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from actors.capabilities.violation_fix.checks.pairing import Key, paired
from actors.capabilities.violation_fix.checks.violation import Violation

# Equal ids mean the same check, text of the line and definition around it. At the top of a file no definition tells
# where a violation is, so only the text does.
_SAME: tuple[Key, ...] = (
    lambda each: each.violation_id,
    lambda each: (each.path, each.check_id, each.text),
    lambda each: (each.path, each.check_id, each.symbol) if each.symbol else each.violation_id,
)


class ByAge(NamedTuple):
    """Holds violations that are new and those that are old, each in the order in which they were given."""

    new: tuple[Violation, ...]
    old: tuple[Violation, ...]


def by_age(violations: Sequence[Violation], base: Iterable[Violation]) -> ByAge:
    """Return which violations are new, given what the same checks find in the base commit's files.

    Files are known by their present paths on both sides. Each violation of the base commit makes one old: of the same
    check and file, and on a line of the same text in the same definition, else on a line of the same text, else in the
    same definition. The numbers of lines count for nothing.
    """
    new = {each.violation_id for each in paired(base, violations, _SAME).rest}
    return ByAge(
        tuple(each for each in violations if each.violation_id in new),
        tuple(each for each in violations if each.violation_id not in new),
    )
