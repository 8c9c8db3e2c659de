"""Types that a grammar lost: where a file has syntax it does not know, whole classes are missing from its tree.

Found by the look of their lines. Only the head of such a type is told, since where it ends is not known; what is inside
stands for itself.
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
    """Heads of types that no symbol has the name of, in their order."""
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
    """The line where the body opens, or the first one where it does not within a few lines."""
    for number in range(start, min(start + _LONGEST_HEAD_LINES, len(lines) + 1)):
        if "{" in lines[number - 1]:
            return number
    return start
