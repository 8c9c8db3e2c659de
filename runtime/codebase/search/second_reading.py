"""Orders the first pieces for a question anew, by reading each together with the question.

A cross-encoder is too slow for all candidates and better than the ranker at telling which of the first comes first
(docs/ranking.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.codebase.search.features import kind_asked
from runtime.codebase.search.gathering import Gathered, Meaning

# With twenty, hardly more first places are right.
READ_AGAIN = 14
# The kinds of places that the cross-encoder was trained to tell apart.
READ_KINDS = frozenset({"source"})


def readings(gathered: Gathered, sums: Sequence[float], meaning: Meaning | None) -> dict[int, float]:
    """Return what reading adds to the sums of the first fourteen candidates of source code, place → at least 0.

    Empty where nothing reads, and without vectors: then words alone count.
    """
    if meaning is None or not gathered.by_meaning:
        return {}
    hits = [candidate.words.hit for candidate in gathered.candidates]
    order = sorted(range(len(hits)), key=lambda place: (-sums[place], hits[place].file, hits[place].start_line))
    kinds = gathered.asked.kinds
    code = [place for place in order if kind_asked(kinds, hits[place].file, hits[place].symbol) in READ_KINDS]
    places = code[:READ_AGAIN]
    scores = meaning.scores([hits[place] for place in places]) if len(places) > 1 else None
    if scores is None:
        return {}
    # The worst of them stays where it is: what was not read must not gain by that.
    least = min(scores)
    return {place: score - least for place, score in zip(places, scores, strict=True)}
