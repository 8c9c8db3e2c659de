"""Defines a conformance violation, and the id that names it while lines move.

The id is a digest of the check, the path, the qualified name of the symbol around it, the text of its line and a number
that tells equal ones apart. The number of the line is no part of it, so an edit elsewhere in the file keeps the id.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Literal

import msgspec

Severity = Literal["error", "warning"]
FixKind = Literal["", "safe", "unsafe"]
SYNTAX_ERROR = "syntax-error"
_ID_DIGITS = 12


class Finding(msgspec.Struct, frozen=True, order=True):
    """Holds what a check reports: lines from 1, columns from 1, `measured` against `allowed` where it counts something.

    `symbol` is the qualified name of the innermost definition around it, empty at module level; `text` is its line with
    blanks joined; `fix`: whether the linter has a fix, and whether that is safe.
    """

    path: str
    line: int
    column: int
    check_id: str
    message: str
    severity: Severity = "warning"
    end_line: int = 0
    symbol: str = ""
    text: str = ""
    measured: int | None = None
    allowed: int | None = None
    fix: FixKind = ""
    hint: str = ""


class Violation(Finding, frozen=True):
    """Adds to a finding the id by which it is known."""

    violation_id: str = ""


class Unchecked(msgspec.Struct, frozen=True, order=True):
    """Names a file that was not checked, and why."""

    path: str
    reason: str


class CheckReport(msgspec.Struct, frozen=True):
    """Holds the violations of a repository, ordered by path and line, and what was not checked.

    `checked`: number of files; `notes`: what has to be said of the checks themselves; `is_whole`: whether all rules
    ran on all files, so that no violation can have been missed; `excused`: how many violations of own checks and rules
    of the project comments excuse.
    """

    violations: tuple[Violation, ...]
    checked: int
    unchecked: tuple[Unchecked, ...] = ()
    notes: tuple[str, ...] = ()
    is_whole: bool = True
    excused: int = 0


def with_ids(findings: Iterable[Finding]) -> tuple[Violation, ...]:
    """Return findings in order of path and line, each with its id; two equal ones of a file get distinct ids."""
    seen: Counter[tuple[str, ...]] = Counter()
    made = []
    for each in sorted(findings):
        key = (each.check_id, each.path, each.symbol, each.text)
        seen[key] += 1
        values = {name: getattr(each, name) for name in Finding.__struct_fields__}
        made.append(Violation(**values, violation_id=_id(key, seen[key])))
    return tuple(made)


def joined_blanks(line: str) -> str:
    """Return a line with each run of blanks replaced by one and none at its ends: as ids compare it."""
    return " ".join(line.split())


def _id(key: tuple[str, ...], number: int) -> str:
    told = "\0".join((*key, str(number))).encode("utf-8", "surrogateescape")
    return f"{key[0]}-{hashlib.sha256(told).hexdigest()[:_ID_DIGITS]}"
