"""Reads the comments of a file that excuse violations of our checks at one place.

Ours are the structure checks and the rules of the project; the linter has comments for its own rules (`noqa`). A
comment of ours needs a reason, and one that excuses nothing is a finding itself, so that none is left behind when its
cause goes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from actors.capabilities.violation_fix.checks.comment_places import Place, in_comments
from actors.capabilities.violation_fix.checks.options import UNUSED_EXCEPTION
from actors.capabilities.violation_fix.checks.violation import Finding
from runtime.codebase.files.source_text import SourceText

FORM = "jeeves: allow RULE — reason"
_MARK = "jeeves:"
_BEGIN = r"(?:#|//|[/(]?\*|--|;|%)[ \t]*jeeves:[ \t]*allow\b"
_OPENED = re.compile(_BEGIN)
_COMMENT = re.compile(_BEGIN + ".*")
_TOLD = re.compile(r"[ \t]+(?P<rule>[a-z0-9-]+)[ \t]+(?:—|–|--?|:)[ \t]+(?P<reason>.*)")
_MOST_ABOVE = 8
_WORD = re.compile(r"\w{2}")


class PlaceExceptions:
    """Holds the exceptions of one file, and which of them excused something; `excused`: how many violations in all."""

    def __init__(self, source: SourceText, language: str | None = None) -> None:
        """Read the comments of a file; what only looks like one, as in a string, excuses nothing."""
        self.excused = 0
        self._rules: dict[int, str] = {}
        self._columns: dict[int, int] = {}
        self._lines: dict[int, tuple[int, ...]] = {}
        self._malformed: list[int] = []
        self._used: set[int] = set()
        self._read(source.lines, _first_comments(source, language))

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

    def _read(self, lines: Sequence[str], comments: Mapping[int, re.Match[str]]) -> None:
        above: tuple[int, ...] = ()
        for number in _and_following(comments):
            line = lines[number - 1] if number <= len(lines) else ""
            found = comments.get(number)
            told = _TOLD.fullmatch(line, found.end()) if found is not None else None
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


def _first_comments(source: SourceText, language: str | None) -> dict[int, re.Match[str]]:
    """Return the first of our comments on each line that has one, by the number of the line."""
    opened = {
        Place(at, found.start()): found
        for at, line in enumerate(source.lines)
        if _MARK in line
        for found in _OPENED.finditer(line)
    }
    first: dict[int, re.Match[str]] = {}
    for place in sorted(in_comments(source, language, list(opened))):
        first.setdefault(place.line + 1, opened[place])
    return first


def _and_following(numbers: Iterable[int]) -> list[int]:
    """Return numbers of lines and those of the lines below them, in order."""
    given = list(numbers)
    return sorted({*given, *(number + 1 for number in given)})


def exceptions_in(text: str) -> Counter[str]:
    """Return what looks like comments that would excuse something in a text, counted."""
    return Counter(_told_in(text))


def _told_in(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if _MARK in line and (found := _COMMENT.search(line)) is not None:
            yield found.group().strip()
