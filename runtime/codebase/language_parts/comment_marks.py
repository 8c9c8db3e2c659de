"""Declares what begins and ends comments in languages that are not parsed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CommentMarks(NamedTuple):
    """Names what begins a comment of one line, and what begins and ends one of several."""

    lines: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()


_SLASHES = CommentMarks(("//",), (("/*", "*/"),))
_HASH = CommentMarks(("#",))
_MARKUP = CommentMarks((), (("<!--", "-->"),))
COMMENT_MARKS: Mapping[str, CommentMarks] = {
    **dict.fromkeys(("swift", "scala", "dart", "groovy", "zig", "proto", "json", "css"), _SLASHES),
    **dict.fromkeys(
        ("yaml", "toml", "docker", "make", "cmake", "elixir", "perl", "r", "julia", "graphql", "fish"), _HASH
    ),
    **dict.fromkeys(("html", "xml"), _MARKUP),
    "vue": CommentMarks(("//",), (("/*", "*/"), ("<!--", "-->"))),
    "ini": CommentMarks(("#", ";")),
    "terraform": CommentMarks(("#", "//"), (("/*", "*/"),)),
    "powershell": CommentMarks(("#",), (("<#", "#>"),)),
    "sql": CommentMarks(("--",), (("/*", "*/"),)),
    "lua": CommentMarks(("--",), (("--[[", "]]"),)),
    "haskell": CommentMarks(("--",), (("{-", "-}"),)),
    "erlang": CommentMarks(("%",)),
}
