"""Reads the lines that an answer cites, as they are today, where they still hold what is quoted.

The repository is hostile: its files are read below its root alone, and those that hold secrets are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from runtime.codebase.citation import Citation
from runtime.codebase.files.source_reader import SourceReader
from runtime.errors import RepositoryError
from runtime.run.envelope import Envelope

# A page shows the first lines of each citation, of the first citations.
MAX_LINES = 40
MAX_CITATIONS = 50
MAX_LINE_CHARS = 400

Code = Mapping[str, list[tuple[int, str]]]
"""Mark of a citation → its lines, each with its number. One that is not in it has changed, or cannot be read."""


def cited_code(root: Path, citations: Iterable[Mapping[str, Any]], read_at_ms: int) -> Code:
    """Return the lines of citations, long ones cut.

    Left out are those whose files were written after `read_at_ms`, or do not hold the quoted text there.

    A citation without a quote is left out, too: what it names is not to be shown, as the value of a password.
    """
    reader = SourceReader(root.resolve())
    found: dict[str, list[tuple[int, str]]] = {}
    for each in islice(citations, MAX_CITATIONS):
        lines = _lines(reader, each) if _is_older(root, str(each["file"]), read_at_ms) else []
        if lines:
            found[mark_of(each)] = lines
    return found


def mark_of(citation: Mapping[str, Any]) -> str:
    """Return the mark of a citation of an answer document."""
    return Citation(citation["file"], citation["start_line"], citation["end_line"]).mark


def _lines(reader: SourceReader, citation: Mapping[str, Any]) -> list[tuple[int, str]]:
    first, last, quote = int(citation["start_line"]), int(citation["end_line"]), str(citation.get("quote") or "")
    if not quote.strip():
        return []
    try:
        lines = reader.source(str(citation["file"])).lines
    except (RepositoryError, ValueError):
        return []
    cited = lines[first - 1 : last] if 1 <= first <= last <= len(lines) else []
    if _squeezed(quote) not in _squeezed("\n".join(cited)):
        return []
    return list(enumerate(map(_cut, cited[:MAX_LINES]), first))


def _is_older(root: Path, file: str, at_ms: int) -> bool:
    try:
        return (root / file).stat().st_mtime_ns <= at_ms * 1_000_000
    except (OSError, ValueError):
        return False


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"


def read_until_ms(envelope: Envelope) -> int:
    """Return when a run read files at the latest: the end of its last stage."""
    ends = (record.started_at_ms + record.duration_ms for record in envelope.history)
    return max(ends, default=envelope.received_at_ms)


def _squeezed(text: str) -> str:
    return " ".join(text.split())
