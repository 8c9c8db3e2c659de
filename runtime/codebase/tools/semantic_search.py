"""Declares the tool `semantic_search`."""

from __future__ import annotations

import copy
import posixpath
from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.gathering import MAX_BY_WORDS
from runtime.codebase.search.second_reading import SMALL
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import MAX_SYMBOLS, bounded, listed, numbered
from runtime.codebase.tool_registry import CodeTool, Path, Text, by_fields
from runtime.errors import RepositoryError

# Pieces that words find and that are ordered while some vectors are missing.
BY_WORDS_UNTIL_COMPLETE = 200
INCOMPLETE = (
    f"not all pieces have their vectors yet: the first {BY_WORDS_UNTIL_COMPLETE} that words find are ordered, and what "
    "shares no word with the query may be missing; locate needs no vectors"
)


class SemanticSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which pieces of code fit a question? `thorough`: false reads fewer pieces, faster."""

    query: Text
    scope: Path | None = None
    max_results: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    thorough: bool = True


def semantic_search(
    codebase: Codebase, query: str, scope: str | None = None, max_results: int = 20, *, thorough: bool = True
) -> ToolResult:
    """Find chunks of code that match a question, best first; unless `thorough`, fewer are read together with it.

    `data`: query, meaning, hits [{file, start_line, end_line, symbol, score, citation}]; `meaning` is False if the
    codebase has no embeddings and only words counted, also because of a fault, which `note` gives. Until every piece
    has its vector, `embedded` and a note say how many have, and more of what words find is ordered.
    """
    log = AttemptLog()
    limit = bounded(max_results, MAX_SYMBOLS)
    ready, pieces = (0, 0) if codebase.semantics is None else codebase.semantics.counted(codebase.index)
    is_complete = ready == pieces
    codebase = codebase if thorough else codebase.reading_within(SMALL)
    codebase = _by_windows(codebase, MAX_BY_WORDS if is_complete else BY_WORDS_UNTIL_COMPLETE)
    try:
        found = log.run("ranked_chunks", lambda: codebase.search_chunks(query, limit, scope=scope))
        if not found and scope:
            above = posixpath.dirname(scope.strip("/")) or None
            found = log.run(f"parent:{above or '.'}", lambda: codebase.search_chunks(query, limit, scope=above))
    except RepositoryError as error:
        return log.result("denied", {"query": query}, [], error=error.message)
    citations: list[Citation] = []
    rows = [
        {
            "file": hit.file,
            "start_line": hit.start_line,
            "end_line": hit.end_line,
            "symbol": hit.symbol,
            "score": hit.score,
            "citation": numbered(
                citations, cite(codebase, hit.file, hit.start_line, hit.end_line, why="fits the question")
            ),
        }
        for hit in found
    ]
    data = {"query": query, "meaning": codebase.semantics is not None, "hits": rows}
    fault = None if codebase.semantics is None else codebase.semantics.fault(codebase.index)
    if fault is not None:
        data |= {"meaning": False, "note": f"words alone counted: {fault}"}
    elif not is_complete:
        data |= {"embedded": f"{ready} of {pieces} pieces", "note": INCOMPLETE}
    return listed(log, data, citations, False, bool(rows))


def _by_windows(codebase: Codebase, by_words: int) -> Codebase:
    """Return a copy in which the best window of a chunk counts, and that orders so many pieces that words find."""
    other = copy.copy(codebase)
    other.by_words = by_words
    other.semantics = None if codebase.semantics is None else codebase.semantics.with_windows()
    return other


TOOL = CodeTool(
    name="semantic_search",
    description="Pieces of code that fit a question, best first.",
    parameters=SemanticSearch,
    run=by_fields(semantic_search),
    exposed=False,
    isolation="in_process",
    place=180,
    example={"query": "how are retries bounded?"},
)
