"""Compares the violations of a file before and after a change."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.pairing import Key, paired
from actors.capabilities.violation_fix.checks.violation import Violation

# A violation is the same one if it has the same id, else the same check in the same line or function.
_SAME: tuple[Key, ...] = (
    lambda each: each.violation_id,
    lambda each: (each.path, each.check_id, each.text),
    lambda each: (each.path, each.check_id, each.symbol),
)

# What an edit brings by mistake: names unused, unknown or bound twice, and what does not compile.
_FAULTS = ("E9", "F")


class Compared(msgspec.Struct, frozen=True):
    """Holds the violations that are gone, those that are new or measure more than before, and those that stay."""

    gone: tuple[Violation, ...]
    new: tuple[Violation, ...]
    stayed: tuple[Violation, ...]


def with_fault_checks(options: CheckOptions) -> CheckOptions:
    """Return options by which edits are verified: those of a listing, and the linter's rules for faults."""
    return msgspec.structs.replace(options, select=tuple(dict.fromkeys((*options.select, *_FAULTS))))


def compared(before: Iterable[Violation], after: Iterable[Violation]) -> Compared:
    """Return what became of violations. One that moved into another function, with its line, is no new one."""
    pairs, left, rest = paired(before, after, _SAME)
    worse = [new for old, new in pairs if (new.measured or 0) > (old.measured or 0)]
    stayed = [new for _, new in pairs if new not in worse]
    return Compared(tuple(left), tuple(sorted([*rest, *worse])), tuple(sorted(stayed)))


def is_fixed(violation: Violation, found: Compared) -> bool:
    """Return whether a violation is gone, or one of those that nothing but their ids tells from it."""
    return any(
        (each.path, each.check_id, each.symbol, each.text)
        == (violation.path, violation.check_id, violation.symbol, violation.text)
        for each in found.gone
    )
