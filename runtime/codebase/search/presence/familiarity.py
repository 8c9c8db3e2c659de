"""Measures how often a repository has the words of a question, against other software.

`usual_words.txt` has one stemmed word a line and, in pieces of a million, the mean share of the pieces with it in those
five repositories of the ranker that have it most. tests/ranking/usual_words.py makes it; NOTICE has its origin.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from pathlib import Path

from runtime.codebase.files.words import query_terms
from runtime.codebase.index.reader import IndexReader

FILE = Path(__file__).parent / "usual_words.txt"
# The share of a word that the file lacks.
LEAST_USUAL = 3e-4
# So many pieces with the usual share of each word are added to those of a repository: a small one tells little.
PIECES_ADDED = 5
# How many times e more or less often than usual counts.
MOST_TIMES_E = 2.0
AS_USUAL = 0.5


@functools.cache
def usual_words() -> Mapping[str, float]:
    """Return the share, 0 to 1, of the pieces that usually have a word, by stemmed word."""
    lines = FILE.read_text(encoding="ascii").splitlines()
    return {word: int(millionths) / 1e6 for word, _, millionths in (line.partition(" ") for line in lines)}


def familiarity(index: IndexReader, question: str, usual: Mapping[str, float] | None = None) -> float:
    """Return how familiar the repository is with the informative words of a question, 0 to 1, 0.5 if as usual.

    It is the mean over the words of the logarithm of how much more often than usual a piece has each, cut at -2 and 2.
    `usual`: the usual shares, by default those of the file.
    """
    terms = list(query_terms(question).counts)
    if not terms:
        return AS_USUAL
    known, pieces = index.document_counts(terms), index.chunk_count()
    shares = usual_words() if usual is None else usual
    mean = sum(_times_e(known.get(term, 0), pieces, shares.get(term, 0.0)) for term in terms) / len(terms)
    return round(AS_USUAL * (1 + mean / MOST_TIMES_E), 4)


def _times_e(count: int, pieces: int, usual: float) -> float:
    usual = max(usual, LEAST_USUAL)
    ratio = math.log((count + PIECES_ADDED * usual) / (pieces + PIECES_ADDED) / usual)
    return max(-MOST_TIMES_E, min(MOST_TIMES_E, ratio))
