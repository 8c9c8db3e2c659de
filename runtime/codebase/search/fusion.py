"""The last steps of a ranking: meaning is weighed in, near pieces are joined, and no file takes the whole front.

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


def with_similarity(ranked: Sequence[Scored], similarities: Sequence[float], weight: float) -> list[Scored]:
    """The order by score and similarity together; only the hits that have a similarity move, before all others.

    Similarities count by how many standard deviations they lie off their mean, so that it does not matter in which
    range a model's cosines lie; one deviation is worth `weight` of the best score.
    """
    count = len(similarities)
    if count < 2:
        return list(ranked)
    mean, deviation = statistics.fmean(similarities), statistics.pstdev(similarities)
    if deviation < 1e-6:
        return list(ranked)
    unit = weight * max(score for score, _ in ranked)
    moved = []
    for (score, hit), similarity in zip(ranked[:count], similarities, strict=True):
        off = max(-MAX_DEVIATIONS, min(MAX_DEVIATIONS, (similarity - mean) / deviation))
        moved.append((score + unit * off, hit))
    moved.sort(key=lambda pair: -pair[0])
    # What was not compared keeps its order behind the rest, and its score must not say otherwise.
    least = moved[-1][0]
    return moved + [(min(score, least), hit) for score, hit in ranked[count:]]


def joined(ranked: Sequence[Scored]) -> list[Scored]:
    """Hits of one file that touch, or nearly so, become one at the better place, as long as it has at most 80 lines.

    Several windows of one function, or neighbouring members of a class, are one place to a reader. Only the first 40
    places take others in.
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
    """The same order, with what one file has beyond `most` of the first ten moved behind them."""
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
    """The same front; behind it files that were not seen yet take turns with what else the others have."""
    front, rest = list(ranked[:FRONT]), ranked[FRONT:]
    seen = {hit.file for _, hit in front}
    fresh: list[Scored] = []
    further: list[Scored] = []
    for pair in rest:
        (further if pair[1].file in seen else fresh).append(pair)
        seen.add(pair[1].file)
    turns = (pair for both in zip_longest(fresh, further) for pair in both if pair is not None)
    return front + list(turns)
