"""Extracts symbols of files without a grammar by line patterns.

The `outline` of the language's record finds the lines that open a section, a key, a class or a function. Extents are
estimates: a symbol ends where the next one of the same or a lower indent begins, a class or a function with what
closes it in its column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.files.source_text import indent_of
from runtime.codebase.language_parts.outlines import Opening
from runtime.codebase.language_registry import language_named
from runtime.codebase.parsing.syntax import FileSyntax, Symbol

MAX_NAME_CHARS = 120
MAX_SIGNATURE_CHARS = 200
MAX_KEYS = 300

_CLOSED = frozenset({"class", "function", "method"})
_CLOSES = re.compile(r"\s*(?:[)\]}]|(?:end|fi|done|esac)\b)")
_OPENS_AGAIN = re.compile(r"\s*\{|.*[({\[:]\s*$")


def extract_text(lines: list[str], language: str | None) -> FileSyntax:
    """Return the symbols of a text, without references or imports. An unknown language gives status `unsupported`."""
    openings = list(language_named(language).outline(lines)) if language is not None else []
    return FileSyntax(
        _symbols(openings, lines), [], [], [], status="text" if language is not None else "unsupported", note=""
    )


def _symbols(openings: list[Opening], lines: list[str]) -> list[Symbol]:
    openings.sort()
    del openings[MAX_KEYS:]
    symbols: list[Symbol] = []
    ends = _ends(openings, len(lines))
    above: list[tuple[int, int]] = []
    for index, (line, level, full_name, kind) in enumerate(openings):
        name = full_name[:MAX_NAME_CHARS]
        while above and above[-1][0] >= level:
            above.pop()
        parent = above[-1][1] if above else None
        nested = parent is not None and kind not in ("section", "key")
        qualified = f"{symbols[parent].qualified_name}.{name}" if nested and parent is not None else name
        own_kind = "method" if kind == "function" and nested else kind
        signature = lines[line - 1].strip()[:MAX_SIGNATURE_CHARS]
        end = _closed_at(lines, line, ends[index]) if own_kind in _CLOSED else ends[index]
        symbols.append(Symbol(name, qualified, own_kind, line, end, line, signature, "", parent))
        above.append((level, index))
    return symbols


def _ends(openings: list[Opening], line_count: int) -> list[int]:
    ends = [line_count] * len(openings)
    waiting: list[int] = []
    for index, (line, level, _, _) in enumerate(openings):
        while waiting and openings[waiting[-1]][1] >= level:
            ends[waiting.pop()] = max(line - 1, 1)
        waiting.append(index)
    return ends


def _closed_at(lines: Sequence[str], start: int, end: int) -> int:
    """Return the number of the line that closes what a line begins, in its column; `end` where none is found first."""
    own = indent_of(lines[start - 1])
    for number in range(start + 1, end + 1):
        line = lines[number - 1]
        if not line.strip() or indent_of(line) > own:
            continue
        if indent_of(line) < own:
            return end
        if not _OPENS_AGAIN.match(line):
            return number if _CLOSES.match(line) else end
    return end
