"""Fits which of the found places leads an answer in words, and judges that on repositories held out.

    python -m tests.ranking.leading --clones FOLDER --state FOLDER [--judge]

Two models, by words alone and with the vectors that are kept in `--state`, are fitted by listwise softmax on questions
whose deciding places are known. Without `--judge` the weights are written into the package; with it, whole answers are
written by weights that never saw their repository, and compared with those in the order of the search.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actors.capabilities.code_analysis.answers.by_aspect import answer
from actors.capabilities.code_analysis.answers.composition import compose
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.ranking import leading_place
from actors.capabilities.code_analysis.ranking.answer_order import Place, in_answer_order
from actors.capabilities.code_analysis.ranking.leading_place import FEATURES, MOST, in_leading_order
from runtime.codebase.semantics.similarity import open_semantics
from tests.ranking.asked import GOAL, Asked
from tests.ranking.examples import FURTHER_GAIN, LEAD_GAIN, Numbers
from tests.ranking.listwise import least_loss
from tests.ranking.points import asked_in_words, is_needed, shown_lines
from tests.ranking.told import told_by

PENALTY = 20.0
DIGITS = 3
RESAMPLES = 2_000
FIGURES = ("first", "first 3", "first 10", "told", "leads", "half", "good")
UNMOVED: Mapping[str, Mapping[str, float]] = {"words": {"order": 1.0}, "vectors": {"order": 1.0}}


@dataclass(frozen=True, slots=True)
class Choice:
    """Holds what the searches found for a case, and of its first places of code the features and what each is worth."""

    asked: Asked
    rows: Numbers
    gains: Numbers


def choice_of(asked: Asked, state: str) -> Choice | None:
    """Return the places among which one is chosen to lead; None without any."""
    places = _of_code(in_answer_order(asked.facts))
    if not places:
        return None
    features = leading_place.features_of(asked.case.question, places)
    rows = np.array([[row[name] for name in FEATURES[state]] for row in features], float)
    return Choice(asked, rows, np.array([_gain(asked, place) for place in places]))


def _of_code(places: Sequence[Place]) -> list[Place]:
    return [place for place in places if place.fact.excerpt is not None and not place.is_prose][:MOST]


def _gain(asked: Asked, place: Place) -> float:
    return LEAD_GAIN * _leads(asked, place) + FURTHER_GAIN * is_needed(asked.case, shown_lines(place.fact))


def _leads(asked: Asked, place: Place) -> bool:
    lines = shown_lines(place.fact)
    return any(lead.meets(lines.file, lines.start_line, lines.end_line) for lead in asked.case.lead)


def fit(choices: Sequence[Choice], state: str) -> dict[str, float]:
    """Return the weights of the model of a state; questions for which nothing right was found teach nothing."""
    used = [choice for choice in choices if choice.gains.sum() > 0]
    rows = np.concatenate([choice.rows for choice in used])
    deviations = rows.std(axis=0) + 1e-9
    starts = np.cumsum([0, *(len(choice.gains) for choice in used[:-1])])
    targets = np.concatenate([choice.gains / choice.gains.sum() for choice in used])
    shares = np.full(len(used), 1 / len(used))
    weights = least_loss((rows - rows.mean(axis=0)) / deviations, targets, starts, shares, PENALTY / len(used))
    scaled = zip(FEATURES[state], weights / deviations, strict=True)
    return {name: round(float(weight), DIGITS) for name, weight in scaled}


def judge(choices: Sequence[Choice], state: str) -> None:
    """Print the figures of answers in the order of the search and in the fitted one, repositories held out."""
    repositories = sorted({choice.asked.case.repo for choice in choices})
    fitted = {repo: {state: fit(_without(choices, repo), state)} for repo in repositories}
    before = np.array([_figures(choice, UNMOVED) for choice in choices])
    after = np.array([_figures(choice, fitted[choice.asked.case.repo]) for choice in choices])
    print(f"{state}, {len(choices)} questions | before | after | difference, 95 % interval")
    for column, name in enumerate(FIGURES):
        low, high = _interval(choices, after[:, column] - before[:, column])
        shares = 100 * before[:, column].mean(), 100 * after[:, column].mean()
        print(f"{name} | {shares[0]:.1f} | {shares[1]:.1f} | {shares[1] - shares[0]:+.1f} ({low:+.1f} … {high:+.1f})")


def _without(choices: Sequence[Choice], repo: str) -> list[Choice]:
    return [choice for choice in choices if choice.asked.case.repo != repo]


def _figures(choice: Choice, weights: Mapping[str, Mapping[str, float]]) -> tuple[float, ...]:
    """Return whether places lead among the first, and what the whole answer tells."""
    asked = choice.asked
    order = in_leading_order(asked.case.question, in_answer_order(asked.facts), weights)
    right = [_leads(asked, place) for place in _of_code(order)]
    claims = answer(evidence_of(asked.question, asked.facts), weights)
    told = told_by(asked.case, compose(asked.question, [Finding(GOAL, tuple(claims))], {}, None))
    return (*(float(any(right[:most])) for most in (1, 3, 10)), told.share, told.leads, told.is_half, told.is_good)


def _interval(choices: Sequence[Choice], differences: Numbers) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference, per cent, with repositories drawn again."""
    by_repository: dict[str, list[float]] = {}
    for choice, off in zip(choices, differences, strict=True):
        by_repository.setdefault(choice.asked.case.repo, []).append(float(off))
    draw, means = random.Random(1), []
    for _ in range(RESAMPLES):
        drawn = [off for found in draw.choices(list(by_repository.values()), k=len(by_repository)) for off in found]
        means.append(100 * sum(drawn) / len(drawn))
    means.sort()
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


def _choices(asked: Collection[Asked], state: str) -> list[Choice]:
    return [choice for one in asked if (choice := choice_of(one, state)) is not None]


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    made: dict[str, dict[str, float]] = {}
    semantics = open_semantics(given.state / "vectors.sqlite", here=True)
    for state, meaning in (("words", None), ("vectors", semantics)):
        choices = _choices(asked_in_words(given.clones, given.state, meaning), state)
        if given.judge:
            judge(choices, state)
        else:
            made[state] = fit(choices, state)
    if made:
        leading_place.FILE.write_text(json.dumps({"weights": made}, indent=1) + "\n", encoding="utf-8")
        print(f"{leading_place.FILE}: {made}")


if __name__ == "__main__":
    main()
