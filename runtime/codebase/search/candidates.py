"""Gathers the candidates of a question by words and by meaning, with the features for a ranker.

Candidates are the union of the first 60 chunks by words and the first 60 by meaning, over code and documents. Passages
count for the chunk in which they lie. `features_of` is a pure function of what was gathered; the names and the order of
`FEATURES` are stable, and a new feature goes to the end, so that weights trained on them stay valid.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from runtime.codebase.files.path_kinds import kind_of_place, kinds_asked_for
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.language_parts.language import PathKind
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS, VALUE_KINDS
from runtime.codebase.search.passages import Passage, rank_passages, term_weights, ties_of
from runtime.codebase.search.ranking import rank_chunks
from runtime.primitives.dotted_names import last_part

BY_WORDS = 60
BY_MEANING = 60
TIED_PASSAGES = 12

FEATURES: tuple[str, ...] = (
    "words_rank",  # 1 for the first by words, 1/2 for the second …, 0 for a candidate by meaning alone
    "words_score",  # its score by words, as a share of the best one's
    "meaning",  # its cosine with the question; 0 where it has no vector
    "meaning_rank",  # as words_rank, among the candidates by meaning
    "meaning_lead",  # its cosine less the mean of all candidates, in standard deviations, -3 to 3
    "has_meaning",  # 1 if it has a vector
    "file_rank",  # words_rank of the first candidate of its file
    "file_candidates",  # log(1 + candidates in its file)
    "name_share",  # the share of the words of its name that the question has
    "name_cover",  # the share of the question's weight that its name covers
    "path_cover",  # the share of the question's weight that its path covers
    "is_named",  # 1 if the question spells its name
    "passage_words",  # the best share of the question's weight that a passage in it covers
    "passage_meaning",  # the best cosine of a passage in it
    "tied_passage",  # the score of the best passage of a document that names its definition
    "is_callable",  # a function, method, constructor or macro
    "is_container",  # a class, struct, interface, module …
    "is_value",  # an attribute or a field
    "is_section",  # a section of a document
    "is_outside",  # lines outside of all definitions
    "is_private",  # its name begins with an underscore
    "is_asked_kind",  # it is no source file, and the question asks for its kind of file
    "path_source",
    "path_test",
    "path_docs",
    "path_example",
    "path_aside",  # generated, vendored, translated, a benchmark, a change log
    "path_data",
    "path_declaration",
    "path_depth",  # folders above it
    "lines",  # log(1 + its lines)
    "is_tiny",  # at most five lines
    "has_docstring",
    "callers",  # log(1 + calls of its name in the repository)
    "callees",  # log(1 + different names that it calls)
    "question_terms",  # log(1 + terms of the question); the same for all candidates of a question
    "is_search",  # 1 for a question of at most four terms
)

_ASIDE: frozenset[PathKind] = frozenset({"generated", "vendored", "translation", "benchmark", "changelog"})
_TINY_LINES = 5
_SEARCH_TERMS = 4
_MOST_DEVIATIONS = 3.0
_OF_CHUNKS = """SELECT c.id, f.path, c.start_line, c.end_line, c.symbol_id, s.qualified_name FROM chunks c
    JOIN files f ON f.id = c.file_id LEFT JOIN symbols s ON s.id = c.symbol_id WHERE """
_CALLS = "SELECT name, count(*) FROM refs WHERE kind = 'call' AND name IN ({marks}) GROUP BY name"
_CALLEES = """SELECT count(DISTINCT r.name) FROM refs r JOIN files f ON f.id = r.file_id
    WHERE f.path = ? AND r.kind = 'call' AND r.line BETWEEN ? AND ?"""

Place = tuple[str, int]


class Meaning(Protocol):
    """Compares one question with the pieces of one index; None where nothing can be compared."""

    def nearest(self, limit: int, *, passages: bool) -> Sequence[tuple[int, float]] | None:
        """Return the ids and cosines of the nearest chunks, or passages, best first."""
        ...

    def cosines(self, chunk_ids: Sequence[int]) -> Mapping[int, float] | None:
        """Return the cosine of each chunk that has a vector."""
        ...


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """Holds what features need of a question: weighted terms, identifiers and the kinds of files it asks for."""

    weights: Mapping[str, float]
    identifiers: frozenset[str]
    asked_kinds: frozenset[PathKind]


@dataclass(frozen=True, slots=True)
class Signals:
    """Holds what was gathered of one candidate; ranks count from 0, None for one that the list does not have."""

    hit: ChunkHit
    kind: str | None = None
    has_docstring: bool = False
    words_rank: int | None = None
    words_share: float = 0.0
    meaning: float | None = None
    meaning_rank: int | None = None
    meaning_lead: float = 0.0
    file_rank: int | None = None
    file_candidates: int = 1
    passage_words: float = 0.0
    passage_meaning: float = 0.0
    tied_passage: float = 0.0
    callers: int = 0
    callees: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """Pairs a chunk with its features, in the order of `FEATURES`."""

    hit: ChunkHit
    features: tuple[float, ...]

    def feature(self, name: str) -> float:
        """Return a feature by its name."""
        return self.features[FEATURES.index(name)]


def features_of(question: QuestionFacts, signals: Signals) -> tuple[float, ...]:
    """Return the features of a candidate, in the order of `FEATURES`. Pure."""
    hit, kind = signals.hit, signals.kind
    name = last_part(hit.symbol) if hit.symbol else ""
    name_terms = set(index_terms(name).split())
    path_kind = kind_of_place(hit.file, hit.symbol)
    lines = hit.end_line - hit.start_line + 1
    values = {
        "words_rank": _inverse(signals.words_rank),
        "words_score": signals.words_share,
        "meaning": signals.meaning or 0.0,
        "meaning_rank": _inverse(signals.meaning_rank),
        "meaning_lead": signals.meaning_lead,
        "has_meaning": signals.meaning is not None,
        "file_rank": _inverse(signals.file_rank),
        "file_candidates": math.log1p(signals.file_candidates),
        "name_share": len(name_terms & question.weights.keys()) / len(name_terms) if name_terms else 0.0,
        "name_cover": _covered(question, name_terms),
        "path_cover": _covered(question, set(index_terms(hit.file.rpartition(".")[0] or hit.file).split())),
        "is_named": bool(hit.symbol) and not question.identifiers.isdisjoint({name, hit.symbol or ""}),
        "passage_words": signals.passage_words,
        "passage_meaning": signals.passage_meaning,
        "tied_passage": signals.tied_passage,
        "is_callable": kind in CALLABLE_KINDS,
        "is_container": kind in CONTAINER_KINDS,
        "is_value": kind in VALUE_KINDS,
        "is_section": kind == "section",
        "is_outside": kind is None,
        "is_private": name.startswith("_"),
        "is_asked_kind": path_kind != "source" and path_kind in question.asked_kinds,
        "path_source": path_kind == "source",
        "path_test": path_kind == "test",
        "path_docs": path_kind == "docs",
        "path_example": path_kind == "example",
        "path_aside": path_kind in _ASIDE,
        "path_data": path_kind == "data",
        "path_declaration": path_kind == "declaration",
        "path_depth": hit.file.count("/"),
        "lines": math.log1p(lines),
        "is_tiny": lines <= _TINY_LINES,
        "has_docstring": signals.has_docstring,
        "callers": math.log1p(signals.callers),
        "callees": math.log1p(signals.callees),
        "question_terms": math.log1p(len(question.weights)),
        "is_search": len(question.weights) <= _SEARCH_TERMS,
    }
    return tuple(float(values[feature]) for feature in FEATURES)


def _inverse(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / (1 + rank)


def _covered(question: QuestionFacts, terms: Iterable[str]) -> float:
    return sum(question.weights.get(term, 0.0) for term in terms)


def question_facts(index: IndexReader, question: str) -> QuestionFacts:
    """Return what features need of a question."""
    terms = query_terms(question)
    return QuestionFacts(term_weights(index, question), frozenset(terms.identifiers), kinds_asked_for(question))


def gather_candidates(
    index: IndexReader,
    question: str,
    meaning: Meaning | None,
    *,
    scope: str | None = None,
    ordered: Sequence[ChunkHit] | None = None,
) -> list[Candidate]:
    """Return the union of candidates by words, in their order, and by meaning, with their features.

    `ordered`: the chunks by words, best first, if they are known already; `scope`: a file or folder to look in.
    """
    by_words = list(rank_chunks(index, question, BY_WORDS, scope=scope) if ordered is None else ordered)[:BY_WORDS]
    by_meaning = near_chunks(index, meaning, scope)
    signals = _united(by_words, by_meaning)
    if not signals:
        return []
    facts = question_facts(index, question)
    found = _with_cosines(signals, meaning)
    found = _with_passages(index, question, facts, found, meaning)
    found = _with_symbols(index, found)
    return [Candidate(each.hit, features_of(facts, each)) for each in found]


def near_chunks(index: IndexReader, meaning: Meaning | None, scope: str | None = None) -> list[ChunkHit]:
    """Return the 60 chunks nearest in meaning, best first, by their own vectors or by those of passages in them.

    Scores are cosines. Empty where nothing can be compared.
    """
    if meaning is None:
        return []
    cosines = dict(meaning.nearest(BY_MEANING, passages=False) or ())
    passages = dict(meaning.nearest(BY_MEANING, passages=True) or ())
    for chunk_id, passage_id in _chunks_around(index, list(passages)):
        cosines[chunk_id] = max(cosines.get(chunk_id, -1.0), passages[passage_id])
    best = sorted(cosines, key=lambda chunk_id: (-cosines[chunk_id], chunk_id))[:BY_MEANING]
    by_id = {hit.chunk_id: hit for hit in _chunks_by_id(index, best)}
    hits = [replace(by_id[chunk_id], score=cosines[chunk_id]) for chunk_id in best if chunk_id in by_id]
    return [hit for hit in hits if scope is None or hit.file == scope or hit.file.startswith(scope + "/")]


def _chunks_around(index: IndexReader, passage_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of a chunk and a passage whose first line it has."""
    marks = ", ".join("?" * len(passage_ids))
    sql = f"""SELECT c.id, p.id FROM passages p JOIN chunks c ON c.file_id = p.file_id
        AND p.start_line BETWEEN c.start_line AND c.end_line WHERE p.id IN ({marks})"""
    return [(row[0], row[1]) for row in index.rows(sql, passage_ids)] if passage_ids else []


def _chunks_by_id(index: IndexReader, chunk_ids: Sequence[int]) -> list[ChunkHit]:
    sql = f"{_OF_CHUNKS} c.id IN ({', '.join('?' * len(chunk_ids))})"
    rows = index.rows(sql, chunk_ids) if chunk_ids else []
    return [
        ChunkHit(path, start, end, name, 0.0, symbol_id, "meaning", number)
        for number, path, start, end, symbol_id, name in rows
    ]


def _united(by_words: Sequence[ChunkHit], by_meaning: Sequence[ChunkHit]) -> list[Signals]:
    top = max((hit.score for hit in by_words), default=1.0) or 1.0
    ranks_near = {_place(hit): rank for rank, hit in enumerate(by_meaning)}
    first_of_file: dict[str, int] = {}
    for rank, hit in enumerate(by_words):
        first_of_file.setdefault(hit.file, rank)
    united = [
        Signals(hit, words_rank=rank, words_share=hit.score / top, meaning_rank=ranks_near.get(_place(hit)))
        for rank, hit in enumerate(by_words)
    ]
    known = {_place(hit) for hit in by_words}
    united += [Signals(hit, meaning_rank=rank) for rank, hit in enumerate(by_meaning) if _place(hit) not in known]
    per_file = Counter(each.hit.file for each in united)
    return [
        replace(each, file_rank=first_of_file.get(each.hit.file), file_candidates=per_file[each.hit.file])
        for each in united
    ]


def _place(hit: ChunkHit) -> Place:
    return hit.file, hit.start_line


def _with_cosines(signals: Sequence[Signals], meaning: Meaning | None) -> list[Signals]:
    ids = [each.hit.chunk_id for each in signals if each.hit.chunk_id is not None]
    cosines = (meaning.cosines(ids) if meaning is not None else None) or {}
    known = list(cosines.values())
    mean = sum(known) / len(known) if known else 0.0
    deviation = math.sqrt(sum((cosine - mean) ** 2 for cosine in known) / len(known)) if known else 0.0
    found = []
    for each in signals:
        cosine = None if each.hit.chunk_id is None else cosines.get(each.hit.chunk_id)
        lead = 0.0 if cosine is None or deviation < 1e-6 else (cosine - mean) / deviation
        found.append(replace(each, meaning=cosine, meaning_lead=max(-_MOST_DEVIATIONS, min(_MOST_DEVIATIONS, lead))))
    return found


def _with_passages(
    index: IndexReader, question: str, facts: QuestionFacts, signals: Sequence[Signals], meaning: Meaning | None
) -> list[Signals]:
    near = None if meaning is None else lambda _question, limit: meaning.nearest(limit, passages=True)
    ranked = rank_passages(index, question, facts.weights, near)
    inside: dict[str, list[Passage]] = {}
    for passage, _ in ranked:
        inside.setdefault(passage.file, []).append(passage)
    tied: dict[str, list[tuple[int, float]]] = {}
    documents = [(passage, names) for passage, names in ranked if passage.kind == "document"][:TIED_PASSAGES]
    for passage, names in documents:
        for tie in ties_of(index, passage, names):
            if tie.definition is not None:
                tied.setdefault(tie.file, []).append((tie.definition.name_line, passage.score))
    found = []
    for each in signals:
        lines = range(each.hit.start_line, each.hit.end_line + 1)
        own = [passage for passage in inside.get(each.hit.file, ()) if passage.start_line in lines]
        told = (score for line, score in tied.get(each.hit.file, ()) if line in lines)
        found.append(
            replace(
                each,
                passage_words=max((passage.words for passage in own), default=0.0),
                passage_meaning=max((passage.meaning or 0.0 for passage in own), default=0.0),
                tied_passage=max(told, default=0.0),
            )
        )
    return found


def _with_symbols(index: IndexReader, signals: Sequence[Signals]) -> list[Signals]:
    ids = [each.hit.symbol_id for each in signals if each.hit.symbol_id is not None]
    sql = f"SELECT id, name, kind, docstring != '' FROM symbols WHERE id IN ({', '.join('?' * len(ids))})"
    symbols = {row[0]: row[1:] for row in index.rows(sql, ids)}
    names = sorted({name for name, kind, _ in symbols.values() if kind in CALLABLE_KINDS | CONTAINER_KINDS})
    calls = dict(index.rows(_CALLS.format(marks=", ".join("?" * len(names))), names))
    found = []
    for each in signals:
        name, kind, has_docstring = symbols.get(each.hit.symbol_id, ("", None, False))
        [(callees,)] = index.rows(_CALLEES, (each.hit.file, each.hit.start_line, each.hit.end_line))
        callers = int(calls.get(name, 0)) if name in names else 0
        found.append(replace(each, kind=kind, has_docstring=bool(has_docstring), callers=callers, callees=int(callees)))
    return found
