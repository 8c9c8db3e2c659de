"""Compares questions and pieces by what their terms mean, without a model that reads sentences.

Every usual term of questions and of code has a small vector; those of a text add up, and the cosine of two sums says
how alike they are. «Job» is near `task` so, and a piece needs no more than a table to get its vector: it is made with
the index. The vectors are learned from questions and the lines that answer them (docs/ranking.md); what a table does
not know, such as a repository's own names, has none and is left to the search by words.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.term_meaning.table_file import FILE, MARK_CHARS

# The parts of a piece, in the order of the full-text index.
PARTS = ("body", "names", "path", "doc")
# Of the components of a kept vector: its length is about this, so that whole numbers lose next to nothing.
KEPT_LENGTH = 127.0
# Bounds the memory that the vectors of the terms of a batch take.
PIECES_AT_ONCE = 128
# Of rows that are compared with a vector at once: with more, numpy starts threads, which take 25 times the
# processor time and end no sooner.
ROWS_AT_ONCE = 512
LEAST_SCALE = 1e-4
RARE_PERCENT = 95

Rows = NDArray[np.float32]
KeptRows = NDArray[np.int8]


class _Numbers(dict[str, int]):
    """Maps each known term to the number of its row, and every other one to row 0, which is empty."""

    def __missing__(self, term: str) -> int:
        return 0


class TermVectors:
    """Holds the vector of each known term.

    `rows`: one for each term, behind an empty one; the longer it is, the more the term tells. `gains`: how much each
    part of a piece counts. `exponent`: of a term's number of occurrences in a part, 0 (once is enough) to 1 (each
    counts the same).
    """

    def __init__(self, terms: Sequence[str], rows: Rows, gains: Sequence[float], exponent: float) -> None:
        self._terms = terms
        self._number = _Numbers(zip(terms, range(1, len(rows)), strict=True))
        self._rows = rows
        self._gains = np.array(gains, np.float32)
        self._exponent = exponent
        # The square of the length of a term that tells as much as only one in twenty does.
        self._rare = float(np.percentile(np.sum(rows[1:] ** 2, axis=1), RARE_PERCENT))

    @property
    def size(self) -> int:
        """The number of components of a vector."""
        return int(self._rows.shape[1])

    def weight(self, term: str) -> float:
        """Return how much a term tells, 1 for a rare one; one that is not known is taken for a rare one."""
        number = self._number[term]
        return float(np.linalg.norm(self._rows[number]) / np.sqrt(self._rare)) if number else 1.0

    def most_alike(self, term: str, most: int) -> list[tuple[str, float]]:
        """Return at most so many other terms with their likeness, -1 to 1, the most alike first.

        Terms that are equally alike stand in the order of the table; an unknown one is like none.
        """
        number = self._number[term]
        if not number:
            return []
        alike = _products(self._directions, self._directions[number])
        alike[[0, number]] = -2.0
        chosen = np.argsort(-alike, kind="stable")[: min(most, len(alike) - 2)]
        return [(self._terms[at - 1], float(alike[at])) for at in chosen]

    @functools.cached_property
    def _directions(self) -> Rows:
        return _of_length_one(self._rows)

    def of_question(self, counts: Mapping[str, int]) -> Rows | None:
        """Return the vector of a question, by the number of occurrences of each of its terms; None if none is known.

        Its length is 1, less if terms are unknown: each counts as a rare one that is like nothing, so that likeness to
        the others does not pass for likeness to the question.
        """
        if not self._number.keys() & counts.keys():
            return None
        weights = 1 + np.log(np.array(list(counts.values()), np.float32))
        numbers = np.array([self._number[term] for term in counts])
        summed = weights @ self._rows[numbers]
        length = np.sqrt(np.sum(summed**2) + self._rare * np.sum(weights[numbers == 0] ** 2))
        vector: Rows = summed / np.float32(length)
        return vector

    def of_pieces(self, pieces: Sequence[Sequence[str]]) -> KeptRows:
        """Return a row for each piece, as it is kept: whole numbers of about length 127; zeros where no term is known.

        Each piece is its terms in body, names, path and comments, separated by blanks.
        """
        batches = [pieces[at : at + PIECES_AT_ONCE] for at in range(0, len(pieces), PIECES_AT_ONCE)]
        made = [np.rint(_of_length_one(self._sums(batch)) * KEPT_LENGTH).astype(np.int8) for batch in batches]
        return np.concatenate(made) if made else np.zeros((0, self.size), np.int8)

    def _sums(self, pieces: Sequence[Sequence[str]]) -> Rows:
        number = self._number.__getitem__
        found = [[list(map(number, part.split())) for part in piece] for piece in pieces]
        sizes = [len(part) for piece in found for part in piece]
        terms = np.fromiter(itertools.chain.from_iterable(itertools.chain.from_iterable(found)), np.int64, sum(sizes))
        parts = np.repeat(np.arange(len(sizes)), sizes)
        # Row 0 stands in every part, so that each piece has a first row to add up from.
        everywhere = np.arange(len(sizes)) * len(self._rows)
        distinct, counts = np.unique(np.concatenate((everywhere, parts * len(self._rows) + terms)), return_counts=True)
        part, term = np.divmod(distinct, len(self._rows))
        weights = self._gains[part % len(PARTS)] * counts.astype(np.float32) ** self._exponent
        starts = np.searchsorted(part, np.arange(0, len(sizes), len(PARTS)))
        summed: Rows = np.add.reduceat(self._rows[term] * weights[:, None], starts)
        return summed


def _of_length_one(rows: Rows) -> Rows:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: Rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return scaled


def cosines(kept: KeptRows, question: Rows) -> Rows:
    """Return the cosine of a question and each kept row, -1 to 1; 0 for a row of zeros."""
    return _products(kept, question / np.float32(KEPT_LENGTH))


def _products(rows: Rows | KeptRows, vector: Rows) -> Rows:
    made = [
        rows[at : at + ROWS_AT_ONCE].astype(np.float32, copy=False) @ vector for at in range(0, len(rows), ROWS_AT_ONCE)
    ]
    return np.concatenate([np.zeros(0, np.float32), *made])


@functools.cache
def term_vectors() -> TermVectors:
    """Return the vectors of the package, read once."""
    return read_from(FILE)


def read_from(path: Path) -> TermVectors:
    """Read vectors as `write_to` has written them."""
    with np.load(path, allow_pickle=False) as kept:
        terms = kept["terms"].tobytes().decode("ascii").split("\n")
        rows = np.zeros((len(terms) + 1, kept["rows"].shape[1]), np.float32)
        np.multiply(kept["rows"], kept["scales"][:, None], out=rows[1:], dtype=np.float32)
        return TermVectors(terms, rows, kept["gains"].tolist(), float(kept["exponent"]))


def write_to(path: Path, terms: Sequence[str], rows: Rows, gains: Sequence[float], exponent: float) -> None:
    """Write vectors into a file, each rounded to whole numbers up to 127 times a scale of its own."""
    scales = (np.abs(rows).max(axis=1) / KEPT_LENGTH + LEAST_SCALE).astype(np.float16)
    kept = {
        "terms": np.frombuffer("\n".join(terms).encode("ascii"), np.uint8),
        "rows": np.rint(rows / scales[:, None].astype(np.float32)).clip(-KEPT_LENGTH, KEPT_LENGTH).astype(np.int8),
        "scales": scales,
        "gains": np.array(gains, np.float32),
        "exponent": np.float32(exponent),
    }
    mark = hashlib.sha256(b"".join(np.asarray(one).tobytes() for one in kept.values())).hexdigest()[:MARK_CHARS]
    np.savez_compressed(path, mark=np.array(mark), **kept)
