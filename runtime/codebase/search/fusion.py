"""Applies the last steps of a ranking: adds similarity, joins near chunks, limits chunks per file.

Pure functions over (score, hit) pairs, best first.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from runtime.codebase.index.records import ChunkHit

FRONT = 10
MAX_PER_FILE_IN_FRONT = 5
MAX_JOINED_PER_FILE_IN_FRONT = 7
MAX_JOINED_LINES = 80
MAX_GAP_LINES = 8
JOINING_PLACES = 40
MAX_DEVIATIONS = 2.5

Scored = tuple[float, ChunkHit]


def with_similarity(ranked: Sequence[Scored], similarities: Sequence[float | None], weight: float) -> list[Scored]:
    """Reorder the hits by score and similarity; hits that were compared (the first ones) stay ahead of all others.

    Similarities count by their distance from their mean in standard deviations, so that the range of a model's
    cosines does not matter; one deviation is worth `weight` of the best score. One that is not known counts as average.
    """
    count = len(similarities)
    known = [similarity for similarity in similarities if similarity is not None]
    if len(known) < 2:
        return list(ranked)
    mean, deviation = statistics.fmean(known), statistics.pstdev(known)
    if deviation < 1e-6:
        return list(ranked)
    unit = weight * max(score for score, _ in ranked)
    moved = []
    for (score, hit), similarity in zip(ranked[:count], similarities, strict=True):
        deviations = 0.0 if similarity is None else (similarity - mean) / deviation
        off = max(-MAX_DEVIATIONS, min(MAX_DEVIATIONS, deviations))
        moved.append((score + unit * off, hit))
    moved.sort(key=lambda pair: -pair[0])
    # Hits that were not compared keep their order behind the rest, so their scores must not be greater.
    least = moved[-1][0]
    return moved + [(min(score, least), hit) for score, hit in ranked[count:]]


def joined(ranked: Sequence[Scored]) -> list[Scored]:
    """Join hits of one file at most eight lines apart, at the better rank, up to 80 lines in all.

    Several windows of one function, or neighbouring members of a class, are one place to a reader. Only the first 40
    hits absorb others.
    """
    kept: list[Scored] = []
    by_file: dict[str, list[int]] = {}
    for score, hit in ranked:
        places = by_file.setdefault(hit.file, [])
        place = next((at for at in places if _fits(kept[at][1], hit)), None)
        if place is None:
            if len(kept) < JOINING_PLACES:
                places.append(len(kept))
            kept.append((score, hit))
            continue
        best_score, best = kept[place]
        start, end = min(best.start_line, hit.start_line), max(best.end_line, hit.end_line)
        kept[place] = (best_score, replace(best, start_line=start, end_line=end))
    return kept


def _fits(one: ChunkHit, other: ChunkHit) -> bool:
    gap = max(one.start_line, other.start_line) - min(one.end_line, other.end_line) - 1
    lines = max(one.end_line, other.end_line) - min(one.start_line, other.start_line) + 1
    return gap <= MAX_GAP_LINES and lines <= MAX_JOINED_LINES


def spread(ranked: Sequence[Scored], most: int = MAX_PER_FILE_IN_FRONT) -> list[Scored]:
    """Return the same order, except that a file's hits beyond `most` of the first ten move behind those ten."""
    per_file: Counter[str] = Counter()
    front: list[Scored] = []
    rest: list[Scored] = []
    for pair in ranked:
        file = pair[1].file
        if len(front) < FRONT and per_file[file] < most:
            per_file[file] += 1
            front.append(pair)
        else:
            rest.append(pair)
    return front + rest


def widened(ranked: Sequence[Scored]) -> list[Scored]:
    """Return the same first ten; behind them, first hits of new files alternate with further hits of known files."""
    front, rest = list(ranked[:FRONT]), ranked[FRONT:]
    seen = {hit.file for _, hit in front}
    fresh: list[Scored] = []
    further: list[Scored] = []
    for pair in rest:
        (further if pair[1].file in seen else fresh).append(pair)
        seen.add(pair[1].file)
    turns = (pair for both in zip_longest(fresh, further) for pair in both if pair is not None)
    return front + list(turns)
