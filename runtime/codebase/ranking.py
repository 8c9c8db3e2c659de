"""Ranking pieces of files for a question: full-text score, symbol names and paths, weighed together.

The full-text score (BM25 over body, names, path and comments of each chunk) carries the order; names and paths that the
question speaks of add to it; tests, documents and the like are demoted unless the question asks for them; and of one
file only a few chunks come in front. Same index and same question give the same order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime.codebase.index_reader import IndexReader
from runtime.codebase.index_records import ChunkHit
from runtime.codebase.path_kinds import PathKind, kind_of_path, kinds_asked_for
from runtime.codebase.symbol_links import symbols_named
from runtime.codebase.tokens import QueryTerms, index_terms, query_terms

MAX_QUERY_CHARS = 8_000
MAX_QUERY_TERMS = 48
CANDIDATES = 300


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """Every figure of the ranking, tuned on development questions."""

    body: float = 1.0
    names: float = 3.0
    path: float = 1.5
    doc: float = 0.5
    file_share: float = 0.5
    symbol_exact: float = 0.6
    path_term: float = 0.3
    second_chunk: float = 0.85
    demotion: float = 0.5


DEFAULT_WEIGHTS = RankingWeights()
_NEVER_DEMOTED: frozenset[PathKind] = frozenset({"source"})
_STRONG_DEMOTION: frozenset[PathKind] = frozenset({"changelog", "vendored", "generated", "translation"})


def rank_chunks(
    index: IndexReader,
    query: str,
    limit: int,
    *,
    scope: str | None = None,
    weights: RankingWeights = DEFAULT_WEIGHTS,
) -> list[ChunkHit]:
    """The best chunks for a question, at most `limit`; empty when no word of it occurs. `scope`: a file or folder."""
    terms = query_terms(query[:MAX_QUERY_CHARS])
    if not terms.counts or limit < 1:
        return []
    chosen = _choose_terms(index, terms)
    hits = _full_text(index, chosen, weights, CANDIDATES)
    if not hits:
        return []
    top = hits[0].score
    scores = {(hit.file, hit.start_line): hit.score / top for hit in hits}
    chunks = {(hit.file, hit.start_line): hit for hit in hits}
    _add_symbols(index, terms.identifiers, scores, chunks, weights)
    _add_file_share(scores, weights)
    asked = kinds_asked_for(query)
    for key in scores:
        scores[key] *= _demotion(kind_of_path(key[0]), asked, weights)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))
    within = [key for key in ranked if _in_scope(key[0], scope)]
    return _diversified(within, chunks, scores, weights, limit)


def _in_scope(path: str, scope: str | None) -> bool:
    return scope in (None, ".") or path == scope or path.startswith(f"{scope}/")


def _choose_terms(index: IndexReader, terms: QueryTerms) -> list[tuple[str, int]]:
    """The terms that tell most, each with how often to weigh it."""
    counts = index.document_counts(list(terms.counts))
    total = index.chunk_count()
    scored = [
        (math.log(1 + total / count) * (1 + math.log(terms.counts[term])), term) for term, count in counts.items()
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    return [(term, terms.counts[term]) for _, term in scored[:MAX_QUERY_TERMS]]


def _full_text(
    index: IndexReader, terms: Iterable[tuple[str, int]], weights: RankingWeights, limit: int
) -> list[ChunkHit]:
    match = " OR ".join(f'"{term}"' for term, _ in terms)
    if not match:
        return []
    columns = (weights.body, weights.names, weights.path, weights.doc)
    return [
        ChunkHit(path, start, end, name, float(score), symbol_id)
        for _, path, start, end, symbol_id, name, score in index.ranked_chunks(match, columns, limit)
    ]


def _add_symbols(
    index: IndexReader,
    identifiers: Sequence[str],
    scores: dict[tuple[str, int], float],
    chunks: dict[tuple[str, int], ChunkHit],
    weights: RankingWeights,
) -> None:
    """Raise the chunks of definitions that the question names."""
    for identifier in identifiers[:20]:
        for symbol in symbols_named(index, identifier, fuzzy=False, limit=8):
            key = next(
                (
                    k
                    for k, c in chunks.items()
                    if k[0] == symbol.file and c.start_line <= symbol.name_line <= c.end_line
                ),
                None,
            )
            if key is None:
                key = (symbol.file, symbol.start_line)
                end = min(symbol.end_line, symbol.start_line + 59)
                chunks[key] = ChunkHit(
                    symbol.file, symbol.start_line, end, symbol.qualified_name, 0.0, symbol.id, "symbol"
                )
                scores[key] = 0.0
            scores[key] += weights.symbol_exact


def _add_file_share(scores: dict[tuple[str, int], float], weights: RankingWeights) -> None:
    """Raise the chunks of files of which many chunks fit."""
    by_file: dict[str, list[float]] = {}
    for (file, _), score in scores.items():
        by_file.setdefault(file, []).append(score)
    share = {file: sum(sorted(found, reverse=True)[1:4]) / 3 for file, found in by_file.items()}
    for key in scores:
        scores[key] += weights.file_share * share[key[0]]


def _demotion(kind: PathKind, asked: frozenset[PathKind], weights: RankingWeights) -> float:
    if kind in _NEVER_DEMOTED or kind in asked:
        return 1.0
    return weights.demotion**2 if kind in _STRONG_DEMOTION else weights.demotion


def _diversified(
    ranked: list[tuple[str, int]],
    chunks: dict[tuple[str, int], ChunkHit],
    scores: dict[tuple[str, int], float],
    weights: RankingWeights,
    limit: int,
) -> list[ChunkHit]:
    seen: dict[str, int] = {}
    adjusted: list[tuple[float, tuple[str, int]]] = []
    for key in ranked:
        count = seen.get(key[0], 0)
        adjusted.append((scores[key] * weights.second_chunk**count, key))
        seen[key[0]] = count + 1
    adjusted.sort(key=lambda pair: (-pair[0], pair[1]))
    hits = []
    for score, key in adjusted[:limit]:
        hit = chunks[key]
        hits.append(
            ChunkHit(hit.file, hit.start_line, hit.end_line, hit.symbol, round(score, 6), hit.symbol_id, hit.source)
        )
    return hits


def terms_of(text: str) -> frozenset[str]:
    """The index terms of a text, for comparing lines with a question."""
    return frozenset(index_terms(text).split())
