"""Makes citations: the lines that back a result, with the most informative of them as quote.

A quote is text of the cited lines as they are on disk now, at most 300 characters of one line, so that the citation
check finds it again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.records import ChunkHit, SymbolRecord
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS
from runtime.codebase.tool_parts.documentation_lines import documentation_start

MAX_QUOTE_CHARS = 300
MAX_CITED_LINES = 80
_HEAD_LINES = 40
MAX_SYMBOLS = 100
_TELLING_KINDS = (CALLABLE_KINDS | CONTAINER_KINDS) - {"macro", "module", "namespace"}


def cite(
    codebase: Codebase,
    file: str,
    start_line: int,
    end_line: int,
    *,
    why: str,
    symbol: str | None = None,
    telling_line: int | None = None,
    terms: Collection[str] = (),
) -> Citation | None:
    """Cite lines (inclusive, clamped to the file); return None if the file or the lines no longer exist.

    The quote is `telling_line` if given, otherwise the line that shares most terms with `terms`.
    """
    source = codebase.try_source(file)
    if source is None:
        return None
    lines = source.lines
    start, end = max(1, start_line), min(end_line, len(lines))
    if start > end:
        return None
    inside = telling_line is not None and start <= telling_line <= end
    number = telling_line if telling_line is not None and inside else _telling_line(lines, start, end, terms)
    quote = _shortened(lines[number - 1].strip() or _first_text(lines, start, end), terms)
    return Citation(file, start, end, quote, why, symbol, source.sha256)


def cite_symbol(codebase: Codebase, symbol: SymbolRecord, why: str) -> Citation | None:
    """Cite a definition with its documentation above it: the whole, or the head of one of more than 80 lines."""
    long = symbol.end_line - symbol.start_line >= MAX_CITED_LINES
    end = symbol.start_line + _HEAD_LINES - 1 if long else symbol.end_line
    source = codebase.try_source(symbol.file)
    start = symbol.start_line if source is None else documentation_start(source.lines, symbol)
    end = max(min(end, start + MAX_CITED_LINES - 1), symbol.name_line)
    name = symbol.qualified_name
    return cite(codebase, symbol.file, start, end, why=why, symbol=name, telling_line=symbol.name_line)


def cite_first_definition(codebase: Codebase, file: str, why: str) -> Citation | None:
    """Cite the first function or type of a file, else its first definition, else its first line."""
    symbols = codebase.symbols_in(file, limit=MAX_SYMBOLS)
    first = next((symbol for symbol in symbols if symbol.kind in _TELLING_KINDS), next(iter(symbols), None))
    return cite(codebase, file, 1, 1, why=why) if first is None else cite_symbol(codebase, first, why)


def cite_chunk(codebase: Codebase, hit: ChunkHit, terms: Collection[str], why: str) -> Citation | None:
    """Cite a ranked chunk, quoting the line that shares most with the question."""
    return cite(codebase, hit.file, hit.start_line, hit.end_line, why=why, symbol=hit.symbol, terms=terms)


def _telling_line(lines: Sequence[str], start: int, end: int, terms: Collection[str]) -> int:
    """Return the line with the most distinct terms, the first of equals; never a blank line if there is another."""
    best, best_points = start, -1
    wanted = frozenset(terms)
    for number in range(start, end + 1):
        text = lines[number - 1][:1000]
        if not text.strip():
            continue
        points = len(wanted.intersection(index_terms(text).split())) if wanted else 0
        if points > best_points:
            best, best_points = number, points
    return best


def _first_text(lines: Sequence[str], start: int, end: int) -> str:
    return next((line.strip() for line in lines[start - 1 : end] if line.strip()), "")


def _shortened(text: str, terms: Collection[str]) -> str:
    """Return at most 300 characters of a line, around the first of the terms."""
    if len(text) <= MAX_QUOTE_CHARS:
        return text
    lowered = text.lower()
    places = [place for term in terms if (place := lowered.find(term)) >= 0]
    start = max(0, min(min(places, default=0) - 60, len(text) - MAX_QUOTE_CHARS))
    return text[start : start + MAX_QUOTE_CHARS].strip()


def add_citation(citations: list[Citation], citation: Citation | None) -> int | None:
    """Add a citation and return its number; None if nothing could be cited."""
    if citation is None:
        return None
    citations.append(citation)
    return len(citations) - 1
