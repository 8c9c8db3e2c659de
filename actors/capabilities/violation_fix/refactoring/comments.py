"""Decides which comments above a block move with it.

Those do that speak of the block, not of the function around it."""

from __future__ import annotations

import re

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.source_text import SourceText

_OF_FUNCTION = re.compile(
    r"\b(?:this|the|our|whole|entire) (?:\w+ ){0,2}?(?:function|method|routine|procedure|generator|coroutine)\b",
    re.IGNORECASE,
)
# Comments that programs read, in force from where they stand.
_DIRECTIVE = re.compile(
    r"#\s*(?:pylint|mypy|pyright|flake8|ruff|isort|fmt|yapf|pragma|nosec|skipcq|region|endregion|spell|cython)\b[: ]?",
    re.IGNORECASE,
)


def first_moved_line(source: SourceText, begin: int, function: Function) -> int:
    """Return the first of the comment lines right above a block that move with it, or `begin` where none does."""
    indent = source.indent(begin)
    first = begin
    while first > 1 and source.is_comment(first - 1) and source.indent(first - 1) == indent:
        if _DIRECTIVE.match(source.line(first - 1).strip()):
            break
        first -= 1
    text = " ".join(source.line(number).strip().lstrip("# ") for number in range(first, begin))
    is_own_name = re.search(rf"\b{re.escape(function.name)}\b", text) is not None and "_" in function.name
    return begin if is_own_name or _OF_FUNCTION.search(text) else first


# Words of a comment that a name leaves out.
_SMALL_WORDS = frozenset({"a", "an", "the", "all", "each", "any", "of", "for", "to", "in", "and", "our", "we", "now"})


def repeats_name(line: str, name: str) -> bool:
    """Return whether a comment says in a line nothing but words of a name."""
    text = line.strip().lstrip("#: ").rstrip(".:! ")
    if not re.fullmatch(r"[A-Za-z_ -]+", text):
        return False
    words = [word for word in re.split(r"[ _-]+", text.lower()) if word not in _SMALL_WORDS]
    spoken = [word for word in re.split(r"_+|(?<=[a-z])(?=[A-Z])", name) if word and word.lower() not in _SMALL_WORDS]
    return bool(words) and set(words) <= {word.lower() for word in spoken}
