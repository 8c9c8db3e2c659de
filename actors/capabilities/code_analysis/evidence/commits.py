"""Commits as evidence: what tools told of them, and that an answer speaks of no other.

A commit is no place in a file, so a claim about one carries the commit itself. It holds when a tool of this run
returned that very commit: hash, author, date and subject.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from runtime.codebase.citation import ToolResult

SHORT_HASH_CHARS = 10
MAX_SUBJECT_CHARS = 120

_LIKE_A_HASH = re.compile(r"(?<![\w.-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])", re.IGNORECASE)
_FULL_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class CommitNote(msgspec.Struct, frozen=True):
    """A commit as an answer tells it: `date` is the day, `subject` the first line of its message, made printable."""

    hash: str
    author: str
    date: str
    subject: str

    @property
    def short(self) -> str:
        """The beginning of the hash."""
        return self.hash[:SHORT_HASH_CHARS]


def note_of(row: Mapping[str, Any]) -> CommitNote | None:
    """The commit of a row {hash, author, date, subject}; None for lines that are not committed, and for no commit."""
    name = str(row.get("hash", ""))
    if not _FULL_HASH.fullmatch(name) or not name.strip("0"):
        return None
    author, subject = _printable(row.get("author")), _printable(row.get("subject"))
    return CommitNote(name, author, str(row.get("date", ""))[:10], subject[:MAX_SUBJECT_CHARS].rstrip())


def commits_of(result: ToolResult) -> Iterator[CommitNote]:
    """Every commit that a tool result tells of. Of blamed lines the log tells the same commits, with their own day."""
    if not result.usable:
        return
    data = result.data
    rows = [*data.get("commits", ()), data.get("origin") or {}]
    rows += [row["changes"] for row in data.get("related", ()) if row.get("changes")]
    for row in rows:
        if isinstance(row, Mapping) and (note := note_of(row)) is not None:
            yield note


def invented(named: Iterable[CommitNote], text: str, told: Collection[CommitNote], shown: str) -> bool:
    """True when one of the commits, or a hash in the text, is neither told by a tool nor written in the lines shown."""
    if any(commit not in told for commit in named):
        return True
    hashes = [found.lower() for found in _LIKE_A_HASH.findall(text)]
    lowered = shown.lower() if hashes else ""
    return any(name not in lowered and not any(known.hash.startswith(name) for known in told) for name in hashes)


def _printable(text: object) -> str:
    """A commit's words on one line, without characters that steer a terminal or turn text around."""
    return " ".join("".join(char if char.isprintable() else " " for char in str(text or "")).split())
