"""Fits the confidence of answers in words, and judges it on repositories held out.

    python -m tests.ranking.confidence --clones FOLDER --state FOLDER [--judge]

Questions are those of cases.jsonl and, about what a repository does not have, of absent.jsonl; answers are made by the
rules, by words alone. Without `--judge` the weights are written into the package; with it, each repository is judged by
weights that never saw it.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.capabilities.code_analysis.agents.planner import plan_steps
from actors.capabilities.code_analysis.agents.synthesizer import write_claims
from actors.capabilities.code_analysis.answers import confidence
from actors.capabilities.code_analysis.answers.composition import Finding, compose
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.evidence.facts import distinct, facts_of
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.absence import Absence
from runtime.codebase.tools.locate import locate
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal
from tests.ranking.cases import Case, read_cases
from tests.ranking.examples import open_clone
from tests.ranking.told import Told, told_by

CASES, ABSENT = Path(__file__).parent / "cases.jsonl", Path(__file__).parent / "absent.jsonl"
GOAL = Goal(GoalId("answer"), "what is asked")
# The share of questions that are about what is not there, as among those that people wrote.
ABSENT_SHARE = 0.1
# How strongly weights are drawn to nothing: more where little tells, as of what an answer is worth.
SHRINKAGE = {"there": 1.0, "helps": 4.0}
STEPS = 60
DIGITS = 3
BINS = (0.0, 0.3, 0.5, 0.6, 0.7, 1.01)

Numbers = NDArray[np.float64]
Weights = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Answered:
    """Holds an answer by the rules: its features, and what it tells."""

    case: Case
    features: Mapping[str, float]
    told: Told


def answered(case: Case, codebase: Codebase) -> Answered:
    """Answer a question in words from the places that the searches of the first round find."""
    question = analyse(case.question)
    steps = [step for step in plan_steps(question, [GOAL], 1) if step.tool == "locate" and not step.top_of]
    results = [(step, locate(codebase, **step.arguments)) for step in steps]
    facts = distinct(fact for step, result in results for fact in facts_of(step, result))
    found: object = next((result.data["absence"] for _, result in results if "absence" in result.data), {})
    claims = write_claims(evidence_of(question, facts), [GOAL.id])[GOAL.id]
    text = compose(question, [Finding(GOAL, tuple(claims))], {}, None)
    features = confidence.features_of(in_answer_order(facts), msgspec.convert(found, Absence))
    return Answered(case, features, told_by(case, text))


def fit(answers: Sequence[Answered]) -> Weights:
    """Return the weights of both models."""
    there = np.array([bool(one.case.lead) for one in answers], float)
    rate = ABSENT_SHARE / (1 - ABSENT_SHARE) * there.sum() / max(1.0, (1 - there).sum())
    known = [one for one in answers if one.case.lead]
    helps = np.array([one.told.is_helpful for one in known], float)
    return {
        "there": logistic(
            _rows(answers, confidence.THERE), there, np.where(there, 1.0, rate), SHRINKAGE["there"]
        ),
        "helps": logistic(_rows(known, confidence.HELPS), helps, np.ones(len(known)), SHRINKAGE["helps"]),
    }


def _rows(answers: Sequence[Answered], names: Sequence[str]) -> dict[str, Numbers]:
    return {name: np.array([one.features[name] for one in answers], float) for name in names}


def held_out(answers: Sequence[Answered]) -> list[float]:
    """Return the confidence of each answer by weights that were fitted without its repository."""
    fitted = {repo: fit([one for one in answers if one.case.repo != repo]) for repo in {a.case.repo for a in answers}}
    return [confidence.confidence_in(one.features, fitted[one.case.repo]) for one in answers]


def judge(answers: Sequence[Answered]) -> None:
    """Print how well the confidence tells answers apart, and how often answers of each height help."""
    told = np.array(held_out(answers))
    there = np.array([bool(one.case.lead) for one in answers])
    judged = {
        name: np.array([getattr(one.told, f"is_{name}") for one in answers]) for name in ("helpful", "half", "good")
    }
    print(
        "AUC, held out: there",
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
    asked = parser.parse_args()
    cases = [*read_cases(CASES, unanswerable=True), *read_cases(ABSENT, unanswerable=True)]
    answers: list[Answered] = []
    for name in sorted({case.folder for case in cases}):
        if not (asked.clones / name).is_dir():
            print(f"no clone {name}: left out")
            continue
        codebase = open_clone(asked.clones, asked.state, name)
        answers += [answered(case, codebase) for case in cases if case.folder == name]
        codebase.close()
    if asked.judge:
        judge(answers)
        return
    made = {"weights": fit(answers), "answers": len(answers), "repositories": len({one.case.repo for one in answers})}
    confidence.FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{confidence.FILE}: {made}")


if __name__ == "__main__":
    main()
