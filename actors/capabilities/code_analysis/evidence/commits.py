"""Extracts commits from tool results as evidence, and detects commits that no tool returned.

A commit is not a place in a file, so a claim about one carries the commit itself. It is valid when a tool of this run
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
    """Describes a commit for an answer: `date` is the day, `subject` the first line of its message, 120 characters.

    Both author and subject are as the repository has them; `printable` makes them fit for a line of text.
    """

    hash: str
    author: str
    date: str
    subject: str

    @property
    def short(self) -> str:
        """The beginning of the hash."""
        return self.hash[:SHORT_HASH_CHARS]


def note_of(row: Mapping[str, Any]) -> CommitNote | None:
    """Read the commit of a row {hash, author, date, subject}; None for uncommitted lines and for rows without one."""
    name = str(row.get("hash", ""))
    if not _FULL_HASH.fullmatch(name) or not name.strip("0"):
        return None
    author, subject = (str(row.get(field) or "") for field in ("author", "subject"))
    return CommitNote(name, author, str(row.get("date", ""))[:10], subject[:MAX_SUBJECT_CHARS])


def commits_of(result: ToolResult) -> Iterator[CommitNote]:
    """Yield every commit in a tool result. Blame rows are skipped: the log lists the same commits with their dates."""
    if not result.usable:
        return
    data = result.data
    rows = [*data.get("commits", ()), data.get("origin") or {}]
    rows += [row["changes"] for row in data.get("related", ()) if row.get("changes")]
    for row in rows:
        if isinstance(row, Mapping) and (note := note_of(row)) is not None:
            yield note


def invented(named: Iterable[CommitNote], text: str, returned: Collection[CommitNote], shown: str) -> bool:
    """Return whether a commit, or a hash in the text, occurs in no tool result (a hash: nor in `shown`)."""
    if any(commit not in returned for commit in named):
        return True
    hashes = [found.lower() for found in _LIKE_A_HASH.findall(text)]
    lowered = shown.lower() if hashes else ""
    return any(name not in lowered and not any(known.hash.startswith(name) for known in returned) for name in hashes)


def printable(text: str) -> str:
    """Put a commit's text on one line, without control characters or characters that reverse its direction."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
