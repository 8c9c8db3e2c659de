"""Gathers the candidates for a question: pieces by words, by like terms, by meaning, by name and path.

Meaning and like terms bring pieces that share no word with the question, words those whose names the question spells
out; no more than a fixed number of each is ordered by the ranker.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from runtime.codebase.files.path_kinds import kinds_asked_for
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.language_parts.language import PathKind
from runtime.codebase.parsing.syntax import VALUE_KINDS
from runtime.codebase.resolution.symbol_links import symbols_named
from runtime.codebase.search.features import Asked, Candidate, kind_asked
from runtime.codebase.search.full_text import FieldWeights, ScoredChunk, score_chunks, weigh_terms
from runtime.codebase.search.prose.near_passages import NO_PASSAGES, near_passages
from runtime.codebase.search.query_expansion import related_terms
from runtime.codebase.search.ranker import State

if TYPE_CHECKING:
    from runtime.codebase.index.chunk_vectors import Likeness

MAX_BY_WORDS = 100
MAX_BY_MEANING = 60
MAX_ALIKE = 60
READ_BY_MEANING = 200
MAX_NAMED = 20
MAX_DEFINITIONS = 8
# Pieces by words that get a vector now if a caller waits for it.
MAX_MADE = 60
READ_IN_SCOPE = 5_000
# With fewer compared, the ranker by words orders better than the one that goes by cosines.
LEAST_ORDERED = 0.5
# Below this cosine, pieces that share no word with a question have nothing to do with it.
LEAST_COSINE = 0.2
# Likewise of terms: of the pieces that answer, one in a hundred is less like the question.
LEAST_ALIKE = 0.1
LEAST_TERMS = 3
LEAST_COMPARED = 0.3
LEAST_OWN_TERMS = 2
# Share of its score that a piece keeps that is not source code, as a candidate by words.
ASIDE_FACTOR = 0.3

_ASKING_TERMS = frozenset(
    index_terms(
        "configured configuration configure set setting settings option options default value values parameter defined"
        " definition declared implemented located used"
    ).split()
)
_PATH = re.compile(
    r"(?<![\w./\\-])[\w./\\-]*\w\.(?:py|pyi|go|js|jsx|ts|tsx|java|rs|c|h|cc|cpp|hpp|rb|php|cs|kt|md|rst|toml|ya?ml|json|cfg|ini)\b"
)


class Reading(NamedTuple):
    """Tells how well a chunk answers a question by those of its lines (inclusive) that answer it best."""

    score: float
    start_line: int
    end_line: int


class Meaning(Protocol):
    """Compares one question with the chunks of one index; None where nothing can be compared."""

    def nearest(self, limit: int, *, passages: bool) -> Sequence[tuple[int, float]] | None:
        """Return the ids and cosines of the nearest chunks, or passages, best first."""
        ...

    def cosines(self, chunk_ids: Sequence[int]) -> Mapping[int, float] | None:
        """Return the cosine of each chunk that has a vector."""
        ...

    def windows(self, chunk_ids: Sequence[int]) -> Mapping[int, float] | None:
        """Return the cosine of the best window of each chunk that is longer than one."""
        ...

    def similar(self, hits: Sequence[ChunkHit]) -> Sequence[float | None] | None:
        """Return the cosine of each chunk; what has no vector may get one first."""
        ...

    def readings(self, hits: Sequence[ChunkHit], *, whole: bool) -> Sequence[Reading] | None:
        """Read chunks together with the question: of each the lines that share most with it, or with `whole` all."""
        ...


@dataclass(frozen=True, slots=True)
class Gathered:
    """Holds the question, the candidates to be ordered, and further hits by words alone, best first.

    `by_meaning`: vectors took part.
    """

    asked: Asked
    candidates: list[Candidate]
    further: list[ChunkHit]
    by_meaning: bool

    @property
    def by_likeness(self) -> bool:
        """True if the question was compared with pieces by its terms."""
        return any(candidate.alike is not None for candidate in self.candidates)

    @property
    def state(self) -> State:
        """The ranker that orders them: by vectors if half of the code and documents have one, else by words."""
        kinds = self.asked.kinds
        compared = [one for one in self.candidates if is_compared(kinds, one.words.hit.file, one.words.hit.symbol)]
        known = sum(one.cosine is not None for one in compared)
        return "vectors" if known and known >= LEAST_ORDERED * len(compared) else "words"


def gather(
    index: IndexReader,
    query: str,
    scope: str | None = None,
    meaning: Meaning | None = None,
    by_words: int = MAX_BY_WORDS,
) -> Gathered | None:
    """Return the candidates for a question within a file or folder; None if there are none.

    `by_words`: how many pieces are candidates by their words.
    """
    terms = query_terms(query)
    if not terms.counts:
        return None
    fields = FieldWeights()
    related = related_terms(index, list(terms.counts))
    weights = weigh_terms(index, query, terms, fields, related)
    kinds = kinds_asked_for(query)
    named = _named(index, terms.identifiers[:MAX_NAMED], scope)
    may_mean = len(terms.counts) >= LEAST_TERMS or bool(weights)
    near = _near(index, meaning, kinds, scope) if meaning is not None and may_mean else {}
    # Likeness was learned from questions about code alone.
    may_be_like = not kinds and _says_enough(terms.counts)
    likeness = index.chunk_vectors().likeness(terms.counts) if may_be_like else None
    alike = _alike(index, likeness, kinds, scope)
    found = score_chunks(index, weights, fields, scope, related, [*named, *near, *alike])
    if not any(chunk.score for chunk in found):
        # Something is always most alike: that tells nothing where no word is found.
        likeness, alike = None, {}
        if not named and terms.identifiers:
            return None  # a name is there or is not: nothing means the same
    files = _files_named({chunk.hit.file for chunk in found}, query)
    asked = Asked(weights, kinds, files)
    found.sort(key=lambda chunk: (-_worth(asked, chunk), chunk.hit.file, chunk.chunk_id))
    first = found[:by_words]
    cosines = near | _cosines(meaning, kinds, first)
    by_meaning = _is_enough(cosines, kinds, first)
    always = named.keys() | alike.keys() | (near.keys() if by_meaning else set())
    said = near_passages(index, meaning, kinds) if meaning is not None and by_meaning else NO_PASSAGES
    chosen = first + [chunk for chunk in found[by_words:] if chunk.chunk_id in always]
    rest = [chunk.hit for chunk in found[by_words:] if chunk.chunk_id not in always and chunk.score]
    windows = _windows(meaning, cosines, chosen) if by_meaning else {}
    symbols = index.symbol_kinds([chunk.hit.symbol_id for chunk in chosen if chunk.hit.symbol_id is not None])
    like = {} if likeness is None else likeness.of([chunk.chunk_id for chunk in chosen])
    candidates = [
        Candidate(
            chunk,
            symbols.get(chunk.hit.symbol_id or 0, ""),
            named.get(chunk.chunk_id, 0.0),
            cosines.get(chunk.chunk_id) if by_meaning else None,
            _greater(said.within(chunk.hit), windows.get(chunk.chunk_id)),
            like.get(chunk.chunk_id),
        )
        for chunk in chosen
        if chunk.score or chunk.chunk_id in always
    ]
    return Gathered(asked, candidates, rest, by_meaning) if candidates else None


def _says_enough(counts: Collection[str]) -> bool:
    """Return whether a question has two terms beside those that only ask for a setting or a definition."""
    return len(set(counts) - _ASKING_TERMS) >= LEAST_OWN_TERMS


def _worth(asked: Asked, chunk: ScoredChunk) -> float:
    is_aside = kind_asked(asked.kinds, chunk.hit.file, chunk.hit.symbol) != "source"
    is_aside = is_aside and chunk.hit.file not in asked.files
    return chunk.score * (ASIDE_FACTOR if is_aside else 1.0) + (chunk.hit.file in asked.files)


def _named(index: IndexReader, identifiers: Sequence[str], scope: str | None) -> dict[int, float]:
    """Return the chunks that define names of the question; the more definitions a name has, the less each counts.

    Fields and attributes count only if nothing else has that name.
    """
    named: dict[int, float] = {}
    for name in identifiers:
        symbols = symbols_named(index, name, fuzzy=False, limit=MAX_DEFINITIONS)
        symbols = [symbol for symbol in symbols if is_within(symbol.file, scope)]
        symbols = [symbol for symbol in symbols if symbol.kind not in VALUE_KINDS] or symbols
        for symbol in symbols:
            chunk_id = index.chunk_at(symbol.file, symbol.name_line)
            if chunk_id is not None:
                named[chunk_id] = max(named.get(chunk_id, 0.0), 1 / math.sqrt(len(symbols)))
    return named


def _near(index: IndexReader, meaning: Meaning, kinds: frozenset[PathKind], scope: str | None) -> dict[int, float]:
    """Return the code and documents nearest in meaning, with their cosines."""
    near = dict(meaning.nearest(READ_BY_MEANING if scope is None else READ_IN_SCOPE, passages=False) or ())
    near = {chunk_id: cosine for chunk_id, cosine in near.items() if cosine >= LEAST_COSINE}
    return _compared(index, near, kinds, scope, MAX_BY_MEANING)


def _alike(
    index: IndexReader, likeness: Likeness | None, kinds: frozenset[PathKind], scope: str | None
) -> dict[int, float]:
    """Return the code and documents whose terms are most like the question's, with their cosines."""
    if likeness is None:
        return {}
    nearest = likeness.nearest(READ_BY_MEANING if scope is None else READ_IN_SCOPE)
    near = {chunk_id: cosine for chunk_id, cosine in nearest if cosine >= LEAST_ALIKE}
    return _compared(index, near, kinds, scope, MAX_ALIKE)


def _compared(
    index: IndexReader, near: Mapping[int, float], kinds: frozenset[PathKind], scope: str | None, limit: int
) -> dict[int, float]:
    """Return the first chunks that may be compared, of those given best first."""
    places = {
        chunk_id: (path, symbol)
        for chunk_id, path, _, _, _, symbol in index.chunk_places(list(near))
        if is_within(path, scope)
    }
    compared = [chunk_id for chunk_id in near if chunk_id in places and is_compared(kinds, *places[chunk_id])]
    return {chunk_id: near[chunk_id] for chunk_id in compared[:limit]}


def is_compared(kinds: frozenset[PathKind], path: str, symbol: str | None) -> bool:
    """Return True for code and documents: tests and generated files repeat the words of what they are about."""
    return kind_asked(kinds, path, symbol) in {"source", "docs"}


def _cosines(meaning: Meaning | None, kinds: frozenset[PathKind], chunks: Sequence[ScoredChunk]) -> dict[int, float]:
    """Return the cosines of the code and documents among the chunks that have a vector, or get one now."""
    if meaning is None:
        return {}
    compared = [chunk for chunk in chunks if is_compared(kinds, chunk.hit.file, chunk.hit.symbol)]
    cosines = dict(meaning.cosines([chunk.chunk_id for chunk in compared]) or {})
    missing = [chunk for chunk in compared[:MAX_MADE] if chunk.chunk_id not in cosines]
    made = meaning.similar([chunk.hit for chunk in missing]) if missing else None
    for chunk, cosine in zip(missing, made or (), strict=False):
        if cosine is not None:
            cosines[chunk.chunk_id] = cosine
    return cosines


def _windows(
    meaning: Meaning | None, cosines: Mapping[int, float], chunks: Sequence[ScoredChunk]
) -> Mapping[int, float]:
    """Return the cosines of the best windows of the chunks that are compared."""
    compared = [chunk.chunk_id for chunk in chunks if chunk.chunk_id in cosines]
    return {} if meaning is None else meaning.windows(compared) or {}


def _greater(one: float | None, other: float | None) -> float | None:
    return max((near for near in (one, other) if near is not None), default=None)


def _is_enough(cosines: Mapping[int, float], kinds: frozenset[PathKind], chunks: Sequence[ScoredChunk]) -> bool:
    """Return True if three in ten of the first pieces by words can be compared; `likely_pieces` has so many."""
    compared = [chunk for chunk in chunks if is_compared(kinds, chunk.hit.file, chunk.hit.symbol)][:MAX_MADE]
    known = sum(chunk.chunk_id in cosines for chunk in compared)
    return bool(cosines) and known >= LEAST_COMPARED * len(compared)


def _files_named(files: Collection[str], query: str) -> frozenset[str]:
    paths = _paths_in(query)
    return frozenset(file for file in files if any(_same_path(file, path) for path in paths))


def is_within(file: str, scope: str | None) -> bool:
    """Return whether a file is a scope, or lies in it; always without a scope."""
    return scope is None or file == scope or file.startswith(f"{scope}/")


def _paths_in(query: str) -> set[str]:
    found = (match.group().replace("\\", "/").lstrip("./") for match in _PATH.finditer(query))
    return {path for path in found if path}


def _same_path(file: str, named: str) -> bool:
    return file == named or file.endswith("/" + named) or ("/" in file and named.endswith("/" + file))
