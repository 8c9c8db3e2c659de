"""Fits the confidence of answers in words, and judges it on repositories held out.

    python -m tests.ranking.confidence --clones FOLDER --state FOLDER [--judge]

Questions are those of cases.jsonl and, about what a repository does not have, of absent.jsonl; answers are made by the
rules, by words alone and with the vectors that are kept in `--state`. Without `--judge` the weights are written into
the package; with it, each repository is judged by weights that never saw it.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from actors.capabilities.code_analysis.agents.synthesizer import write_claims
from actors.capabilities.code_analysis.answers import confidence
from actors.capabilities.code_analysis.answers.composition import Finding, compose
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from runtime.codebase.codebase import Codebase
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from tests.ranking.asked import GOAL, Asked, ask
from tests.ranking.cases import Case, read_cases
from tests.ranking.examples import open_clone
from tests.ranking.logistic import Numbers, logistic
from tests.ranking.told import Told, told_by

CASES, ABSENT = Path(__file__).parent / "cases.jsonl", Path(__file__).parent / "absent.jsonl"
# The share of questions that are taken to be about what is not there, without and with vectors: as many as leave at
# least 85 % of the questions with an answer at `ENOUGH` or above.
ABSENT_SHARE = {"": 0.1, confidence.WITH_VECTORS: 0.18}
# The form of a question about what another of the repositories has.
OF_ANOTHER = "other"
# How strongly weights are drawn to nothing: more where little tells, as of what an answer is worth.
SHRINKAGE = {"there": 1.0, "helps": 4.0}
BINS = (0.0, 0.3, 0.5, 0.6, 0.7, 1.01)

Weights = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Answered:
    """Holds an answer by the rules: its features, and what it tells."""

    case: Case
    features: Mapping[str, float]
    told: Told


def answered(case: Case, codebase: Codebase) -> Answered:
    """Answer a question in words from the places that the searches of the first round find."""
    return answer_of(ask(case, codebase))


def answer_of(asked: Asked) -> Answered:
    """Write the answer from what was found; `near` counts wherever pieces were compared by meaning."""
    claims = write_claims(evidence_of(asked.question, asked.facts), [GOAL.id])[GOAL.id]
    text = compose(asked.question, [Finding(GOAL, tuple(claims))], {}, None)
    features = confidence.features_of(in_answer_order(asked.facts), asked.absence)
    if any(features.values()):
        features |= confidence.features_of_meaning(asked.facts, 1.0)
    return Answered(asked.case, features, told_by(asked.case, text))


def fit(answers: Sequence[Answered], by: str) -> Weights:
    """Return the weights of both models, with vectors (`by` is `WITH_VECTORS`) or without."""
    own = _with_features(answers, by)
    more = confidence.BY_MEANING if by else ()
    there = np.array([bool(one.case.lead) for one in own], float)
    share = ABSENT_SHARE[by]
    rate = share / (1 - share) * there.sum() / max(1.0, (1 - there).sum())
    known = [one for one in own if one.case.lead]
    helps = np.array([one.told.is_helpful for one in known], float)
    rates = np.where(there, 1.0, rate)
    return {
        f"there{by}": logistic(_rows(own, (*confidence.THERE, *more)), there, rates, SHRINKAGE["there"]),
        f"helps{by}": logistic(
            _rows(known, (*confidence.HELPS, *more)), helps, np.ones(len(known)), SHRINKAGE["helps"]
        ),
    }


def _with_features(answers: Sequence[Answered], by: str) -> list[Answered]:
    """Return the answers that a model can be fitted on: with vectors, those of places that were compared by meaning.

    Words alone cannot tell what another repository has from what this one has: such questions are left to the vectors.
    """
    if by:
        return [one for one in answers if confidence.BY_MEANING[0] in one.features]
    return [one for one in answers if one.case.form != OF_ANOTHER]


def _rows(answers: Sequence[Answered], names: Sequence[str]) -> dict[str, Numbers]:
    return {name: np.array([one.features[name] for one in answers], float) for name in names}


def held_out(answers: Sequence[Answered], by: str) -> list[float]:
    """Return the confidence of each answer by weights that were fitted without its repository."""
    repositories = {one.case.repo for one in answers}
    fitted = {repo: fit([one for one in answers if one.case.repo != repo], by) for repo in repositories}
    return [confidence.confidence_in(one.features, fitted[one.case.repo]) for one in answers]


def judge(answers: Sequence[Answered], by: str) -> None:
    """Print how well the confidence tells answers apart, and how often answers of each height help."""
    told = np.array(held_out(answers, by))
    there = np.array([bool(one.case.lead) for one in answers])
    judged = {
        name: np.array([getattr(one.told, f"is_{name}") for one in answers]) for name in ("helpful", "half", "good")
    }
    print(
        f"AUC, held out{by.replace('_', ' ')}: there",
        _auc(there, told),
        *(f"{name} {_auc(judged[name][there], told[there])}" for name in judged),
    )
    print("| confidence | answers | not there | helpful | half or good | good |\n|---|---|---|---|---|---|")
    for low, high in itertools.pairwise(BINS):
        own = (told >= low) & (told < high)
        shares = [f"{100 * judged[name][own].mean():.0f} %" if own.any() else "" for name in judged]
        print(f"| {low:g} to {min(high, 1.0):g} | {own.sum()} | {(own & ~there).sum()} | {' | '.join(shares)} |")
    forms = sorted({one.case.form or "by others" for one in answers if not one.case.lead})
    for form in forms:
        own = np.array([not one.case.lead and (one.case.form or "by others") == form for one in answers])
        print(f"not there, {form}: {(told[own] < confidence.ENOUGH).sum()} of {own.sum()} below {confidence.ENOUGH}")
    sure = there & (told >= confidence.ENOUGH)
    of_these = ", ".join(f"{name} {100 * judged[name][sure].mean():.1f} %" for name in judged)
    print(f"answerable: {100 * sure.sum() / there.sum():.1f} % at {confidence.ENOUGH} or above; of these {of_these}")


def _auc(is_positive: NDArray[np.bool_], scores: Numbers) -> str:
    ours, others = scores[is_positive][:, None], scores[~is_positive][None]
    return f"{(ours > others).mean() + (ours == others).mean() / 2:.2f}" if ours.size and others.size else "none"


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    made: Weights = {}
    repositories: dict[str, list[str]] = {}
    vectors = open_semantics(given.state / "vectors.sqlite", here=True)
    for by, semantics in (("", None), (confidence.WITH_VECTORS, vectors)):
        answers = _answers(given.clones, given.state, semantics)
        answers = _with_features(answers, by)
        if given.judge:
            judge(answers, by)
            continue
        made |= fit(answers, by)
        repositories[by.strip("_") or "words"] = sorted({one.case.repo for one in answers})
    if made:
        written = {"weights": made, "repositories": repositories}
        confidence.FILE.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
        print(f"{confidence.FILE}: {made}")


def _answers(clones: Path, state: Path, semantics: Semantics | None) -> list[Answered]:
    """Answer the questions about all clones that are there."""
    cases = [*read_cases(CASES, unanswerable=True), *read_cases(ABSENT, unanswerable=True)]
    found: list[Answered] = []
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out")
            continue
        codebase = open_clone(clones, state, name)
        codebase.semantics = semantics
        found += [answered(case, codebase) for case in cases if case.folder == name]
        codebase.close()
    return found


if __name__ == "__main__":
    main()
