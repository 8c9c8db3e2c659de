"""Tells what documentation says of earlier versions from what it says of the present one.

A note below `.. versionchanged::`, or behind `@since`, is about what was new at one time; read as a description it
misleads. A question that asks for versions or changes wants it all the same. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from runtime.codebase.files.source_text import indent_of
from runtime.codebase.files.words import index_terms

MAX_LINES_ABOVE = 40

_NOTE = re.compile(
    r"\W*\.\.\s+(?:version(?:changed|added|removed)|deprecated|changed|added)::|[\s*/#]*@(?:since|deprecated|version)\b"
)
_ASKED = frozenset(
    index_terms("version changed deprecated since added removed release upgrade migrate new old history").split()
)


def asks_for_changes(terms: Collection[str]) -> bool:
    """Return whether a question with these terms asks for versions or changes."""
    return not _ASKED.isdisjoint(terms)


def is_change_note(lines: Sequence[str], place: int) -> bool:
    """Return whether a line belongs to a note on a version, which it or a line above it begins.

    The part ends at a line that stands no further right than the beginning.
    """
    least = indent_of(lines[place])
    for at in range(place, max(-1, place - MAX_LINES_ABOVE), -1):
        line = lines[at]
        if not line.strip():
            continue
        if indent_of(line) < least or at == place:
            if _NOTE.match(line):
                return True
            least = min(least, indent_of(line))
    return False
