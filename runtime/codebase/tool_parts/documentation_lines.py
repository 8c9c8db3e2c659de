"""Finds the lines of the comment above a definition that hold its documentation.

In most languages a definition begins below its documentation; a citation that is to back it must begin above. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.search.prose.comment_lines import comment_lines
from runtime.codebase.search.prose.prose_paragraphs import bare
from runtime.codebase.search.prose.sentences import holds

MAX_COMMENT_LINES = 200
# So much of a documentation identifies the comment that it stems from.
COMPARED_CHARS = 60

_ANNOTATION = re.compile(r"^\s*(?:@\w|#!?\[|\[\w)")


def documentation_start(lines: Sequence[str], symbol: SymbolRecord) -> int:
    """Return the line on which the documentation of a definition begins, if it stands directly above, else its own."""
    told = " ".join(symbol.docstring.split())
    begun = told[:COMPARED_CHARS].rsplit(" ", 1)[0] if len(told) > COMPARED_CHARS else told
    first = symbol.start_line
    # The file may have been cut since it was indexed.
    if not begun or first > len(lines) or holds(lines[first - 1 : symbol.end_line], begun):
        return first
    above = first - 1
    while above > 0 and _ANNOTATION.match(lines[above - 1]):
        above -= 1
    least = max(0, above - MAX_COMMENT_LINES)
    marked = comment_lines(lines[least:above])
    start = above
    while start > least and marked[start - least - 1]:
        start -= 1
    while start < above and not bare(lines[start]):
        start += 1
    return start + 1 if start < above and holds(lines[start:above], begun) else first
