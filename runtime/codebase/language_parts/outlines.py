"""Finds the openings of definitions by line patterns, for languages without a grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

MAX_LINE_CHARS = 1000

# Line, indent or heading level, name, kind.
Opening = tuple[int, int, str, str]

_OPENING = re.compile(
    r"^(\s*)(?:(?:export|default|public|private|protected|internal|static|abstract|final|open|override|virtual|async"
    r"|inline|suspend|data|sealed|pub|local|implicit|lazy|partial|cdef|cpdef|const|unsafe|extern|mutating)\s+)*"
    r"(class|interface|trait|struct|enum|object|protocol|extension|module|namespace|record|type|message|service|rpc"
    r"|def|defp|defmodule|defmacro|function|func|fun|fn|sub|proc|macro|resource|variable|provider)"
    r"\s+(?:\([^)]*\)\s*)?[\"`]?([A-Za-z_][\w.:?!]*)"
)
_KIND_BY_KEYWORD: dict[str, str] = {
    "def": "function",
    "defp": "function",
    "defmodule": "module",
    "defmacro": "macro",
    "func": "function",
    "fun": "function",
    "fn": "function",
    "sub": "function",
    "proc": "function",
    "rpc": "method",
    "protocol": "interface",
    "extension": "class",
    "message": "struct",
    "service": "interface",
    "resource": "object",
    "variable": "variable",
    "provider": "object",
}


def code_openings(lines: Sequence[str]) -> Iterator[Opening]:
    """Yield the lines that open a class or a function: line, indent, name, kind."""
    for number, line in enumerate(lines, 1):
        if found := _OPENING.match(line[:MAX_LINE_CHARS]):
            keyword = found.group(2)
            yield number, len(found.group(1)), found.group(3), _KIND_BY_KEYWORD.get(keyword, keyword)


def no_openings(_lines: Sequence[str]) -> Iterator[Opening]:
    """Return no openings, for files whose lines have no recognisable structure."""
    return iter(())
