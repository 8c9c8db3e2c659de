"""Recovers types that a grammar lost: unknown syntax can hide whole classes from its tree.

They are found by line patterns. Only the head of such a type is returned, since its end is not known; its members are
symbols of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.language_parts.outlines import code_openings
from runtime.codebase.parsing.definition_heads import doc_comment
from runtime.codebase.parsing.syntax import CONTAINER_KINDS, Symbol
from runtime.codebase.parsing.text_symbols import MAX_SIGNATURE_CHARS

_LONGEST_HEAD_LINES = 6

# What follows the name of a type where it is defined, and not where prose speaks of «a class of things».
_AFTER_NAME = re.compile(r"\s*(?:$|[<({:]|extends\b|implements\b|where\b|final\b)")


def unparsed_types(lines: Sequence[str], symbols: Sequence[Symbol], comment_marks: str = "") -> list[Symbol]:
    """Return the heads of types whose name no symbol has, in order."""
    known = {symbol.name for symbol in symbols}
    found = []
    for number, _, name, kind in code_openings(lines):
        line = lines[number - 1]
        if kind not in CONTAINER_KINDS or name in known:
            continue
        if not name[:1].isupper() or not _AFTER_NAME.match(line[line.index(name) + len(name) :]):
            continue
        known.add(name)
        end = _head_end(lines, number)
        signature = " ".join(" ".join(lines[number - 1 : end]).split()).rstrip("{ ")[:MAX_SIGNATURE_CHARS]
        said = doc_comment(lines, number, comment_marks)
        found.append(Symbol(name, name, kind, number, end, number, signature, said))
    return found


def _head_end(lines: Sequence[str], start: int) -> int:
    """Return the line on which the body opens, or `start` if none does within a few lines."""
    for number in range(start, min(start + _LONGEST_HEAD_LINES, len(lines) + 1)):
        if "{" in lines[number - 1]:
            return number
    return start
