"""Ranks chunks for a question: gathers candidates and orders them by a learned ranker.

Candidates come by words, by what their terms mean and, with vectors, by meaning. Where most have a vector the ranker
`vectors` orders them, else `words`, and the shapes of the first move them. Wherever vectors take part, the first are
then read together with the question. The same index, vectors and question always give the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.search.features import Candidate, features
from runtime.codebase.search.fusion import MAX_JOINED_PER_FILE_IN_FRONT, Scored, joined, spread, widened
from runtime.codebase.search.gathering import MAX_BY_WORDS, Gathered, Meaning, Reading, gather
from runtime.codebase.search.prose.report import lines_about_code
from runtime.codebase.search.ranker import Ranker, ranker, scaled
from runtime.codebase.search.second_reading import FULL, ReadingBudget, gains, readings
from runtime.codebase.search.shape_gains import shape_gains

# Scores of hits behind the candidates, relative to the last candidate's.
FURTHER_FACTOR = 0.99


def rank_chunks(
    index: IndexReader,
    query: str,
    limit: int,
    *,
    scope: str | None = None,
    meaning: Meaning | None = None,
    join: bool = False,
    by_words: int = MAX_BY_WORDS,
    read: ReadSource | None = None,
    budget: ReadingBudget | None = FULL,
) -> list[ChunkHit]:
    """Return the best chunks for a question, at most `limit`; `scope` limits them to a file or folder.

    A long report is cut to the lines that speak of the code. With `join`, chunks that nearly touch become one hit of at
    most 80 lines, and behind the first ten new files alternate with known ones. Scores are 1 for the best and above 0
    for all. Empty for a question without terms. `by_words`: how many pieces are ordered that words have found. `read`:
    reads the source of a file; without it, the shape of pieces counts nothing. `budget`: that of the second reading,
    None for none.
    """
    asked = lines_about_code(query, index.defined_names)
    gathered = gather(index, asked, scope, meaning, by_words) if limit >= 1 else None
    if gathered is None:
        return []
    by = ranker(gathered.state, by_likeness=gathered.by_likeness)
    ranked = ordered(gathered, by, meaning, read, budget)
    best = widened(spread(joined(ranked), MAX_JOINED_PER_FILE_IN_FRONT)) if join else spread(ranked)
    return [replace(hit, score=round(score, 6), ranker=by.state) for score, hit in best[:limit]]


def ordered(
    gathered: Gathered,
    by: Ranker,
    meaning: Meaning | None = None,
    source: ReadSource | None = None,
    budget: ReadingBudget | None = FULL,
) -> list[Scored]:
    """Return the candidates by a ranker and a second reading, best first, and the further hits behind them."""
    sums = by.sums(features(gathered.asked, gathered.candidates))
    shaped = shape_gains(gathered, sums, source)
    sums = [found + shaped.get(place, 0.0) for place, found in enumerate(sums)]
    read = readings(gathered, sums, meaning, budget)
    gained = gains(read)
    scores = scaled([found + gained.get(place, 0.0) for place, found in enumerate(sums)])
    hits = [_with_lines(one, read.get(place)) for place, one in enumerate(gathered.candidates)]
    order = sorted(range(len(hits)), key=lambda place: (-scores[place], hits[place].file, hits[place].start_line))
    ranked = [(scores[place], hits[place]) for place in order]
    return ranked + _behind(min(scores, default=1.0), gathered.further)


def _with_lines(candidate: Candidate, read: Reading | None) -> ChunkHit:
    hit = replace(candidate.words.hit, cosine=candidate.nearness)
    return hit if read is None else replace(hit, reading=read.score, read_lines=(read.start_line, read.end_line))


def _behind(least: float, further: Sequence[ChunkHit]) -> list[Scored]:
    return [(least * FURTHER_FACTOR ** (place + 1), hit) for place, hit in enumerate(further)]
