"""Scores chunks by full text: selects candidates by SQLite's BM25, then rescores them by BM25F.

BM25F adds up a term's occurrences in body, names, path and comments, weighted by field, before they saturate, so that a
word that occurs in all of them does not count four times over. Terms of the title of a long question, and those that
were written as identifiers, weigh more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.files.words import QueryTerms, index_terms, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit
from runtime.primitives.dotted_names import last_part

MAX_QUERY_TERMS = 32
CANDIDATES = 400
TITLE_CHARS = 300
LONG_QUERY_CHARS = 200

Related = Mapping[str, Mapping[str, float]]

_FIRST_STAGE = (1.0, 3.0, 3.0, 0.5)


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """Sets the weights of the fields, their length normalisation (0 none, 1 full), and the saturation constant."""

    body: float = 1.0
    names: float = 3.0
    path: float = 2.0
    doc: float = 0.6
    body_length: float = 0.6
    name_length: float = 0.3
    saturation: float = 4.0
    title_bonus: float = 1.0
    identifier_bonus: float = 0.5

    @property
    def fields(self) -> tuple[tuple[float, float], ...]:
        """Weight and length normalisation of each field, in the order of the index."""
        return (
            (self.body, self.body_length),
            (self.names, self.name_length),
            (self.path, self.name_length),
            (self.doc, self.body_length),
        )


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """Holds a candidate's score, 0 to 1, and the terms of the question that each of its fields contains.

    `fields`: body, names, path and doc, as in the index.
    """

    chunk_id: int
    hit: ChunkHit
    score: float
    fields: tuple[frozenset[str], ...]


def weigh_terms(
    index: IndexReader, query: str, terms: QueryTerms, weights: FieldWeights, related: Related
) -> dict[str, float]:
    """Return the most informative terms of a question, at most 32, each with its weight; rare terms weigh more.

    `related` maps a term to its other forms and the factor by which each counts.
    """
    forms = [form for others in related.values() for form in others]
    known = index.document_counts([*terms.counts, *forms])
    counts: dict[str, int] = {}
    for term in terms.counts:
        count = known.get(term, 0) + max((known.get(form, 0) for form in related.get(term, ())), default=0)
        if count:
            counts[term] = count
    total = index.chunk_count()
    informative = {
        term: math.log(1 + total / count) * (1 + math.log(terms.counts[term])) for term, count in counts.items()
    }
    chosen = sorted(informative, key=lambda term: (-informative[term], term))[:MAX_QUERY_TERMS]
    title = query_terms(query[:TITLE_CHARS].split("\n")[0]).counts if len(query) > LONG_QUERY_CHARS else {}
    wholes = {index_terms(last_part(name)).partition(" ")[0] for name in terms.identifiers}
    return {
        term: (1 + math.log(terms.counts[term]))
        * (1 + weights.title_bonus * (term in title))
        * (1 + weights.identifier_bonus * (term in wholes))
        * math.log(1 + (total - counts[term] + 0.5) / (counts[term] + 0.5))
        for term in chosen
    }


def score_chunks(
    index: IndexReader,
    term_weights: Mapping[str, float],
    weights: FieldWeights,
    scope: str | None,
    related: Related,
    others: Sequence[int] = (),
) -> list[ScoredChunk]:
    """Return scored chunks with any of the terms or their forms, unordered; `scope` limits them to a file or folder.

    `others`: ids of chunks that are scored as well, whatever their words.
    """
    meant = {term: (term, 1.0) for term in term_weights}
    for term in term_weights:
        meant.update({form: (term, factor) for form, factor in related.get(term, {}).items() if form not in meant})
    match = " OR ".join(f'"{word}"' for word in meant)
    rows = [row[:6] for row in index.ranked_chunks(match, _FIRST_STAGE, CANDIDATES, scope)] if match else []
    found = len(rows)
    known = {row[0] for row in rows}
    rows += index.chunk_places([chunk_id for chunk_id in dict.fromkeys(others) if chunk_id not in known])
    if not rows:
        return []
    texts = index.chunk_texts([row[0] for row in rows])
    # All chunks of a file have the same path, and many the same names.
    count = functools.cache(functools.partial(_count, meant))
    counted = {chunk_id: [count(text) for text in texts[chunk_id]] for chunk_id, *_ in rows}
    usual = [counted[row[0]] for row in rows[:found]] or list(counted.values())
    mean_lengths = [max(1.0, sum(fields[place][1] for fields in usual) / len(usual)) for place in range(4)]
    whole = sum(term_weights.values())
    scored = []
    for chunk_id, path, start, end, symbol_id, name in rows:
        occurring = _occurrences(counted[chunk_id], mean_lengths, weights)
        parts = (term_weights[term] * count / (count + weights.saturation) for term, count in occurring.items())
        score = sum(parts) / whole if whole else 0.0
        fields = tuple(frozenset(counts) for counts, _ in counted[chunk_id])
        hit = ChunkHit(path, start, end, name, score, symbol_id, chunk_id=chunk_id)
        scored.append(ScoredChunk(chunk_id, hit, score, fields))
    return scored


def _count(meant: Mapping[str, tuple[str, float]], text: str) -> tuple[dict[str, float], int]:
    if not text:
        return {}, 0
    words = text.split()
    counts: dict[str, float] = {}
    for word in meant.keys() & words:
        term, factor = meant[word]
        counts[term] = counts.get(term, 0.0) + factor * words.count(word)
    return counts, len(words)


def _occurrences(
    fields: Sequence[tuple[Mapping[str, float], int]], mean_lengths: Sequence[float], weights: FieldWeights
) -> dict[str, float]:
    """Return the occurrences of each term over all fields, weighted and normalised by length."""
    total: dict[str, float] = {}
    for (counts, length), mean, (weight, normalisation) in zip(fields, mean_lengths, weights.fields, strict=True):
        factor = weight / (1 - normalisation + normalisation * length / mean)
        for term, count in counts.items():
            total[term] = total.get(term, 0.0) + factor * count
    return total
