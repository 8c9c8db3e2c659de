"""Extracts a file's own description from its head: its docstring or leading comment, by language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.language_parts.head_comments import HeadDoc
from runtime.codebase.language_registry import language_named

MAX_HEAD_LINES = 80


def head_doc(lines: Sequence[str], language: str) -> HeadDoc | None:
    """Return the description in the first lines of a file; None without one, or for a mere licence header."""
    find = language_named(language).head_doc
    found = find([line.rstrip() for line in lines[:MAX_HEAD_LINES]]) if find is not None else None
    if found is None or not re.search(r"[a-zA-Z]{3}", found.text):
        return None
    return found
