"""Reads the comments of a file that excuse violations of our checks at one place.

Ours are the structure checks and the rules of the project; the linter has comments for its own rules (`noqa`). A
comment of ours needs a reason, and one that excuses nothing is a finding itself, so that none is left behind when its
cause goes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from actors.capabilities.violation_fix.checks.options import UNUSED_EXCEPTION
from actors.capabilities.violation_fix.checks.violation import Finding
from runtime.codebase.files.source_text import SourceText

FORM = "jeeves: allow RULE — reason"
_MARK = "jeeves:"
_COMMENT = re.compile(r"(?:#|//|[/(]?\*|--|;|%)[ \t]*jeeves:[ \t]*allow\b(?P<told>.*)")
_TOLD = re.compile(r"[ \t]+(?P<rule>[a-z0-9-]+)[ \t]+(?:—|–|--?|:)[ \t]+(?P<reason>.*)")
_MOST_ABOVE = 8
_WORD = re.compile(r"\w{2}")


class PlaceExceptions:
    """Holds the exceptions of one file, and which of them excused something; `excused`: how many violations in all."""

    def __init__(self, source: SourceText) -> None:
        self.excused = 0
        self._rules: dict[int, str] = {}
        self._columns: dict[int, int] = {}
        self._lines: dict[int, tuple[int, ...]] = {}
        self._malformed: list[int] = []
        self._used: set[int] = set()
        self._read(source.lines)

    def __bool__(self) -> bool:
        return bool(self._rules or self._malformed)

    def without_excused(self, findings: Iterable[Finding], checks: Collection[str]) -> list[Finding]:
        """Return the findings that no exception is for; only those of some checks can be excused."""
        return [each for each in findings if each.check_id not in checks or not self._excuses(each)]

    def unused(self, path: str, checks: Collection[str]) -> list[Finding]:
        """Return a finding for each exception that excuses nothing, of the checks that ran."""
        idle = [(line, rule) for line, rule in self._rules.items() if line not in self._used and rule in checks]
        told = [(line, f"this excuses nothing: no violation of {rule} is here; take it away") for line, rule in idle]
        told += [(line, f"this excuses nothing: write it as `{FORM}`") for line in self._malformed]
        return [Finding(path, line, 1, UNUSED_EXCEPTION, message) for line, message in told]

    def _excuses(self, finding: Finding) -> bool:
        made_for = [line for line in self._lines.get(finding.line, ()) if self._rules[line] == finding.check_id]
        # A pattern may match the comment itself, which names the rule: then there is nothing else to excuse.
        if made_for and finding.column <= self._columns.get(finding.line, finding.column):
            self._used.update(made_for)
            self.excused += 1
        return bool(made_for)

    def _read(self, lines: Iterable[str]) -> None:
        above: tuple[int, ...] = ()
        for number, line in enumerate(lines, 1):
            found = _COMMENT.search(line) if _MARK in line else None
            told = _TOLD.fullmatch(found["told"]) if found is not None else None
            if found is None:
                here: tuple[int, ...] = ()
            elif told is None or _WORD.search(told["reason"]) is None:
                self._malformed.append(number)
                here = ()
            else:
                self._rules[number] = told["rule"]
                self._columns[number] = found.start()
                here = (number,)
            if here or above:
                self._lines[number] = (*above, *here)
            stands_alone = found is not None and not line[: found.start()].strip()
            above = (*above, *here)[-_MOST_ABOVE:] if stands_alone else ()


def exceptions_in(text: str) -> Counter[str]:
    """Return the comments of a text that would excuse something, counted."""
    return Counter(_told_in(text))


def _told_in(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if _MARK in line and (found := _COMMENT.search(line)) is not None:
            yield found.group().strip()
