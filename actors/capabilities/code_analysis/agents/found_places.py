"""Chooses the places of a search to read, in the order in which it found them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from actors.capabilities.code_analysis.evidence.facts import CodeFact

# Facts whose lines are all of a thing, and facts of one line in something that is read by its name.
_WHOLE = frozenset({"definition", "excerpt"})
_WITHIN = frozenset({"caller", "reference", "test"})


# A long definition is found in pieces; its first ones leave room for other places.
MAX_PIECES = 2
# Of a definition in which a use stands, as many lines around it are read; uses no further apart are read together.
USE_LINES = 80
NEAR_LINES = USE_LINES // 2


def found_places(facts: Sequence[CodeFact], already: Sequence[CodeFact]) -> list[dict[str, Any]]:
    """Return the arguments of `read_code` for each place, without lines that were read already."""
    places: list[dict[str, Any]] = []
    read = [(fact.citation.file, fact.citation.start_line, fact.citation.end_line) for fact in already]
    pieces: Counter[tuple[str, str]] = Counter()
    for name, file, first, last, arguments in _places(facts):
        pieces[(name, file)] += bool(name)
        if pieces[(name, file)] > MAX_PIECES:
            continue
        is_read = any(file == known and start <= first and last <= end for known, start, end in read)
        if not is_read and not _is_beside(arguments, places):
            places.append(arguments)
            read.append((file, first, last))
    return places


def _is_beside(arguments: dict[str, Any], places: Sequence[dict[str, Any]]) -> bool:
    """Return True for a place that is read already, or a use near another one that is read in the same definition."""
    around = arguments.get("around")
    if around is None:
        return arguments in places
    of_same = [
        place for place in places if place.get("symbol") == arguments["symbol"] and place["path"] == arguments["path"]
    ]
    return any(abs(place["around"] - around) < NEAR_LINES for place in of_same)


def _places(facts: Sequence[CodeFact]) -> Iterator[tuple[str, str, int, int, dict[str, Any]]]:
    for fact in facts:
        cited = fact.citation
        lines = {"path": cited.file, "start_line": cited.start_line, "end_line": cited.end_line}
        if fact.kind in _WHOLE:
            yield fact.name, cited.file, cited.start_line, cited.end_line, lines
        elif fact.kind in _WITHIN and fact.name:
            use = {"path": cited.file, "symbol": fact.name, "around": cited.start_line, "max_lines": USE_LINES}
            yield "", cited.file, cited.start_line, cited.end_line, use
