"""Ranks chunks for a question by full text, the surrounding file, symbol names and paths.

The full-text score dominates the order. A chunk gains from the other chunks of its file, from being the definition of a
name that the question spells out, and from lying in a file whose path or name the question mentions. Tests, documents
and the like are demoted unless the question asks for them, and each file has only a few chunks in front. The same
index and question always give the same order.
"""

from __future__ import annotations

import functools
import math
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runtime.codebase.files.path_kinds import kind_of_place, kinds_asked_for
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit, SymbolRecord
from runtime.codebase.language_parts.language import PathKind
from runtime.codebase.parsing.syntax import VALUE_KINDS
from runtime.codebase.resolution.symbol_links import symbols_named
from runtime.codebase.search.call_boost import raised_by_calls
from runtime.codebase.search.full_text import FieldWeights, ScoredChunk, score_chunks, weigh_terms
from runtime.codebase.search.fusion import (
    MAX_JOINED_PER_FILE_IN_FRONT,
    Scored,
    joined,
    spread,
    widened,
    with_similarity,
)
from runtime.codebase.search.query_expansion import related_terms

MAX_QUERY_CHARS = 8_000
MAX_NAMED = 20
MAX_DEFINITIONS = 8
MAX_CHUNK_LINES = 60
MAX_COMPARED = 60

_STRONGLY_DEMOTED: frozenset[PathKind] = frozenset({"changelog", "vendored", "generated", "translation"})
_PATH = re.compile(
    r"[\w./\\-]*\w\.(?:py|pyi|go|js|jsx|ts|tsx|java|rs|c|h|cc|cpp|hpp|rb|php|cs|kt|md|rst|toml|ya?ml|json|cfg|ini)\b"
)

_Key = tuple[str, int]
Similar = Callable[[Sequence[ChunkHit]], Sequence[float | None] | None]


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """Sets the weights of the ranking, tuned on development questions.

    `named_symbol`, `named_path`, `file_name` and `similarity` are shares of the best score; the rest are factors.
    """

    fields: FieldWeights = field(default_factory=FieldWeights)
    file_coverage: float = 0.25
    file_neighbours: float = 0.5
    named_symbol: float = 0.5
    named_path: float = 0.5
    file_name: float = 0.2
    next_of_file: float = 0.95
    demotion: float = 0.3
    similarity: float = 0.1


DEFAULT_WEIGHTS = RankingWeights()


def rank_chunks(
    index: IndexReader,
    query: str,
    limit: int,
    *,
    scope: str | None = None,
    weights: RankingWeights = DEFAULT_WEIGHTS,
    similar: Similar | None = None,
    join: bool = False,
) -> list[ChunkHit]:
    """Return the best chunks for a question, at most `limit`; `scope` limits them to a file or folder.

    `similar` returns the similarity in meaning of the first 60, None for those where it is not known. With `join`,
    chunks that the best ones call in their own file are raised, chunks that nearly touch become one hit of at most 80
    lines, and behind the first ten new files alternate with known ones. Empty for a question without terms.
    """
    query = query[:MAX_QUERY_CHARS]
    terms = query_terms(query)
    if not terms.counts or limit < 1:
        return []
    related = related_terms(index, list(terms.counts))
    term_weights = weigh_terms(index, query, terms, weights.fields, related)
    within = None if scope in (None, ".") else scope
    board = _Board(score_chunks(index, term_weights, weights.fields, within, related), weights)
    for name in terms.identifiers[:MAX_NAMED]:
        found = symbols_named(index, name, fuzzy=False, limit=MAX_DEFINITIONS)
        board.add_named([symbol for symbol in found if _is_within(symbol.file, within)])
    board.add_paths(_paths_in(query))
    board.add_file_names(term_weights)
    board.demote(kinds_asked_for(query))
    ranked = board.ranked(similar)
    if join:
        best = widened(spread(joined(raised_by_calls(index, ranked)), MAX_JOINED_PER_FILE_IN_FRONT))
    else:
        best = spread(ranked)
    return [replace(hit, score=round(score, 6)) for score, hit in best[:limit]]


class _Board:
    """Accumulates the scores of chunks from all signals."""

    def __init__(self, found: Sequence[ScoredChunk], weights: RankingWeights) -> None:
        self._weights = weights
        self._hits: dict[_Key, ChunkHit] = {_key(chunk.hit): chunk.hit for chunk in found}
        self._from_file = _file_scores(found, weights)
        self._scores: dict[_Key, float] = {
            _key(chunk.hit): chunk.score + self._from_file[chunk.hit.file] for chunk in found
        }
        self._top = max(self._scores.values(), default=1.0)

    def add_named(self, symbols: Sequence[SymbolRecord]) -> None:
        """Raise the definitions of a name; the more definitions it has, the less each gains.

        Fields and attributes count only if nothing else has that name.
        """
        symbols = [symbol for symbol in symbols if symbol.kind not in VALUE_KINDS] or symbols
        for symbol in symbols:
            key = self._key_of(symbol)
            self._scores[key] += self._weights.named_symbol * self._top / math.sqrt(len(symbols))

    def _key_of(self, symbol: SymbolRecord) -> _Key:
        for key, hit in self._hits.items():
            if key[0] == symbol.file and hit.start_line <= symbol.name_line <= hit.end_line:
                return key
        key = (symbol.file, symbol.start_line)
        if key not in self._hits:
            end = min(symbol.end_line, symbol.start_line + MAX_CHUNK_LINES - 1)
            name = symbol.qualified_name
            self._hits[key] = ChunkHit(symbol.file, symbol.start_line, end, name, 0.0, symbol.id, "symbol")
            self._scores[key] = self._from_file.get(symbol.file, 0.0)
        return key

    def add_paths(self, paths: Iterable[str]) -> None:
        """Raise the files that the question names by path; a path that extends above the root counts as well."""
        wanted = list(paths)
        named = {file for file in {key[0] for key in self._scores} if any(_same_path(file, path) for path in wanted)}
        for key in self._scores:
            if key[0] in named:
                self._scores[key] += self._weights.named_path * self._top

    def add_file_names(self, term_weights: Mapping[str, float]) -> None:
        """Raise the files whose name consists of words of the question only."""
        whole = sum(term_weights.values())
        gains: dict[str, float] = {}
        for file in {key[0] for key in self._scores}:
            parts = _name_parts(file)
            if parts and all(part in term_weights for part in parts):
                share = sum(term_weights[part] for part in parts) / whole
                gains[file] = self._weights.file_name * self._top * min(1.0, 3 * share)
        for key in self._scores:
            self._scores[key] += gains.get(key[0], 0.0)

    def demote(self, asked: frozenset[PathKind]) -> None:
        """Lower chunks that are not source code, unless their kind was asked for."""
        for key in self._scores:
            kind = kind_of_place(key[0], self._hits[key].symbol)
            if kind != "source" and kind not in asked:
                self._scores[key] *= self._weights.demotion ** (2 if kind in _STRONGLY_DEMOTED else 1)

    def ranked(self, similar: Similar | None) -> list[Scored]:
        """Return all hits, best first; each further chunk of a file counts a little less."""
        per_file: Counter[str] = Counter()
        adjusted: list[tuple[float, _Key]] = []
        for key in sorted(self._scores, key=lambda key: (-self._scores[key], key)):
            adjusted.append((self._scores[key] * self._weights.next_of_file ** per_file[key[0]], key))
            per_file[key[0]] += 1
        adjusted.sort(key=lambda pair: (-pair[0], pair[1]))
        pairs = [(score, self._hits[key]) for score, key in adjusted]
        compared = similar([hit for _, hit in spread(pairs)[:MAX_COMPARED]]) if similar is not None else None
        if compared is not None:
            pairs = with_similarity(spread(pairs), compared, self._weights.similarity)
        return pairs


def _file_scores(found: Sequence[ScoredChunk], weights: RankingWeights) -> dict[str, float]:
    """Return each file's gain for its chunks: its coverage of the question, and its next best chunks."""
    covered: dict[str, dict[str, float]] = {}
    scores: dict[str, list[float]] = {}
    for chunk in found:
        best = covered.setdefault(chunk.hit.file, {})
        for term, part in chunk.by_term.items():
            best[term] = max(best.get(term, 0.0), part)
        scores.setdefault(chunk.hit.file, []).append(chunk.score)
    return {
        file: weights.file_coverage * sum(covered[file].values())
        + weights.file_neighbours * sum(sorted(own, reverse=True)[1:4]) / 3
        for file, own in scores.items()
    }


def _key(hit: ChunkHit) -> _Key:
    return (hit.file, hit.start_line)


def _is_within(file: str, scope: str | None) -> bool:
    return scope is None or file == scope or file.startswith(f"{scope}/")


def _paths_in(query: str) -> set[str]:
    found = (match.group().replace("\\", "/").lstrip("./") for match in _PATH.finditer(query))
    return {path for path in found if path}


def _same_path(file: str, named: str) -> bool:
    return file == named or file.endswith("/" + named) or ("/" in file and named.endswith("/" + file))


@functools.lru_cache(maxsize=65536)
def _name_parts(file: str) -> tuple[str, ...]:
    parts = index_terms(posixpath.basename(file).partition(".")[0]).split()
    return tuple(parts[1:] if len(parts) > 1 else parts)
