"""Checks that a citation of an answer is backed by what tools returned and by the file as it is now.

    verdict = check_citation(codebase, citation, produced)      `produced`: ranges that tools returned, by file

A citation is valid if its file lies below the root and exists, its range lies in the file and within one range that a
tool produced, the file is unchanged since it was read (if a hash is given), and its quote is text of those lines (runs
of blanks compared as one). Citations by models and by tools are checked alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.paths import is_denied, readable_path
from runtime.codebase.files.source_text import SourceText, read_source
from runtime.errors import RepositoryError

ProducedRanges = Mapping[str, Sequence[tuple[int, int]]]

_BLANKS = re.compile(r"\s+")


class VerdictReason(StrEnum):
    """Names the reason for a verdict: the first that applies, in the order of the checks."""

    VALID = "valid"
    PATH_DENIED = "path_denied"
    FILE_MISSING = "file_missing"
    RANGE_INVALID = "range_invalid"
    NOT_PRODUCED = "not_produced"
    FILE_CHANGED = "file_changed"
    QUOTE_MISSING = "quote_missing"


class EvidenceVerdict(msgspec.Struct, frozen=True):
    """Holds the verdict on one citation."""

    citation: Citation
    reason: VerdictReason

    @property
    def valid(self) -> bool:
        """True if the citation may be used."""
        return self.reason is VerdictReason.VALID


def check_citation(where: Codebase | Path, citation: Citation, produced_ranges: ProducedRanges) -> EvidenceVerdict:
    """Return the verdict on one citation; never raise for a bad one. `where`: the codebase, or the root alone."""
    return EvidenceVerdict(citation, _reason(where, citation, produced_ranges))


def _reason(where: Codebase | Path, citation: Citation, produced: ProducedRanges) -> VerdictReason:
    try:
        source, relative = _read(where, citation.file)
    except RepositoryError as error:
        return VerdictReason.PATH_DENIED if is_denied(error) else VerdictReason.FILE_MISSING
    except OSError:
        return VerdictReason.FILE_MISSING
    # The path must be written as tools write it: the same file under another name was produced by nobody.
    if relative != citation.file:
        return VerdictReason.NOT_PRODUCED
    lines = source.lines
    if not 1 <= citation.start_line <= citation.end_line <= len(lines):
        return VerdictReason.RANGE_INVALID
    ranges = produced.get(citation.file, ())
    if not any(start <= citation.start_line and citation.end_line <= end for start, end in ranges):
        return VerdictReason.NOT_PRODUCED
    if citation.content_sha256 and citation.content_sha256 != source.sha256:
        return VerdictReason.FILE_CHANGED
    if not quote_occurs(citation.quote, lines[citation.start_line - 1 : citation.end_line]):
        return VerdictReason.QUOTE_MISSING
    return VerdictReason.VALID


def _read(where: Codebase | Path, file: str) -> tuple[SourceText, str]:
    if isinstance(where, Codebase):
        return where.source(file), where.relative(file)
    root = where.resolve()
    relative = readable_path(root, file)
    source = read_source(root, relative)
    if source is None:
        raise RepositoryError(f"{relative} is missing or binary", path=relative)
    return source, relative


def quote_occurs(quote: str, lines: Sequence[str]) -> bool:
    """Return True if the quote, runs of blanks taken as one, is part of the lines; an empty quote always is."""
    wanted = _BLANKS.sub(" ", quote).strip()
    return wanted in _BLANKS.sub(" ", "\n".join(lines))
