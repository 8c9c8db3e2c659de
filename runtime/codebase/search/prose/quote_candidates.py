"""Gathers the sentences of documents that may answer a question, and measures each.

Candidates are the sentences of the passages of documents and help texts that fit best by words, and of those nearest in
meaning. What a sentence is told with (the one that it depends on) belongs to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.search.prose.answer_cues import AnswerCues
from runtime.codebase.search.prose.passages import WordedPassage, worded_passages
from runtime.codebase.search.prose.quotable_sentences import QuotableSentence, quotable_sentences

KINDS = ("document", "help", "changelog")
PASSAGES_OF_EACH = 10
MAX_QUOTE_CHARS = 400
SHORT_TERMS, LONG_TERMS = 7, 45
# Ranks of a passage that one of both searches did not find among its first.
_BEHIND_BY_WORDS, _BEHIND_BY_MEANING = 30, 60
# Of BM25.
_SATURATION, _LENGTH_SHARE, _USUAL_TERMS = 1.2, 0.75, 80

FEATURES: tuple[str, ...] = (
    "cover",
    "cover_with_heading",
    "alike",
    "alike_with_heading",
    "passage_words",
    "passage_alike",
    "heading_alike",
    "heading_cover",
    "prior",
    "is_help",
    "length",
    "is_short",
    "is_long",
    "is_row",
    "is_example",
    "announces",
    "prose",
    "begins",
    "needs",
    "place",
    "has_cue",
    "tells_number",
    "tells_default",
    "words_rank",
    "cosine",
    "cosine_rank",
)


@dataclass(frozen=True, slots=True)
class QuoteCandidate:
    """Holds a sentence of a passage, with the one that it is told with, and its features, in the order of `FEATURES`.

    `nearness`: how far the cosine of its passage is below the best one's, at most 0; 0 without vectors.
    """

    passage: WordedPassage
    said: QuotableSentence
    features: tuple[float, ...]
    nearness: float = 0.0

    def feature(self, name: str) -> float:
        """Return one of its features."""
        return self.features[FEATURES.index(name)]


def quote_candidates(
    index: IndexReader,
    read: ReadSource,
    question: str,
    weights: Mapping[str, float],
    cosines: Mapping[int, float] | None,
) -> tuple[list[QuoteCandidate], dict[int, list[QuotableSentence]]]:
    """Return the sentences that may answer a question, by file and line, and all sentences of their passages by id.

    `weights`: of the question's terms. `cosines`: of the passages nearest in meaning, nearest first; None without
    vectors.
    """
    by_words, by_meaning = worded_passages(index, weights, cosines, KINDS, PASSAGES_OF_EACH)
    words_rank = {passage.id: rank for rank, passage in enumerate(by_words)}
    cosine_rank = {passage.id: rank for rank, passage in enumerate(by_meaning)}
    passages = sorted({one.id: one for one in (*by_words, *by_meaning)}.values(), key=lambda one: (one.file, one.id))
    of_passage = {one.id: sentences for one in passages if (sentences := _sentences(read, one)) is not None}
    passages = [one for one in passages if one.id in of_passage]
    best = max((passage.cosine for passage in by_meaning if passage.cosine is not None), default=0.0)
    far = min((cosines or {}).values(), default=0.0)
    found: list[QuoteCandidate] = []
    measured = _Measured(question, weights, [(passage, of_passage[passage.id]) for passage in passages])
    for number, passage in enumerate(passages):
        cosine = far if passage.cosine is None else passage.cosine
        ranks = (
            -math.log1p(words_rank.get(passage.id, _BEHIND_BY_WORDS)),
            cosine,
            -math.log1p(cosine_rank.get(passage.id, _BEHIND_BY_MEANING)),
        )
        for said, features in zip(of_passage[passage.id], measured.rows(number), strict=True):
            if said.is_usable and said.chars <= MAX_QUOTE_CHARS:
                found.append(QuoteCandidate(passage, said, (*features, *ranks), cosine - best))
    return found, of_passage


def _sentences(read: ReadSource, passage: WordedPassage) -> list[QuotableSentence] | None:
    source = read(passage.file)
    if source is None:
        return None
    return quotable_sentences(source.lines[passage.start_line - 1 : passage.end_line], passage.start_line)


class _Words(NamedTuple):
    """Holds the terms of a passage's headings, of the last of them, and of each of its sentences."""

    headings: str
    last: str
    sentences: list[str]


class _Measured:
    """Measures the sentences of passages against one question."""

    def __init__(
        self,
        question: str,
        weights: Mapping[str, float],
        passages: Sequence[tuple[WordedPassage, Sequence[QuotableSentence]]],
    ) -> None:
        self._weights = weights
        self._cues = AnswerCues(question)
        self._passages = passages
        self._words = [
            _Words(
                index_terms(passage.heading),
                index_terms(passage.heading.rpartition(" > ")[2]),
                [index_terms(said.text) for said in sentences],
            )
            for passage, sentences in passages
        ]
        self._alike = self._likeness(query_terms(question).counts)

    def rows(self, number: int) -> list[tuple[float, ...]]:
        """Return the features of each sentence of a passage, by its number, but for its ranks and cosine."""
        passage, sentences = self._passages[number]
        words, alike = self._words[number], self._alike[number]
        last = self._cover(words.last.split())
        of_passage = (self._bm25(passage.terms.split()), *alike[:2], last, passage.prior, float(passage.kind == "help"))
        headings = words.headings.split()
        return [
            (
                self._cover(own.split()),
                self._cover([*own.split(), *headings]),
                *alike[2 + 2 * place : 4 + 2 * place],
                *of_passage,
                *self._form(said, len(own.split())),
                math.log1p(place),
                *self._cues.of(said.text),
            )
            for place, (said, own) in enumerate(zip(sentences, words.sentences, strict=True))
        ]

    def _likeness(self, asked: Mapping[str, int]) -> list[list[float]]:
        """Return for each passage its likeness, that of its last heading, and of each sentence without it and with."""
        # Only a process that searches loads numpy: agents import the code base without it.
        from runtime.codebase.term_meaning.term_vectors import cosines, term_vectors

        pieces: list[tuple[str, ...]] = []
        ends: list[int] = []
        for (passage, _), words in zip(self._passages, self._words, strict=True):
            pieces += [(passage.terms, words.headings, "", ""), ("", words.last, "", "")]
            pieces += [(own, last, "", "") for own in words.sentences for last in ("", words.last)]
            ends.append(len(pieces))
        vector = term_vectors().of_question(asked)
        if vector is None:
            alike = [0.0] * len(pieces)
        else:
            found = cosines(term_vectors().of_pieces(pieces), vector)
            length = math.sqrt(float(vector @ vector)) or 1.0
            alike = [float(one) / length for one in found]
        return [alike[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    @staticmethod
    def _form(said: QuotableSentence, terms: int) -> tuple[float, ...]:
        return (
            math.log1p(terms),
            float(terms < SHORT_TERMS),
            float(terms > LONG_TERMS),
            float(said.is_row),
            float(said.is_example),
            float(said.text.rstrip().endswith(":")),
            said.prose,
            float(said.begins),
            float(len(said.told_with) > 1),
        )

    def _cover(self, terms: Sequence[str]) -> float:
        return math.fsum(self._weights[term] for term in self._weights.keys() & set(terms))

    def _bm25(self, terms: Sequence[str]) -> float:
        counts = Counter(terms)
        damped = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * len(terms) / _USUAL_TERMS)
        gains = (w * counts[term] * (_SATURATION + 1) / (counts[term] + damped) for term, w in self._weights.items())
        return math.log1p(math.fsum(gains))
