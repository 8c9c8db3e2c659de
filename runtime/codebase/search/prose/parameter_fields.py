"""Tells which parameter a line of documentation describes.

A sentence about one says nothing of the whole function. Fields begin with `:param name:` or `@param name`, and
`name (type): …` below `Args:`; what stands further right below one goes on with it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.files.source_text import indent_of
from runtime.codebase.search.prose.comment_lines import COMMENT

# A description that is longer is no more looked through.
MAX_LINES = 40

_FIELD = re.compile(
    r"\s*(?::(?:param|parameter|arg|argument|key|keyword)\s+(?:[\w.\[\], |]{1,60}\s)?\*{0,2}(?P<role>\w+)\s*:"
    r"|@param\s+(?:\{[^}]{0,80}\}\s+)?(?:[\w|\\?\[\]]{1,80}\s+(?=\$))?\[?\$?(?P<tag>\w+))"
)
_ENTRY = re.compile(r"\s*\*{0,2}(?P<entry>\w+)(?:\s\([^)]{1,80}\))?\s?:(?:\s|$)")
_SECTION = re.compile(r"\s*(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters):\s*$")
# What else a list of fields may begin with: a result, an error.
_OTHER_FIELD = re.compile(r"\s*(?::\w|@\w)")


def parameter_of(lines: Sequence[str], at: int) -> str:
    """Return the name of the parameter that a line goes on to describe; empty for none, and if the line names it.

    `lines`: those of the code, or of its documentation; `at`: a position among them.
    """
    plain = [COMMENT.sub("", line, count=1) if COMMENT.match(line) else line for line in lines[: at + 1]]
    depth = indent_of(plain[at]) if plain[at].strip() else 0
    entry = ""
    for above in range(at - 1, max(-1, at - MAX_LINES), -1):
        line = plain[above]
        if not line.strip() or indent_of(line) >= depth:
            continue
        depth = indent_of(line)
        if entry and _SECTION.match(line):
            return entry
        if (found := _FIELD.match(line)) is not None:
            return found["role"] or found["tag"]
        if entry or _OTHER_FIELD.match(line):
            return ""
        named = _ENTRY.match(line)
        if named is None:
            return ""
        entry = named["entry"]
    return ""
