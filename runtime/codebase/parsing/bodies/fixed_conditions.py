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
        |(?P<op>===|!==|&&|\|\||[=!<>]=|[<>!]|\b(?:and|or|is\s+not|is|not)\b)|(?P<mark>[()])|(?P<empty>\[\s*\]|\{\s*\})
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
    "is": operator.is_,
    "isnot": operator.is_not,
}
# What has an order; nothing has one with an absent value.
_ORDERED = frozenset({"<", ">", "<=", ">="})
_WORDS: Mapping[str, bool | None] = {"true": True, "True": True, "false": False, "False": False}
_ABSENT = frozenset({"None", "null", "nil"})
# Calls whose result is known, as they are given nothing.
_OF_NOTHING: Mapping[str, Any] = {
    "bool()": False,
    "int()": 0.0,
    "len([])": 0.0,
    "len({})": 0.0,
    "len(())": 0.0,
    'len("")': 0.0,
    "len('')": 0.0,
    "any([])": False,
    "any(())": False,
    "[].length": 0.0,
}
_CHOICE = re.compile(r"(?P<then>[^?]+?)\s+if\s+(?P<condition>[^?]+?)\s+else\s+(?P<other>.+)", re.DOTALL)
_TERNARY = re.compile(r"(?P<condition>[^?]+)\?(?P<then>[^?:]+):(?P<other>[^?:]+)")
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


def chosen(value: str) -> str:
    """Return the part of a value that is given under a fixed condition; the value itself where nothing fixes it."""
    if len(value) <= MAX_CHARS and (found := _CHOICE.fullmatch(value) or _TERNARY.fullmatch(value)):
        fixed = holds(found["condition"])
        return value if fixed is None else found["then" if fixed else "other"].strip()
    return value


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
        begun = self.at
        left = self._value(depth)
        ours = self._tokens[begun : self.at]
        how = self._next()
        compare = _COMPARE.get(how)
        if compare is None:
            return left
        self.at += 1
        begun = self.at
        right = self._value(depth)
        if how in {"is", "isnot"} and ours == self._tokens[begun : self.at] and _is_plain(ours):
            return how == "is"
        if _CALLED in (left, right):
            return _CALLED
        if type(left) is not type(right) or left is _UNKNOWN or (left is None and how in _ORDERED):
            return _UNKNOWN
        if how in {"is", "isnot"} and not isinstance(left, bool | None):
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
        said = "".join(text for _, text in tokens)
        if said in _OF_NOTHING:
            return _OF_NOTHING[said]
        return _CALLED if any(text == "(" for _, text in tokens) else _UNKNOWN

    def _length_of_brackets(self) -> int:
        open_brackets = 0
        for count, (_, text) in enumerate(self._tokens[self.at :], start=1):
            open_brackets += (text == "(") - (text == ")")
            if open_brackets == 0:
                return count
        return len(self._tokens) - self.at

    def _next(self) -> str:
        if self.at >= len(self._tokens) or self._tokens[self.at][0] == "text":
            return ""
        return "".join(self._tokens[self.at][1].split())

    def _is_over(self) -> bool:
        if self.at >= len(self._tokens):
            return True
        kind, text = self._tokens[self.at]
        return kind == "op" or text == ")"


def _is_plain(tokens: list[tuple[str, str]]) -> bool:
    """Return whether a value is a name alone, which is the same wherever it is read."""
    return len(tokens) == 1 and tokens[0][1].isidentifier()


def _literal(kind: str, text: str) -> Any:
    if kind == "number":
        return float(text)
    if kind == "text":
        return text[1:-1]
    if text in _ABSENT:
        return None
    return _WORDS.get(text, _UNKNOWN) if kind == "word" else _UNKNOWN
