"""What a file says of itself at its head: its docstring, or the comment that its language documents a file with."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.files.languages import language_named
from runtime.codebase.language_parts.head_comments import HeadDoc

MAX_HEAD_LINES = 80


def head_doc(lines: Sequence[str], language: str) -> HeadDoc | None:
    """What the first lines of a file say of it; None when they say nothing, or speak of rights alone."""
    find = language_named(language).head_doc
    found = find([line.rstrip() for line in lines[:MAX_HEAD_LINES]]) if find is not None else None
    if found is None or not re.search(r"[a-zA-Z]{3}", found.text):
        return None
    return found
