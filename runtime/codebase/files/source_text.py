"""Decodes a file's bytes into text and lines, in the same way for every part of Jeeves.

Lines end at `\\n` or `\\r\\n` and at nothing else, so that line numbers agree with editors and git. A byte-order mark
is dropped. Bytes that are not UTF-8 are replaced and noted; a NUL byte in the first 8 KB makes a file binary.
"""

from __future__ import annotations

import codecs
import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runtime.codebase.files.regular_file import read_below

SNIFFED_BYTES = 8192
MAX_READ_BYTES = 10_000_000

TAB_COLUMNS = 4

# What a PDF begins with, and drawings saved as one do; the first NUL byte may be far behind it.
PDF_MARK = b"%PDF-"
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def indent_of(line: str) -> int:
    """Return how many columns a line is indented; a tab leads to the next fourth one."""
    wide = line.expandtabs(TAB_COLUMNS) if "\t" in line else line
    return len(wide) - len(wide.lstrip())


@dataclass(frozen=True)
class SourceText:
    """Holds the decoded text of a file, with the SHA-256 of its bytes; `note` describes an irregular encoding."""

    text: str
    sha256: str
    note: str = ""

    @functools.cached_property
    def lines(self) -> list[str]:
        """Return the lines without their ends; a final newline adds no line. The list is shared: do not change it."""
        return split_lines(self.text)


# Returns the source of a file; None if it cannot be read.
ReadSource = Callable[[str], SourceText | None]


def is_binary(data: bytes) -> bool:
    """Return True if the first 8 KB contain a NUL byte, unless a byte-order mark indicates UTF-16; True for a PDF."""
    if data.startswith(UTF16_MARKS):
        return False
    return data.startswith(PDF_MARK) or b"\0" in data[:SNIFFED_BYTES]


def decode(data: bytes) -> tuple[str, str]:
    """Return the text of the bytes, and a note on the encoding (empty for valid UTF-8)."""
    if data.startswith(UTF16_MARKS):
        return data.decode("utf-16", errors="replace"), "utf-16"
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return data.decode("utf-8", errors="replace"), "not valid utf-8, bytes replaced"


def split_lines(text: str) -> list[str]:
    """Split a text into lines without their ends; `""` has none."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def from_bytes(data: bytes) -> SourceText:
    """Return the text of a file's bytes, which must not be binary (see `is_binary`)."""
    text, note = decode(data)
    return SourceText(text, hashlib.sha256(data).hexdigest(), note)


def read_source(root: Path, path: str, max_bytes: int = MAX_READ_BYTES) -> SourceText | None:
    """Return the text of the file at `path` below `root`, or None if it is binary.

    OSError if it cannot be read, is no regular file, lies behind a link, or has more than `max_bytes`.
    """
    data = read_below(root, path, max_bytes)
    return None if is_binary(data) else from_bytes(data)


def try_read_source(root: Path, path: str) -> SourceText | None:
    """Return the text as `read_source` does; None also for a file that is missing or cannot be read."""
    try:
        return read_source(root, path)
    except OSError:
        return None
