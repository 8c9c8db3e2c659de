"""Finds the comment that describes a file at its head, in the forms that several languages share.

A language's `head_doc` gets the first lines of a file, without trailing blanks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

MAX_TOLD_CHARS = 400

# Words of head comments about rights, tools or authors rather than about the file.
_NOT_ABOUT = re.compile(
    r"copyright|\(c\)\s*(?:19|20)\d\d|\breleased under\b"
    r"|licen[sc]e|spdx|all rights reserved|eslint|@ts-|@flow|jshint|istanbul|generated|do not edit|-\*-|vim:"
    r"|^\s*@(?:author|since|version|module|fileoverview)\b",
    re.IGNORECASE,
)
# Beside such a tag the same comment may say what the file is.
_TAG_OF_RIGHTS = re.compile(r"[@\\](?:copyright|license|author)\b", re.IGNORECASE)
_BEFORE_CODE = ("//", "#!", "'use strict'", '"use strict"', "<?php")


class HeadDoc(msgspec.Struct, frozen=True):
    """Holds the text and its lines, 1-based and inclusive."""

    text: str
    start_line: int
    end_line: int


def first_block(head: Sequence[str]) -> HeadDoc | None:
    """Return the first block comment before any code that is not about rights or tools."""
    inside_until = -1
    for number, line in enumerate(head):
        if line.startswith("/*"):
            found = block(head, number)
            if found is not None:
                return found
            inside_until = next((n for n in range(number, len(head)) if "*/" in head[n]), len(head))
        elif number > inside_until and line.strip() and not line.startswith(_BEFORE_CODE):
            return None
    return None


def first_hashes(head: Sequence[str]) -> HeadDoc | None:
    """Return the first run of `#` comments, after a line that names the interpreter."""
    start = next((n for n, line in enumerate(head) if line.strip() and not line.startswith("#!")), None)
    if start is None or not head[start].startswith("#"):
        return None
    return told(head, start, run_end(head, start, "#"), lambda line: line.lstrip("#"))


def run_end(head: Sequence[str], start: int, mark: str) -> int:
    """Return the position of the last line of the run from `start` on whose lines begin with a mark."""
    return next((n - 1 for n in range(start, len(head)) if not head[n].startswith(mark)), len(head) - 1)


def block(head: Sequence[str], start: int) -> HeadDoc | None:
    """Return the block comment that begins at a position; one without an end is cut where the head ends."""
    end = next((n for n in range(start, len(head)) if "*/" in head[n]), len(head) - 1)
    return told(head, start, end, _without_stars)


def told(head: Sequence[str], start: int, end: int, bare: Callable[[str], str]) -> HeadDoc | None:
    """Return the text of lines `start` to `end` (positions, inclusive); None for a licence or tool comment."""
    lines = (bare(line).strip() for line in head[start : end + 1])
    text = "\n".join(line for line in lines if not _TAG_OF_RIGHTS.match(line)).strip()
    if _NOT_ABOUT.search(text[:MAX_TOLD_CHARS]):
        return None
    return HeadDoc(text[:MAX_TOLD_CHARS], start + 1, end + 1)


def _without_stars(line: str) -> str:
    return re.sub(r"^\s*(?:/\*+!?|\*+/?)|\*+/\s*$", "", line)
