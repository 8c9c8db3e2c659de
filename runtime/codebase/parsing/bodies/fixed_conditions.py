"""Tells conditions that never or always hold, whatever comes in, from their text.

So do `1 > 2`, `!true` and `a and False`. Names and calls are not known. A call is made, so a condition with one is
fixed only by what stands before it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

# A longer condition is taken to ask something.
MAX_CHARS = 300
MAX_DEPTH = 20
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"\\]*"|'[^'\\]*')|(?P<number>\d+(?:\.\d+)?)(?![\w.])
        |(?P<op>===|!==|&&|\|\||[=!<>]=|[<>!]|\b(?:and|or|not)\b)|(?P<mark>[()])|(?P<empty>\[\s*\]|\{\s*\})
        |(?P<word>[\w$@.]+)|(?P<other>[^\s]))""",
    re.VERBOSE,
)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "===": operator.eq,
    "!=": operator.ne,
    "!==": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_WORDS: Mapping[str, bool | None] = {"true": True, "True": True, "false": False, "False": False}
_UNKNOWN: Final = object()
# Something is called before the value is known.
_CALLED: Final = object()


def holds(condition: str) -> bool | None:
    """Return whether a condition always holds, or never does; None where that depends on something."""
    if len(condition) > MAX_CHARS:
        return None
    tokens = [(str(found.lastgroup), found[str(found.lastgroup)]) for found in _TOKEN.finditer(condition)]
    reader = _Reader(tokens)
    value = reader.either(0)
    return None if reader.at < len(tokens) or value is _UNKNOWN or value is _CALLED else bool(value)


class _Reader:
    """Reads a condition from left to right; a value is a literal's, or one of the two marks."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self.at = 0

    def either(self, depth: int) -> Any:
        return self._joined(depth, ("||", "or"), self._both, ends=True)

    def _both(self, depth: int) -> Any:
        return self._joined(depth, ("&&", "and"), self._negated, ends=False)

    def _joined(self, depth: int, words: tuple[str, str], part: Callable[[int], Any], *, ends: bool) -> Any:
        """Read parts between words, of which one whose truth is `ends` decides, unless one before it is called."""
        value = part(depth)
        while self._next() in words:
            self.at += 1
            other = part(depth)
            known = value is not _UNKNOWN and value is not _CALLED
            if (known and bool(value) is ends) or value is _CALLED:
                continue
            if known:
                value = other
            elif other is _CALLED:
                value = _CALLED
            elif other is not _UNKNOWN and bool(other) is ends:
                value = other
        return value

    def _negated(self, depth: int) -> Any:
        if self._next() in ("!", "not") and depth < MAX_DEPTH:
            self.at += 1
            value = self._negated(depth + 1)
            return value if value is _UNKNOWN or value is _CALLED else not value
        return self._compared(depth)

    def _compared(self, depth: int) -> Any:
        left = self._value(depth)
        compare = _COMPARE.get(self._next())
        if compare is None:
            return left
        self.at += 1
        right = self._value(depth)
        if _CALLED in (left, right):
            return _CALLED
        if type(left) is not type(right) or left is _UNKNOWN:
            return _UNKNOWN
        return compare(left, right)

    def _value(self, depth: int) -> Any:
        """Read up to what joins or compares: a literal alone, a condition between brackets, or something unknown."""
        start = self.at
        if self._next() == "(" and depth < MAX_DEPTH:
            self.at += 1
            value = self.either(depth + 1)
            if self._next() == ")":
                self.at += 1
                if self._is_over():
                    return value
            self.at = start
        while not self._is_over():
            self.at += 1 if self._next() != "(" else self._length_of_brackets()
        tokens = self._tokens[start : self.at]
        if len(tokens) == 1:
            return _literal(*tokens[0])
        return _CALLED if any(text == "(" for _, text in tokens) else _UNKNOWN

    def _length_of_brackets(self) -> int:
        open_brackets = 0
        for count, (_, text) in enumerate(self._tokens[self.at :], start=1):
            open_brackets += (text == "(") - (text == ")")
            if open_brackets == 0:
                return count
        return len(self._tokens) - self.at

    def _next(self) -> str:
        return self._tokens[self.at][1] if self.at < len(self._tokens) and self._tokens[self.at][0] != "text" else ""

    def _is_over(self) -> bool:
        if self.at >= len(self._tokens):
            return True
        kind, text = self._tokens[self.at]
        return kind == "op" or text == ")"


def _literal(kind: str, text: str) -> Any:
    if kind == "number":
        return float(text)
    if kind == "text":
        return text[1:-1]
    return _WORDS.get(text, _UNKNOWN) if kind == "word" else _UNKNOWN
