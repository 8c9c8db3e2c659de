"""What tests ask of whole lists of citations: what tools produced, and which citations hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from runtime.codebase.citation_check import ProducedRanges, check_citation
from runtime.codebase.codebase import Codebase


def ranges_of(results: Iterable[Any]) -> dict[str, list[tuple[int, int]]]:
    """The ranges that tool results cite, by file, both ends included."""
    produced: dict[str, list[tuple[int, int]]] = {}
    for result in results:
        for citation in result.citations:
            produced.setdefault(citation.file, []).append((citation.start_line, citation.end_line))
    return produced


def verify(
    where: Codebase | Path, citations: Iterable[Any], produced: ProducedRanges
) -> tuple[list[Any], dict[str, int]]:
    """The citations that hold, in order, and how many do not for each reason."""
    verdicts = [check_citation(where, citation, produced) for citation in citations]
    dropped = Counter(str(verdict.reason) for verdict in verdicts if not verdict.valid)
    return [verdict.citation for verdict in verdicts if verdict.valid], dict(dropped)
