"""Declares SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.codebase.language_parts.language import Language
from runtime.codebase.language_parts.outlines import MAX_LINE_CHARS, Opening

_OBJECT = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(table|view|function|procedure|index|trigger|type)\s+"
    r"(?:if\s+not\s+exists\s+)?([\w.\"`]+)",
    re.IGNORECASE,
)


def _objects(lines: Sequence[str]) -> Iterator[Opening]:
    for number, line in enumerate(lines, 1):
        if found := _OBJECT.match(line[:MAX_LINE_CHARS]):
            kind = found.group(1).lower()
            yield number, 0, found.group(2).strip('"`'), kind if kind in ("function", "type") else "object"


LANGUAGES = (Language(name="sql", extensions="sql", outline=_objects),)
