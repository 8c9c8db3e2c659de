"""Finds lines that are all comment in languages that are not parsed here.

Only what begins and ends with its line is found: what stands behind code, or looks like a comment within a text, may be
part of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runtime.codebase.language_registry import language_at


class _Marks(NamedTuple):
    """Names what begins a comment of one line, and what begins and ends one of several."""

    lines: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()


_SLASHES = _Marks(("//",), (("/*", "*/"),))
_HASH = _Marks(("#",))
_MARKUP = _Marks((), (("<!--", "-->"),))
_MARKS: Mapping[str, _Marks] = {
    **dict.fromkeys(("swift", "scala", "dart", "groovy", "zig", "proto", "json", "css"), _SLASHES),
    **dict.fromkeys(
        ("yaml", "toml", "docker", "make", "cmake", "elixir", "perl", "r", "julia", "graphql", "fish"), _HASH
    ),
    **dict.fromkeys(("html", "xml"), _MARKUP),
    "vue": _Marks(("//",), (("/*", "*/"), ("<!--", "-->"))),
    "ini": _Marks(("#", ";")),
    "terraform": _Marks(("#", "//"), (("/*", "*/"),)),
    "powershell": _Marks(("#",), (("<#", "#>"),)),
    "sql": _Marks(("--",), (("/*", "*/"),)),
    "lua": _Marks(("--",), (("--[[", "]]"),)),
    "haskell": _Marks(("--",), (("{-", "-}"),)),
    "erlang": _Marks(("%",)),
}
# Comments that programs obey.
_OBEYED = re.compile(
    r"#!|#\s*(?:syntax|escape)\s*=|//\s*swift-tools-version|--!|/\*!|\{-#|<!--\s*\[if|<#\s*using|#\s*requires"
)


def without_comment_lines(lines: Sequence[str], path: str) -> list[str]:
    """Return the lines of a file with those empty that are all comment."""
    marks = _MARKS.get(language_at(path).name)
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
