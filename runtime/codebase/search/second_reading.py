"""Orders the first pieces for a question anew, by reading each together with the question.

A cross-encoder is too slow for all candidates and better than the ranker at telling which of the first comes first
(docs/ranking.md). It reads a window of lines at a time: of each of the first pieces the one that shares most words with
the question, then all others of the pieces that did best and of those close behind, since the lines that decide often
share no word with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runtime.codebase.search.features import kind_asked
from runtime.codebase.search.gathering import Gathered, Meaning, Reading

# With ten as many first places are right, and fewer of those that follow; with twenty, no more are.
READ_AGAIN = 14
READ_WHOLE = 6
# What is further behind the best one does not come first, however its other lines read.
MOST_BEHIND = 3.0
# The kinds of places that the cross-encoder was trained to tell apart.
READ_KINDS = frozenset({"source"})


class ReadingBudget(NamedTuple):
    """Bounds a second reading: of how many pieces a window is read, and of how many of the best of these all are.

    `behind`: how far a piece may be behind the best one to be read whole.
    """

    pieces: int
    whole: int
    behind: float


FULL = ReadingBudget(READ_AGAIN, READ_WHOLE, MOST_BEHIND)
# For who waits for places alone: a quarter of the readings, and the right piece is first as often (docs/ranking.md).
SMALL = ReadingBudget(6, 0, 0.0)


def readings(
    gathered: Gathered, sums: Sequence[float], meaning: Meaning | None, budget: ReadingBudget | None = FULL
) -> dict[int, Reading]:
    """Read the first candidates of source code within a budget, place → how well it answers.

    Empty where nothing reads, without a budget, and without vectors: then words alone count.
    """
    if meaning is None or budget is None or not gathered.by_meaning:
        return {}
    hits = [candidate.words.hit for candidate in gathered.candidates]
    order = sorted(range(len(hits)), key=lambda place: (-sums[place], hits[place].file, hits[place].start_line))
    kinds = gathered.asked.kinds
    code = [place for place in order if kind_asked(kinds, hits[place].file, hits[place].symbol) in READ_KINDS]
    places = code[: budget.pieces]
    once = meaning.readings([hits[place] for place in places], whole=False) if len(places) > 1 else None
    if once is None:
        return {}
    read = dict(zip(places, once, strict=True))
    order = sorted(places, key=lambda place: -sums[place] - read[place].score)
    least = sums[order[0]] + read[order[0]].score - budget.behind
    best = [place for place in order[: budget.whole] if sums[place] + read[place].score >= least]
    whole = meaning.readings([hits[place] for place in best], whole=True) if best else None
    return read | dict(zip(best, whole or [read[place] for place in best], strict=True))


def gains(read: Mapping[int, Reading]) -> dict[int, float]:
    """Return what reading adds to the sum of each place that was read, at least 0.

    The worst of them stays where it is: what was not read must not gain by that.
    """
    least = min((one.score for one in read.values()), default=0.0)
    return {place: one.score - least for place, one in read.items()}
