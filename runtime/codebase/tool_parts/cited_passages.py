"""Cites the passages of documents, documentation strings and comments that speak of a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.prose.document_quotes import DocumentQuote
from runtime.codebase.search.prose.passages import Passage
from runtime.codebase.search.prose.sentences import ELLIPSIS, holds
from runtime.codebase.tool_parts.citing import cite

MAX_PASSAGES = 8


def cited_passages(codebase: Codebase, question: str, *, wait: bool) -> list[tuple[dict[str, Any], Citation]]:
    """Return the best passages as rows, each with the citation of its sentences; `wait` as for `Codebase.passages`.

    Behind them stands what documents say of the question, with the probability `worth` that this answers it.
    """
    found = codebase.passages(question, MAX_PASSAGES, wait=wait)
    rows = ((passage, _citation(codebase, passage)) for passage in found if passage.sentences)
    cited = [(_row(passage, _text(codebase, passage)), citation) for passage, citation in rows if citation is not None]
    quotes = ((quote, _citation(codebase, quote)) for quote in codebase.document_quotes(question, wait=wait))
    said = [(_quote_row(codebase, quote), citation) for quote, citation in quotes if citation is not None]
    return [*(pair for pair in cited if not any(_is_same_place(pair[0], row) for row, _ in said)), *said]


def _citation(codebase: Codebase, passage: Passage | DocumentQuote) -> Citation | None:
    first, last = passage.sentences[0], passage.sentences[-1]
    start, end, telling = first.start_line, last.end_line, first.start_line
    return cite(codebase, passage.file, start, end, why="speaks of the question", telling_line=telling)


def _text(codebase: Codebase, passage: Passage | DocumentQuote) -> str:
    """Return the sentences of a passage; what lies between them and is not told is marked by an ellipsis."""
    texts = [sentence.text for sentence in passage.sentences]
    source = codebase.try_source(passage.file)
    first, last = passage.sentences[0], passage.sentences[-1]
    joined = " ".join(texts)
    is_whole = source is None or holds(source.lines[first.start_line - 1 : last.end_line], joined)
    return joined if is_whole else ELLIPSIS.join(texts)


def _is_same_place(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(row[key] == other[key] for key in ("file", "start_line", "end_line"))


def _quote_row(codebase: Codebase, quote: DocumentQuote) -> dict[str, Any]:
    return {
        "file": quote.file,
        "start_line": quote.sentences[0].start_line,
        "end_line": quote.sentences[-1].end_line,
        "kind": quote.passage.kind,
        "heading": quote.passage.heading,
        "text": _text(codebase, quote),
        "names": [],
        "score": quote.worth,
        "cosine": quote.passage.cosine,
        "worth": quote.worth,
    }


def _row(passage: Passage, text: str) -> dict[str, Any]:
    return {
        "file": passage.file,
        "start_line": passage.sentences[0].start_line,
        "end_line": passage.sentences[-1].end_line,
        "kind": passage.kind,
        "heading": passage.heading,
        "text": text,
        "names": [tie.definition.qualified_name for tie in passage.ties if tie.definition is not None],
        "score": round(passage.score, 6),
        "cosine": passage.meaning,
    }
