"""Chooses what a document says of a question, and judges how probably that answers it.

A linear model over the features of sentences puts them in order; a second one over the best of them gives the
probability that it answers, since most questions about code are answered by no document. Both are fitted by
tests/ranking/quotes.py on sentences that people marked (docs/ranking.md).
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.search.prose.passages import MAX_QUERY_CHARS, NearPassages, WordedPassage, term_weights
from runtime.codebase.search.prose.quotable_sentences import QuotableSentence
from runtime.codebase.search.prose.quote_candidates import (
    FEATURES,
    MAX_QUOTE_CHARS,
    QuoteCandidate,
    quote_candidates,
)
from runtime.codebase.search.prose.sentences import Sentence
from runtime.codebase.search.ranker import State

FILE = Path(__file__).parent / "document_quotes.json"
# How far below the best a neighbouring sentence may be that is told with it.
SECOND_WITHIN = 1.0
MAX_TOLD = 2
# Of so many passages a quotation is chosen: where the best sentence is not the right one, the next often is.
MAX_QUOTES = 2
# So many passages of all kinds are near enough to look for documents among them.
NEAREST = 400
# What tells whether the best sentence answers: how far it stands out, what it shares with the question, its meaning.
SIGNS = ("above_mean", "share", "cover", "cover_with_heading", "alike", "passage_words", "cosine", "nearness")

# What a sentence gains that defines the thing that is asked for, in the units of scores; a question for more terms is
# none for a definition.
DEFINES = 3.0
MAX_DEFINED_TERMS = 3
# The least probability of a definition.
WITH_DEFINITION = 0.9
_ASKS_WHAT = re.compile(
    r"(?:what(?:'s|’s|s| is| are| does)|define|explain)\s+(?:an?\s+|the\s+)?([\w .`'-]{2,60}?)(?:\s+mean)?\s*[?.!]*",
    re.IGNORECASE,
)
# «Hooks are functions that …»; not «Hooks are registered …», which says what is done with them.
_DEFINES = re.compile(
    r"[\s>*_-]*(?:an?\s+|the\s+)?([\w .`*_'-]{2,60}?)[`*_]*\s+"
    r"(?:is|are|means?|refers? to|denotes?|represents?|describes?)"
    r"\b(?!\s+(?:\w+ly|often|also|not|never|always|now|then|\w+ed)\b)",
    re.IGNORECASE,
)

# The weights of the features, and those of the signs with an `intercept`.
Model = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class DocumentQuote:
    """Holds one or two sentences of a passage, in order, and the probability that they answer the question."""

    passage: WordedPassage
    sentences: tuple[Sentence, ...]
    worth: float

    @property
    def file(self) -> str:
        """The file of the document."""
        return self.passage.file


@dataclass(frozen=True, slots=True)
class Choice:
    """Holds the best candidate, the one told with it if any, and the signs of how good the best is."""

    best: QuoteCandidate
    second: QuoteCandidate | None
    signs: dict[str, float]

    @property
    def told(self) -> list[QuotableSentence]:
        """The sentences that the candidates stand for, the best first."""
        return [one.said for one in (self.best, self.second) if one is not None]


def find_document_quotes(
    index: IndexReader, read: ReadSource, question: str, near: NearPassages | None = None
) -> list[DocumentQuote]:
    """Return what the documents of a repository say of a question, the best first; empty if they say nothing."""
    weights = term_weights(index, question[:MAX_QUERY_CHARS])
    known = near(question[:MAX_QUERY_CHARS], NEAREST) if near is not None else None
    cosines = dict(known) if known else None
    candidates, sentences = quote_candidates(index, read, question, weights, cosines)
    state: State = "words" if cosines is None else "vectors"
    return document_quotes(candidates, sentences, state, defined_in(question))


def document_quotes(
    candidates: Sequence[QuoteCandidate],
    sentences: Mapping[int, Sequence[QuotableSentence]],
    state: State,
    defined: Sequence[str] = (),
) -> list[DocumentQuote]:
    """Return what documents say of a question, each with its probability, of at most two passages, the best first.

    `sentences`: those of each passage, by its id. `defined`: the terms of what is asked for («what is a hook?»), which
    a sentence that says what it is answers better than its weights tell. No quotation is more probable than the one
    before it.
    """
    model = fitted_model(state)
    scores = sums(candidates, model["features"])
    if defined:
        scores = [
            score + DEFINES * defines(one.said.text, defined) for score, one in zip(scores, candidates, strict=True)
        ]
    quotes: list[DocumentQuote] = []
    left = list(zip(candidates, scores, strict=True))
    while len(quotes) < MAX_QUOTES:
        choice = choose([one for one, _ in left], [score for _, score in left])
        if choice is None:
            break
        worth = probability(choice.signs, model["signs"])
        if defined and defines(choice.best.said.text, defined):
            worth = max(worth, WITH_DEFINITION)
        worth = min([worth, *(quote.worth for quote in quotes)])
        quotes.append(_quote(choice, sentences[choice.best.passage.id], worth))
        left = [(one, score) for one, score in left if not _is_told_by(choice, one)]
    return quotes


def _quote(choice: Choice, of_passage: Sequence[QuotableSentence], worth: float) -> DocumentQuote:
    places = sorted({place for said in choice.told for place in said.told_with})
    told = [of_passage[place].sentence for place in places]
    term = of_passage[places[0]].term
    return DocumentQuote(choice.best.passage, tuple(told if term is None else [term, *told]), round(worth, 4))


def _is_told_by(choice: Choice, other: QuoteCandidate) -> bool:
    """Return whether a candidate is of the passage of a choice, or says the same elsewhere."""
    return other.passage.id == choice.best.passage.id or other.said.text in {said.text for said in choice.told}


def defined_in(question: str) -> tuple[str, ...]:
    """Return the terms of a question that asks what a thing is; none of any other question."""
    found = _ASKS_WHAT.fullmatch(question.strip())
    terms = tuple(query_terms(found[1]).counts) if found is not None else ()
    return terms if len(terms) <= MAX_DEFINED_TERMS else ()


def defines(sentence: str, terms: Sequence[str]) -> bool:
    """Return whether a sentence begins with what is asked for and says what it is: «Hook factories are …»."""
    found = _DEFINES.match(sentence)
    return found is not None and tuple(query_terms(found[1]).counts) == tuple(terms)


def sums(candidates: Sequence[QuoteCandidate], weights: Mapping[str, float]) -> list[float]:
    """Return what the features of each candidate add up to, each times its weight."""
    row = [weights.get(name, 0.0) for name in FEATURES]
    return [math.fsum(map(float.__mul__, row, one.features)) for one in candidates]


def choose(candidates: Sequence[QuoteCandidate], scores: Sequence[float]) -> Choice | None:
    """Return the candidate with the greatest score, the first of equals, and a neighbour that comes near it."""
    if not candidates:
        return None
    at = max(range(len(candidates)), key=lambda place: (scores[place], -place))
    best = candidates[at]
    signs = {
        "above_mean": scores[at] - math.fsum(scores) / len(scores),
        "share": -math.log(math.fsum(math.exp(score - scores[at]) for score in scores)),
        **{name: best.feature(name) for name in SIGNS[2:-1]},
        "nearness": best.nearness,
    }
    near = [place for place, one in enumerate(candidates) if _is_beside(one, best)]
    near = [place for place in near if scores[place] >= scores[at] - SECOND_WITHIN]
    second = max(near, key=lambda place: (scores[place], -place), default=None)
    return Choice(best, None if second is None else candidates[second], signs)


def _is_beside(other: QuoteCandidate, best: QuoteCandidate) -> bool:
    """Return whether a candidate stands next to the best one, with no example, and both are at most two sentences."""
    said, own = other.said, best.said
    is_next = other.passage.id == best.passage.id and abs(said.at - own.at) == 1
    together = {*said.told_with, *own.told_with}
    is_short = len(together) <= MAX_TOLD and len(said.text) + len(own.text) < MAX_QUOTE_CHARS
    return is_next and is_short and not (said.is_row or said.is_example)


def probability(signs: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return how probably the best candidate answers."""
    total = math.fsum(weight * signs.get(name, 1.0) for name, weight in weights.items())
    return 1 / (1 + math.exp(-total))


@functools.cache
def fitted_model(state: State) -> Model:
    """Return the weights of a state, read once from the package."""
    found: Mapping[str, Model] = json.loads(FILE.read_text(encoding="utf-8"))["models"]
    return found[state]
