"""Splits the text of a value into tokens, in the common lexical ground of the indexed languages.

A string, a number and a dotted name are one token each, and so is an operator. Text that is no such token, an unclosed
string or a string with interpolated code makes the whole text unreadable: nothing is guessed about it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

MAX_VALUE_CHARS = 2000
MAX_TOKENS = 400

TokenKind = Literal["string", "number", "name", "operator"]

_OPENING, _CLOSING = "([{", ")]}"
_STRING = (
    r"(?P<string>(?:[rRbBuU]{1,2}|L|u8)?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''"
    r"|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|`[^`]*+`)|b?r\#+\"[^\"]*+\"\#+)"
)
_NUMBER = r"(?P<number>0[xXbBoO][\da-fA-F_']+\w*|(?:\d[\d_]*(?:\.\d[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?\w*)"
_STEP = r"(?:\?\.|->|::|\.)"
# A name with its members, and members that are read by a literal key: `opts[:port]`, `env['PORT']`.
_NAME = (
    rf"(?P<name>(?:&(?=[A-Za-z_$]))?(?:::)?[$@]{{0,2}}[A-Za-z_]\w*!?(?:{_STEP}[$A-Za-z_]\w*+[?!]?"
    r"|\[\s*(?::\w+|\"[\w.\-]+\"|'[\w.\-]+')\s*\])*+)"
)
_SYMBOL = r"(?P<symbol>(?<![\w:]):[A-Za-z_]\w*[?!]?(?!:))"
_OPERATOR = (
    r"(?P<operator>\?\?=?|\?:|\|\||&&|===?|!==?|=>|->|<<|>>|<=|>=|\*\*|:=|\.\.\.?|[-+*/%|&^~!<>=?:,;()\[\]{}#@.])"
)
_COMMENTS = {False: r"(?P<comment>/\*.*?\*/|//[^\n]*)", True: r"(?P<comment>\#[^\n]*)"}
_TOKENS = {
    is_hash: re.compile(rf"\s+|{comment}|{_STRING}|{_SYMBOL}|{_NUMBER}|{_NAME}|{_OPERATOR}", re.DOTALL)
    for is_hash, comment in _COMMENTS.items()
}
_INTERPOLATED = re.compile(r"^`.*\$\{|#\{|^\$?@?\$\"", re.DOTALL)
_FORMATTED = re.compile(r"(?<![\w])[rR]?[fF][rR]?[\"']|\$@?\"")


class Token(NamedTuple):
    """Represents a token of a value: its text, its first place in it, and how many brackets are open around it."""

    kind: TokenKind
    text: str
    start: int
    depth: int

    @property
    def end(self) -> int:
        """The place behind it."""
        return self.start + len(self.text)


def tokens_of(text: str, *, hash_comments: bool) -> list[Token] | None:
    """Return the tokens of a text without its comments; None if it cannot be read."""
    if len(text) > MAX_VALUE_CHARS or _FORMATTED.search(text):
        return None
    pattern, place, depth, found = _TOKENS[hash_comments], 0, 0, list[Token]()
    while place < len(text):
        match = pattern.match(text, place)
        if match is None or match.end() == place or len(found) >= MAX_TOKENS:
            return None
        kind, token = match.lastgroup, match.group()
        if kind is not None and kind != "comment":
            if kind == "string" and _INTERPOLATED.search(token):
                return None
            depth -= token in _CLOSING and kind == "operator"
            if depth < 0:
                return None
            found.append(Token(_kind(kind), token, match.start(), depth))
            depth += token in _OPENING and kind == "operator"
        place = match.end()
    return found if depth == 0 else None


def _kind(group: str) -> TokenKind:
    kinds: dict[str, TokenKind] = {"number": "number", "name": "name", "operator": "operator"}
    return kinds.get(group, "string")


def split_at(tokens: Sequence[Token], marks: frozenset[str]) -> list[list[Token]]:
    """Split tokens at the marks that no bracket encloses; the marks themselves are left out."""
    outer = min((token.depth for token in tokens), default=0)
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.depth == outer and token.text in marks and token.kind != "string":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def closing(tokens: Sequence[Token], opening: int) -> int:
    """Return the position of the bracket that closes the one at a position."""
    depth = tokens[opening].depth
    return next(at for at in range(opening + 1, len(tokens)) if tokens[at].depth == depth)


def text_between(text: str, tokens: Sequence[Token]) -> str:
    """Return the text that tokens cover, its blanks folded; empty without tokens."""
    return " ".join(text[tokens[0].start : tokens[-1].end].split()) if tokens else ""
