"""What a file says of itself at its head: its docstring, or the comment that its language documents a file with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

MAX_HEAD_LINES = 80
MAX_TOLD_CHARS = 400

# Words with which a comment at the head speaks of rights, of tools or of who wrote it, and not of the file.
_NOT_ABOUT = re.compile(
    r"copyright|licen[sc]e|spdx|all rights reserved|eslint|@ts-|@flow|jshint|istanbul|generated|do not edit|-\*-|vim:"
    r"|^\s*@(?:author|since|version|module|fileoverview)\b",
    re.IGNORECASE,
)


_BEFORE_CODE = ("//", "#!", "'use strict'", '"use strict"', "<?php")


class HeadDoc(msgspec.Struct, frozen=True):
    """The text, and the lines that it stands on: 1-based, both inclusive."""

    text: str
    start_line: int
    end_line: int


def head_doc(lines: Sequence[str], language: str) -> HeadDoc | None:
    """What the first lines of a file say of it; None when they say nothing, or speak of rights alone."""
    head = [line.rstrip() for line in lines[:MAX_HEAD_LINES]]
    find = _FINDERS.get(language)
    found = find(head) if find is not None else None
    if found is None or not re.search(r"[a-zA-Z]{3}", found.text):
        return None
    return found


def _docstring(head: Sequence[str]) -> HeadDoc | None:
    """Python: the first statement, when it is a string in three quotes."""
    first = next((n for n, line in enumerate(head) if line.strip() and not line.lstrip().startswith("#")), None)
    opened = re.match(r"[rRuU]?(\"\"\"|''')", head[first]) if first is not None else None
    if first is None or opened is None:
        return None
    for number in range(first, len(head)):
        rest = head[number][opened.end() :] if number == first else head[number]
        if opened.group(1) in rest:
            return _made(head, first, number, _without_quotes)
    return None


def _inner_comment(head: Sequence[str]) -> HeadDoc | None:
    """Rust: the first run of `//!`, or the first `/*!`."""
    for number, line in enumerate(head):
        if line.startswith("//!"):
            end = _run_end(head, number, "//!")
            return _made(head, number, end, lambda line: line.removeprefix("//!"))
        if line.startswith("/*!"):
            return _block(head, number)
    return None


def _above_package(head: Sequence[str]) -> HeadDoc | None:
    """Go: the comment that ends right above the `package` clause."""
    at = next((n for n, line in enumerate(head) if line.startswith("package ")), None)
    if not at:
        return None
    if head[at - 1].startswith("//"):
        start = at - 1
        while start > 0 and head[start - 1].startswith("//"):
            start -= 1
        return _made(head, start, at - 1, lambda line: line.removeprefix("//"))
    if head[at - 1].endswith("*/"):
        opening = next((n for n in range(at - 1, -1, -1) if head[n].startswith("/*")), None)
        return None if opening is None else _block(head, opening)
    return None


def _first_block(head: Sequence[str]) -> HeadDoc | None:
    """The first block comment before any code."""
    inside_until = -1
    for number, line in enumerate(head):
        if line.startswith("/*"):
            found = _block(head, number)
            if found is not None:
                return found
            inside_until = next((n for n in range(number, len(head)) if "*/" in head[n]), len(head))
        elif number > inside_until and line.strip() and not line.startswith(_BEFORE_CODE):
            return None
    return None


def _first_hashes(head: Sequence[str]) -> HeadDoc | None:
    """Ruby and shell: the first run of `#` comments, but for what names the interpreter."""
    start = next((n for n, line in enumerate(head) if line.strip() and not line.startswith("#!")), None)
    if start is None or not head[start].startswith("#"):
        return None
    return _made(head, start, _run_end(head, start, "#"), lambda line: line.lstrip("#"))


def _run_end(head: Sequence[str], start: int, mark: str) -> int:
    """The position of the last of the lines from `start` on that begin with a mark."""
    return next((n - 1 for n in range(start, len(head)) if not head[n].startswith(mark)), len(head) - 1)


def _block(head: Sequence[str], start: int) -> HeadDoc | None:
    """The block comment that begins at a position; one without an end is cut where the head ends."""
    end = next((n for n in range(start, len(head)) if "*/" in head[n]), len(head) - 1)
    return _made(head, start, end, _without_stars)


def _without_stars(line: str) -> str:
    return re.sub(r"^\s*(?:/\*+!?|\*+/?)|\*+/\s*$", "", line)


def _without_quotes(line: str) -> str:
    return re.sub(r"^[rRuU]?(?:\"\"\"|''')|(?:\"\"\"|''')\s*$", "", line)


def _made(head: Sequence[str], start: int, end: int, bare: Callable[[str], str]) -> HeadDoc | None:
    """The text of lines, by their positions, both included; None when they do not tell of the file."""
    text = "\n".join(bare(line).strip() for line in head[start : end + 1]).strip()
    if _NOT_ABOUT.search(text[:MAX_TOLD_CHARS]):
        return None
    return HeadDoc(text[:MAX_TOLD_CHARS], start + 1, end + 1)


_FINDERS: dict[str, Callable[[Sequence[str]], HeadDoc | None]] = {
    "python": _docstring,
    "rust": _inner_comment,
    "go": _above_package,
    "ruby": _first_hashes,
    "shell": _first_hashes,
    **dict.fromkeys(("javascript", "typescript", "tsx", "c", "cpp", "php", "java", "c_sharp", "kotlin"), _first_block),
}
