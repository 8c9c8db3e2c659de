"""Measures how candidates fit a question: the features by which a ranker orders them.

`features` is pure. A feature compares a piece with the other candidates of the same question where it can, so that it
means the same in a small repository and a large one. docs/ranking.md says what each is worth.
"""

from __future__ import annotations

import functools
import math
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.files.path_kinds import kind_of_place
from runtime.codebase.files.words import index_terms, split_identifier
from runtime.codebase.language_parts.language import PathKind
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS
from runtime.codebase.search.full_text import ScoredChunk
from runtime.primitives.dotted_names import last_part

BY_WORDS: tuple[str, ...] = (
    "words",
    "words_rank",
    "cover",
    "cover_body",
    "cover_names",
    "cover_path",
    "file_cover",
    "file_next",
    "file_rank",
    "is_named",
    "path_named",
    "file_name",
    "name_precise",
    "is_callable",
    "is_holder",
    "is_section",
    "is_source",
    "is_test",
    "is_docs",
    "is_example",
    "is_aside",
    "is_asked",
    "lines",
    "depth",
    "path_depth",
)
BY_MEANING: tuple[str, ...] = ("cosine", "cosine_rank", "file_cosine", "said")
BY_TERMS: tuple[str, ...] = ("alike", "alike_rank", "file_alike")
FEATURES = BY_WORDS + BY_MEANING + BY_TERMS
# Pieces at rank 0 and rank 5 differ as much as those at 5 and infinity.
RANK_OFFSET = 5
MOST_NEXT = 3
ASIDE: frozenset[PathKind] = frozenset({"changelog", "vendored", "generated", "translation"})


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds what a question asks for: its weighted terms, kinds of files, and the files whose path it names."""

    weights: Mapping[str, float]
    kinds: frozenset[PathKind]
    files: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Candidate:
    """Joins what is known of a piece: its words, the kind of its symbol, and how well it was named.

    `named`: 1 for the only definition of a name in the question, less for one of several. `cosine`: of its vector
    and the question's; None without a vector. `said`: the greatest cosine of the passages and the windows in it, None
    without any. `alike`: the cosine of its terms and the question's; None for one not compared by them.
    """

    words: ScoredChunk
    kind: str = ""
    named: float = 0.0
    cosine: float | None = None
    said: float | None = None
    alike: float | None = None

    @property
    def nearness(self) -> float | None:
        """The cosine of the piece, or of the nearest passage or window in it if that is nearer; None without any."""
        return max((near for near in (self.cosine, self.said) if near is not None), default=None)


def features(asked: Asked, candidates: Sequence[Candidate]) -> list[tuple[float, ...]]:
    """Return the features of each candidate, in the order of `FEATURES`; a missing cosine counts as the mean."""
    files = _files(asked, candidates)
    ranks = _ranks([candidate.words.score for candidate in candidates])
    in_file = _ranks_in_file(candidates, ranks)
    best = max((candidate.words.score for candidate in candidates), default=0.0) or 1.0
    others = zip(_meanings(candidates), _likenesses(candidates), strict=True)
    rows = []
    for candidate, rank, file_rank, (meaning, alike) in zip(candidates, ranks, in_file, others, strict=True):
        by_words = _by_words(asked, candidate, best, rank, file_rank, files[candidate.words.hit.file])
        rows.append((*by_words, *meaning, *alike))
    return rows


def kind_asked(asked_kinds: frozenset[PathKind], path: str, symbol: str | None) -> PathKind:
    """Return the kind of a place; `source` for a kind that the question asks for, since it is as good then."""
    kind = kind_of_place(path, symbol)
    return "source" if kind in asked_kinds else kind


def _by_words(
    asked: Asked,
    candidate: Candidate,
    best: float,
    rank: int,
    file_rank: int,
    file: tuple[float, Sequence[float]],
) -> tuple[float, ...]:
    chunk, hit = candidate.words, candidate.words.hit
    body, names, path, _ = chunk.fields
    file_cover, scores = file
    others = scores[1 : MOST_NEXT + 1] if chunk.score >= scores[0] else scores[:MOST_NEXT]
    kind = kind_asked(asked.kinds, hit.file, hit.symbol)
    is_asked = kind_of_place(hit.file, hit.symbol) in asked.kinds
    return (
        chunk.score / best,
        1 / (RANK_OFFSET + rank),
        _share(asked, frozenset().union(*chunk.fields)),
        _share(asked, body),
        _share(asked, names),
        _share(asked, path),
        file_cover,
        sum(others) / MOST_NEXT / best,
        math.log(1 + file_rank),
        candidate.named,
        float(hit.file in asked.files),
        _file_name(asked, hit.file),
        _name_precise(asked, hit.symbol),
        # A section is to who asks for documents what a function is to others.
        float(candidate.kind in CALLABLE_KINDS or is_asked),
        float(candidate.kind in CONTAINER_KINDS),
        float(candidate.kind == "section"),
        float(kind == "source"),
        float(kind in {"test", "benchmark"}),
        float(kind == "docs"),
        float(kind == "example"),
        float(kind in ASIDE),
        float(is_asked),
        math.log(hit.end_line - hit.start_line + 1),
        float((hit.symbol or "").count(".")),
        float(hit.file.count("/")),
    )


def _files(asked: Asked, candidates: Sequence[Candidate]) -> dict[str, tuple[float, Sequence[float]]]:
    """Return for each file the share of the question that its candidates cover together, and their scores."""
    terms: dict[str, set[str]] = {}
    scores: dict[str, list[float]] = {}
    for candidate in candidates:
        terms.setdefault(candidate.words.hit.file, set()).update(*candidate.words.fields)
        scores.setdefault(candidate.words.hit.file, []).append(candidate.words.score)
    return {file: (_share(asked, terms[file]), sorted(own, reverse=True)) for file, own in scores.items()}


def _ranks_in_file(candidates: Sequence[Candidate], ranks: Sequence[int]) -> list[int]:
    """Return how many candidates of the same file come before each by words."""
    before: dict[str, int] = {}
    found = [0] * len(candidates)
    for place in sorted(range(len(candidates)), key=lambda place: ranks[place]):
        file = candidates[place].words.hit.file
        found[place] = before.get(file, 0)
        before[file] = found[place] + 1
    return found


def _meanings(candidates: Sequence[Candidate]) -> list[tuple[float, ...]]:
    known = [candidate.cosine for candidate in candidates if candidate.cosine is not None]
    if not known:
        return [(0.0,) * len(BY_MEANING)] * len(candidates)
    usual = sum(known) / len(known)
    cosines = [usual if candidate.cosine is None else candidate.cosine for candidate in candidates]
    return [
        (*nearness, nearness[0] if candidate.said is None else max(nearness[0], candidate.said))
        for candidate, nearness in zip(candidates, _nearness(candidates, cosines), strict=True)
    ]


def _likenesses(candidates: Sequence[Candidate]) -> list[tuple[float, ...]]:
    if any(candidate.alike is None for candidate in candidates):
        return [(0.0,) * len(BY_TERMS)] * len(candidates)
    return _nearness(candidates, [candidate.alike or 0.0 for candidate in candidates])


def _nearness(candidates: Sequence[Candidate], cosines: Sequence[float]) -> list[tuple[float, ...]]:
    """Return of each candidate the cosine, what its rank among them is worth, and the greatest cosine in its file."""
    by_file: dict[str, float] = {}
    for candidate, cosine in zip(candidates, cosines, strict=True):
        file = candidate.words.hit.file
        by_file[file] = max(cosine, by_file.get(file, -1.0))
    ranks = _ranks(cosines)
    return [
        (cosine, 1 / (RANK_OFFSET + rank), by_file[candidate.words.hit.file])
        for candidate, cosine, rank in zip(candidates, cosines, ranks, strict=True)
    ]


def _ranks(values: Sequence[float]) -> list[int]:
    """Return the rank of each value, 0 for the greatest; equal ones in their order."""
    ranks = [0] * len(values)
    for rank, place in enumerate(sorted(range(len(values)), key=lambda place: -values[place])):
        ranks[place] = rank
    return ranks


def _share(asked: Asked, terms: frozenset[str] | set[str]) -> float:
    """Return the share of the question's weight that terms of it have."""
    whole = sum(asked.weights.values())
    # A sum that no order of the terms changes: that of a set differs from process to process.
    return math.fsum(asked.weights[term] for term in terms) / whole if whole else 0.0


def _file_name(asked: Asked, file: str) -> float:
    """Return the share of the question that a file's name says, if it consists of words of the question only."""
    parts = _name_parts(file)
    if not parts or not all(part in asked.weights for part in parts):
        return 0.0
    return min(1.0, 3 * _share(asked, frozenset(parts)))


def _name_precise(asked: Asked, symbol: str | None) -> float:
    """Return the share of the words of a symbol's own name that the question has."""
    words = _own_words(last_part(symbol)) if symbol else frozenset()
    return sum(word in asked.weights for word in words) / len(words) if words else 0.0


@functools.lru_cache(maxsize=65536)
def _name_parts(file: str) -> tuple[str, ...]:
    parts = index_terms(posixpath.basename(file).partition(".")[0]).split()
    return tuple(parts[1:] if len(parts) > 1 else parts)


@functools.lru_cache(maxsize=65536)
def _own_words(name: str) -> frozenset[str]:
    return frozenset(index_terms(" ".join(split_identifier(name))).split())
