"""Finds lines that are all comment in languages that are not parsed here.

Only what begins and ends with its line is found: what stands behind code, or looks like a comment within a text, may be
part of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.language_parts.comment_marks import COMMENT_MARKS
from runtime.codebase.language_registry import language_at

# Comments that programs obey.
_OBEYED = re.compile(
    r"#!|#\s*(?:syntax|escape)\s*=|//\s*swift-tools-version|--!|/\*!|\{-#|<!--\s*\[if|<#\s*using|#\s*requires"
)


def without_comment_lines(lines: Sequence[str], path: str) -> list[str]:
    """Return the lines of a file with those empty that are all comment."""
    marks = COMMENT_MARKS.get(language_at(path).name)
    if marks is None:
        return list(lines)
    found = []
    ends = ""
    for line in lines:
        said = line.strip()
        if not ends and not _OBEYED.match(said):
            opened = next((end for begin, end in marks.blocks if said.startswith(begin)), "")
            if not opened and said.startswith(marks.lines or ("\0",)):
                said = ""
            elif opened and opened not in said:
                ends, said = opened, ""
            elif opened:
                said = _behind(said, opened)
        elif ends and ends in said:
            said, ends = _behind(said, ends), ""
        elif ends:
            said = ""
        found.append(line if said else "")
    return found


def _behind(said: str, end: str) -> str:
    return said.partition(end)[2].strip()
