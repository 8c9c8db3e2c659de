"""Measures how much of a question the code of a repository speaks of, in its words or in like ones.

What is asked for in everyday words often stands nowhere as such, and something near it does: «picture» where the code
says `image`. Where nothing near stands either, the thing is hardly there, however well some place reads
(docs/answer-quality.md). What documents, tests and changelogs alone say is not spoken of by code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.codebase.files.path_kinds import kind_of_path, kinds_asked_for
from runtime.codebase.files.words import query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.language_parts.language import PathKind

if TYPE_CHECKING:
    from runtime.codebase.term_meaning.term_vectors import TermVectors

# Of a term that the code lacks, so many terms are looked for there, the most alike first.
MOST_ALIKE = 64
# A term in more pieces than these is in code as well.
SURELY_IN_CODE = 200
# So many rare words that nothing in the code is like leave nothing of a question.
MOST_MISSING = 2.0


def spoken_of(index: IndexReader, question: str, vectors: TermVectors | None = None) -> float:
    """Return how much of a question the code speaks of: 1 if it has all terms, 0 if two rare ones are like none of it.

    Each term that it lacks counts by how much the term tells, and by how unlike the nearest term of the code is.
    `vectors`: what terms mean, by default the table of the package.
    """
    from runtime.codebase.term_meaning.term_vectors import term_vectors

    vectors = vectors or term_vectors()
    terms = list(query_terms(question).counts)
    kinds = frozenset[PathKind]({"source"}) | kinds_asked_for(question)
    known = index.document_counts(terms)
    missing = 0.0
    for term in terms:
        if not _is_in_code(index, term, known.get(term, 0), kinds):
            missing += vectors.weight(term) * (1 - _nearest(index, term, vectors, kinds))
    return round(1 - min(1.0, missing / MOST_MISSING), 4)


def _nearest(index: IndexReader, term: str, vectors: TermVectors, kinds: frozenset[PathKind]) -> float:
    """Return how alike the most alike term is that the code has, 0 to 1; where it has none of them, the last one."""
    alike = vectors.most_alike(term, MOST_ALIKE)
    known = index.document_counts([other for other, _ in alike])
    found = (likeness for other, likeness in alike if _is_in_code(index, other, known.get(other, 0), kinds))
    return max(0.0, next(found, alike[-1][1] if alike else 0.0))


def _is_in_code(index: IndexReader, term: str, pieces: int, kinds: frozenset[PathKind]) -> bool:
    """Return whether a term that so many pieces have is in one of the kinds of files."""
    if pieces > SURELY_IN_CODE:
        return True
    return pieces > 0 and any(kind_of_path(path) in kinds for path in index.files_with_term(term, SURELY_IN_CODE))
