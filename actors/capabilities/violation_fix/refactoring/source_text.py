"""Maps positions of syntax trees to offsets of the text, so that edits keep every other character."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

_LINE_END = re.compile(r"\r\n|\r|\n")
_INDENT = re.compile(r"[ \t\f]*")


# A plan looks at the same few sources again and again, and nothing here changes a tree.
@lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the characters from `start` up to, not including, `end`."""

    start: int
    end: int
    text: str


class SourceText:
    """Holds one file's text with its lines, as the Python tokenizer counts them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        # The compiler strips a byte order mark before it counts columns.
        self._mark = 1 if text.startswith("\ufeff") else 0

    @cached_property
    def tree(self) -> ast.Module:
        return _parsed(self.text[self._mark :])

    @cached_property
    def newline(self) -> str:
        found = _LINE_END.search(self.text)
        return found.group() if found else "\n"

    @property
    def line_count(self) -> int:
        return len(self.starts)

    def line(self, number: int) -> str:
        """Return a 1-based line with its line end."""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end]

    def line_end_offset(self, number: int) -> int:
        return self.starts[number] if number < len(self.starts) else len(self.text)

    def lines(self, first: int, last: int) -> str:
        return self.text[self.starts[first - 1] : self.line_end_offset(last)]

    def indent(self, number: int) -> str:
        found = _INDENT.match(self.line(number).lstrip("\ufeff"))
        return found.group() if found else ""

    def is_blank(self, number: int) -> bool:
        return not self.line(number).strip()

    def is_comment(self, number: int) -> bool:
        return self.line(number).lstrip().startswith("#")

    def offset(self, line: int, utf8_column: int) -> int:
        """Return the offset of a tree's position, whose columns count UTF-8 bytes."""
        start = self.starts[line - 1]
        if line == 1:
            start += self._mark
        text = self.line(line)[self._mark if line == 1 else 0 :]
        if text.isascii():
            return start + utf8_column
        return start + len(text.encode("utf-8", "surrogatepass")[:utf8_column].decode("utf-8", "surrogatepass"))

    def start_of(self, node: ast.stmt | ast.expr) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end_of(self, node: ast.stmt | ast.expr) -> int:
        return self.offset(last_line(node), node.end_col_offset or 0)

    def is_elif(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.If) and self.text.startswith("elif", self.start_of(node))

    def segment(self, node: ast.stmt | ast.expr) -> str:
        return self.text[self.start_of(node) : self.end_of(node)]

    @cached_property
    def lines_inside_strings(self) -> frozenset[int]:
        """Lines that begin inside a string literal: their indentation is part of a value."""
        inside: set[int] = set()
        literals = {tokenize.STRING, *(getattr(tokenize, name, -1) for name in ("FSTRING_MIDDLE", "TSTRING_MIDDLE"))}
        opened: list[int] = []
        opening = {getattr(tokenize, "FSTRING_START", -2), getattr(tokenize, "TSTRING_START", -2)}
        closing = {getattr(tokenize, "FSTRING_END", -3), getattr(tokenize, "TSTRING_END", -3)}
        for token in tokenize.generate_tokens(io.StringIO(self.text[self._mark :], newline="").readline):
            if token.type in opening:
                opened.append(token.start[0])
            elif token.type in closing:
                inside.update(range(opened.pop() + 1, token.end[0] + 1))
            elif token.type in literals:
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
        return frozenset(inside)

    def indent_unit(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        """Return what one level of indentation is inside a function."""
        outer = self.indent(function.lineno)
        inner = self.indent(function.body[0].lineno)
        if inner.startswith(outer) and len(inner) > len(outer) and function.body[0].lineno != function.lineno:
            return inner[len(outer) :]
        return "    "


def last_line(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno if node.end_lineno is not None else node.lineno


def first_line(node: ast.stmt) -> int:
    """Return the first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def shifted_lines(source: SourceText, first: int, last: int, old: str, new: str) -> str:
    """Return lines with one indentation in place of another; lines inside strings stay as they are."""
    strings = source.lines_inside_strings
    shifted = []
    for number in range(first, last + 1):
        line = source.line(number)
        moves = number not in strings and line.startswith(old) and line.strip()
        shifted.append(new + line[len(old) :] if moves else line)
    return "".join(shifted)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < position:
            raise ValueError(f"edits overlap at offset {edit.start}; each must begin at or after {position}")
        pieces += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, text[position:]])
