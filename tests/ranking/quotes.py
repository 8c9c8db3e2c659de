"""Fits which sentence of a document is quoted and whether any is, and judges that on repositories held out.

    python -m tests.ranking.quotes --clones FOLDER --state FOLDER [--judge]

`said.jsonl` has questions with the sentences of documents that answer them, each by a mark of its text; those without
any are answered by code alone. So do `cases.jsonl`, whose places in documents count, as far as clones are there. Two
models each, by words alone and with the vectors that are kept in `--state`. Each fifth of the repositories is judged by
weights that never saw it; without `--judge` those of all are written into the package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from actors.capabilities.code_analysis.answers.documents.document_claims import LEAST_WORTH
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.search.prose.document_quotes import (
    FILE,
    NEAREST,
    SIGNS,
    Choice,
    Model,
    choose,
    probability,
    sums,
)
from runtime.codebase.search.prose.passages import term_weights
from runtime.codebase.search.prose.quotable_sentences import QuotableSentence
from runtime.codebase.search.prose.quote_candidates import FEATURES, QuoteCandidate, quote_candidates
from runtime.codebase.search.prose.sentences import Sentence
from runtime.codebase.search.question_frames import without_frame
from runtime.codebase.search.ranker import State
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from tests.ranking import points
from tests.ranking.cases import Case, read_cases
from tests.ranking.examples import open_clone
from tests.ranking.listwise import least_loss
from tests.ranking.logistic import logistic

CASES = Path(__file__).parent / "said.jsonl"
PENALTY, SHRINKAGE = 30.0, 3.0
FOLDS, SEEDS, RESAMPLES = 5, (1, 2, 3), 2_000
# The share of questions in words about code that a document answers.
ANSWERED_SHARE = 0.4
MARK_CHARS, DIGITS = 8, 4


class Said(msgspec.Struct, frozen=True):
    """Locates a sentence of a document that answers; `mark`: of its text, without which all in these lines answer."""

    file: str
    start: int
    end: int
    mark: str = ""

    def is_of(self, file: str, sentence: Sentence) -> bool:
        """Return whether it is a sentence of a file."""
        is_there = file == self.file and self.start <= sentence.end_line and sentence.start_line <= self.end
        return is_there and self.mark in {"", mark_of(sentence.text)}


class Asked(msgspec.Struct, frozen=True):
    """Holds a question with the sentences that answer it; without any, code alone does."""

    id: str
    repo: str
    base_commit: str
    question: str
    kind: str
    said: tuple[Said, ...] = ()


@dataclass(frozen=True, slots=True)
class Gathered:
    """Holds the candidates of a question, and whether the quotation of each would answer it."""

    asked: Asked
    candidates: list[QuoteCandidate]
    right: list[bool]

    def is_right(self, choice: Choice) -> bool:
        """Return whether what is told for a choice answers."""
        chosen = [one for one in (choice.best, choice.second) if one is not None]
        return any(self.right[at] for at, one in enumerate(self.candidates) if one in chosen)


def read_asked(path: Path = CASES) -> list[Asked]:
    """Return the questions of a file."""
    return [msgspec.json.decode(line, type=Asked) for line in path.read_text("utf-8").splitlines()]


def asked_of_cases() -> list[Asked]:
    """Return the questions of cases, which are longer, with the lines of documents that answer them."""
    return [
        Asked(case.id, case.repo, case.base_commit, case.question, case.kind, tuple(_documents_of(case)))
        for case in read_cases(points.CASES)
    ]


def _documents_of(case: Case) -> list[Said]:
    places = (*case.lead, *(place for nugget in case.nuggets for place in nugget.any_place))
    return [Said(place.file, place.start, place.end) for place in places if kind_of_path(place.file) == "docs"]


def mark_of(text: str) -> str:
    """Return the mark of a sentence, by which it is known without its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:MARK_CHARS]


def gathered(asked: Asked, codebase: Codebase, semantics: Semantics | None) -> Gathered:
    """Return the sentences that may be quoted for a question."""
    question = without_frame(asked.question)
    near = None if semantics is None else semantics.nearest(codebase.index, question, NEAREST, passages=True)
    weights = term_weights(codebase.index, question)
    cosines = None if near is None else dict(near)
    candidates, of_passage = quote_candidates(codebase.index, codebase.try_source, question, weights, cosines)
    right = [_answers(one, of_passage[one.passage.id], asked.said) for one in candidates]
    return Gathered(asked, candidates, right)


def _answers(one: QuoteCandidate, sentences: Sequence[QuotableSentence], said: Sequence[Said]) -> bool:
    told = [sentences[place].sentence for place in one.said.told_with]
    return any(answer.is_of(one.passage.file, sentence) for answer in said for sentence in told)


def fit(found: Sequence[Gathered], state: State, seed: int = 1) -> Model:
    """Return both models of a state: the signs are fitted on questions that the order has not seen."""
    rows: list[tuple[dict[str, float], bool, bool]] = []
    for fold in _folds(found, seed):
        order = _order([one for one in found if one.asked.repo not in fold])
        for one in (one for one in found if one.asked.repo in fold):
            choice = choose(one.candidates, sums(one.candidates, order))
            if choice is not None:
                rows.append((choice.signs, one.is_right(choice), bool(one.asked.said)))
    answered = sum(is_answered for *_, is_answered in rows)
    rate = answered * (1 - ANSWERED_SHARE) / ANSWERED_SHARE / max(1, len(rows) - answered)
    columns = {name: np.array([signs[name] for signs, *_ in rows], float) for name in SIGNS}
    if state == "words":
        columns = {name: column for name, column in columns.items() if column.std() > 0}
    wanted = np.array([is_right for _, is_right, _ in rows], float)
    rates = np.array([1.0 if is_answered else rate for *_, is_answered in rows])
    return {"features": _order(found), "signs": logistic(columns, wanted, rates, SHRINKAGE)}


def _order(found: Sequence[Gathered]) -> dict[str, float]:
    """Return the weight of each feature, by listwise softmax; questions without a right candidate teach nothing."""
    used = [one for one in found if any(one.right)]
    rows = np.array([one.features for question in used for one in question.candidates], float)
    deviations = rows.std(axis=0) + 1e-9
    starts = np.cumsum([0, *(len(question.right) for question in used[:-1])])
    targets = np.concatenate([np.array(one.right, float) / sum(one.right) for one in used])
    shares = np.full(len(used), 1 / len(used))
    weights = least_loss((rows - rows.mean(axis=0)) / deviations, targets, starts, shares, PENALTY / len(used))
    scaled = zip(FEATURES, weights / deviations, strict=True)
    return {name: round(float(weight), DIGITS) for name, weight in scaled if abs(weight) > 0}


def _folds(found: Sequence[Gathered], seed: int) -> list[set[str]]:
    repositories = sorted({one.asked.repo for one in found})
    random.Random(seed).shuffle(repositories)
    return [set(repositories[fold::FOLDS]) for fold in range(FOLDS)]


def judge(found: Sequence[Gathered], state: State) -> None:
    """Print how many quotations are right and beside the point, by weights that never saw the repository."""
    by_repository: dict[str, list[float]] = {}
    for seed in SEEDS:
        for fold in _folds(found, seed):
            model = fit([one for one in found if one.asked.repo not in fold], state, seed + 10)
            for one in (one for one in found if one.asked.repo in fold):
                counts = by_repository.setdefault(one.asked.repo, [0.0] * 4)
                for at, share in enumerate(_counted(one, model)):
                    counts[at] += share / len(SEEDS)
    answered = sum(bool(one.asked.said) for one in found)
    by_code = f"quoted, of {len(found) - answered} by code"
    names = (f"right, of {answered}", "beside the point", by_code, "best is right")
    for at, name in enumerate(names):
        low, high = _interval([counts[at] for counts in by_repository.values()])
        print(f"{state} | {name} | {sum(counts[at] for counts in by_repository.values()):.1f} ({low:.1f} … {high:.1f})")


def _counted(one: Gathered, model: Mapping[str, Mapping[str, float]]) -> tuple[float, float, float, float]:
    choice = choose(one.candidates, sums(one.candidates, model["features"]))
    if choice is None:
        return 0.0, 0.0, 0.0, 0.0
    is_right, is_answered = one.is_right(choice), bool(one.asked.said)
    is_told = probability(choice.signs, model["signs"]) >= LEAST_WORTH
    quoted = is_told and is_answered
    return float(quoted and is_right), float(quoted and not is_right), float(is_told and not is_answered), is_right


def _interval(counts: Sequence[float]) -> tuple[float, float]:
    draw = random.Random(1)
    totals = sorted(sum(draw.choices(counts, k=len(counts))) for _ in range(RESAMPLES))
    return totals[int(0.025 * RESAMPLES)], totals[int(0.975 * RESAMPLES)]


def gathered_of_all(clones: Path, state: Path, semantics: Semantics | None) -> list[Gathered]:
    """Gather the candidates of all questions whose clones are there."""
    found: list[Gathered] = []
    cases = [*read_asked(), *asked_of_cases()]
    for folder in sorted({case.repo.replace("/", "+") for case in cases}):
        if (clones / folder).is_dir():
            codebase = open_clone(clones, state, folder)
            own = [case for case in cases if case.repo.replace("/", "+") == folder]
            found += [gathered(case, codebase, semantics) for case in own]
            codebase.close()
    return found


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    semantics = open_semantics(given.state / "vectors.sqlite", here=True)
    made: dict[str, Model] = {}
    states: tuple[tuple[State, Semantics | None], ...] = (("words", None), ("vectors", semantics))
    for state, meaning in states:
        found = gathered_of_all(given.clones, given.state, meaning)
        if given.judge:
            judge(found, state)
        else:
            made[state] = fit(found, state)
    if made:
        repositories = sorted({one.asked.repo for one in found})
        FILE.write_text(json.dumps({"repositories": repositories, "models": made}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
