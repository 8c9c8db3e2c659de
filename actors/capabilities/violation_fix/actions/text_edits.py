"""Edits source text by lines or by quotation, and refuses what would leave a file that does not parse.

Texts are decoded files with their own line endings. New lines take over the ending that the file uses most.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from typing import Literal

import msgspec

ErrorCategory = Literal["not_found", "syntax_error", "extraction_blocked", "timeout", "other"]


class EditRefused(msgspec.Struct, frozen=True):
    """Says why an edit was not made."""

    category: ErrorCategory
    reason: str


class SourceText(msgspec.Struct, frozen=True):
    """Holds a decoded file: its text with the line endings that it has, and what is needed to encode it again."""

    text: str
    encoding: str
    newline: str

    def encoded(self, text: str) -> bytes:
        """Return the bytes of a new text in the encoding of this one. Raises UnicodeEncodeError."""
        return text.encode(self.encoding)


def decoded(content: bytes, *, is_python: bool) -> SourceText | EditRefused:
    """Decode a file: by its own declaration if it is Python, otherwise as UTF-8."""
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0] if is_python else "utf-8"
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return EditRefused("other", f"the file cannot be decoded: {error}")
    return SourceText(text, encoding, "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n")


def replace_lines(source: SourceText, first: int, last: int, text: str) -> str | EditRefused:
    """Replace lines `first` to `last`, counted from 1, both included; an empty `text` deletes them."""
    lines = _lines(source.text)
    if not 1 <= first <= last <= len(lines):
        return EditRefused("not_found", f"lines {first}-{last} are not in the file, which has {len(lines)} lines")
    new = _in_newlines(text, source.newline)
    if new and not new.endswith(("\n", "\r")):
        new += source.newline
    return "".join(lines[: first - 1]) + new + "".join(lines[last:])


def replace_quoted(source: SourceText, old: str, new: str) -> str | EditRefused:
    """Replace `old`, which has to occur exactly once, by `new`."""
    wanted = _in_newlines(old, source.newline)
    found = source.text.count(wanted) if wanted else 0
    if found != 1:
        how = "is not in the file" if found == 0 else f"occurs {found} times; quote more lines"
        return EditRefused("not_found", f"the old text {how}")
    return source.text.replace(wanted, _in_newlines(new, source.newline))


def syntax_problem(text: str) -> EditRefused | None:
    """Return why a text is no Python module; None if it is one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        return EditRefused("syntax_error", f"the file would not parse: {where}{getattr(error, 'msg', error)}")
    return None


def _lines(text: str) -> list[str]:
    """Split as Python counts lines: form feeds and the like end none."""
    return io.StringIO(text, newline="").readlines()


def _in_newlines(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)
