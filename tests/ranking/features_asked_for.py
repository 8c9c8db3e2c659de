"""Fits how probably a repository has what a question asks for by yes or no: «Does it support proxies?».

    python -m tests.ranking.features_asked_for --clones FOLDER --state FOLDER [--judge]

The questions of features_asked_for.jsonl name in everyday or in the field's own words what their repository has (kind
`there`) or lacks (`absent`). Each is asked as the first about its repository: vectors are made of what is likely by
words. The weights are fitted on those of the form `making`; the repositories of the others take no part. With
`--judge` nothing is written, and both are counted: those of `making` by weights that never saw their repository.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actors.capabilities.code_analysis.answers import confidence
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from runtime.codebase.codebase import Codebase
from runtime.codebase.semantics.similarity import open_semantics
from tests.ranking.asked import ask
from tests.ranking.cases import Case, read_cases
from tests.ranking.confidence import SHRINKAGE
from tests.ranking.examples import open_clone
from tests.ranking.logistic import logistic
from tests.ranking.reading_trust import ABSENT_SHARE, PATIENCE_S

FILE = Path(__file__).parent / "features_asked_for.jsonl"
MAKING = "making"


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds the features of the answer to a question whether there is something."""

    case: Case
    features: dict[str, float]

    @property
    def is_there(self) -> bool:
        """True if the repository has what is asked for."""
        return self.case.kind == "there"

    @property
    def is_weighed(self) -> bool:
        """True if presence goes by the model that is fitted here."""
        names = self.features.keys()
        return {confidence.LEAD_SPEAKS, confidence.READING} <= names and confidence.NEAR not in names


def ask_all(clones: Path, state: Path) -> Iterator[Asked]:
    """Yield the questions about the clones that are there."""
    cases = read_cases(FILE, unanswerable=True)
    for folder in sorted({case.folder for case in cases if (clones / case.folder).is_dir()}):
        codebase = open_clone(clones, state, folder)
        for case in (case for case in cases if case.folder == folder):
            yield _asked(case, codebase)
        codebase.close()


def _asked(case: Case, codebase: Codebase) -> Asked:
    with tempfile.TemporaryDirectory() as folder:
        codebase.semantics = open_semantics(Path(folder) / "vectors.sqlite", here=True)
        codebase.embed_likely(case.question, PATIENCE_S)
        asked = ask(case, codebase)
    places = in_answer_order(asked.facts)
    return Asked(case, confidence.all_features(case.question, places, asked.facts, asked.absence, codebase.meaning))


def fit(asked: Sequence[Asked]) -> dict[str, float]:
    """Return the weights of the model, from the questions that it weighs."""
    asked = [one for one in asked if one.is_weighed]
    there = np.array([one.is_there for one in asked], float)
    rates = np.where(there, 1.0, ABSENT_SHARE / (1 - ABSENT_SHARE) * there.sum() / max(1.0, (1 - there).sum()))
    columns = {name: np.array([one.features[name] for one in asked], float) for name in confidence.THERE_OF_FEATURE}
    return logistic(columns, there, rates, SHRINKAGE["there"])


def judge(asked: Sequence[Asked]) -> None:
    """Print how many are called not found though there and found though absent, without the model and with it."""
    made = [one for one in asked if one.case.form == MAKING]
    of_all = fit(made)
    print("| | questions | not found though there: before, now | found though absent: before, now |\n|---|--:|--:|--:|")
    for form in sorted({one.case.form for one in asked}):
        told: dict[bool, list[tuple[bool, bool]]] = {True: [], False: []}
        for one in (one for one in asked if one.case.form == form):
            others = [other for other in made if other.case.repo != one.case.repo]
            weights = fit(others) if form == MAKING else of_all
            told[one.is_there].append((_found_before(one), _found_now(one, weights)))
        refused = [len(told[True]) - sum(column) for column in zip(*told[True], strict=True)]
        answered = [sum(column) for column in zip(*told[False], strict=True)]
        of_each = f"{len(told[True])} + {len(told[False])}"
        print(f"| {form} | {of_each} | {refused[0]}, {refused[1]} | {answered[0]}, {answered[1]} |")


def _found_before(one: Asked) -> bool:
    features = {name: value for name, value in one.features.items() if name != confidence.LEAD_SPEAKS}
    return confidence.trust_in(features).is_found


def _found_now(one: Asked, weights: dict[str, float]) -> bool:
    model = f"there{confidence.OF_FEATURE}"
    return confidence.trust_in(one.features, {**confidence.weights_of_models(), model: weights}).is_found


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    asked = list(ask_all(given.clones, given.state))
    if given.judge:
        judge(asked)
        return
    kept = json.loads(confidence.FILE.read_text(encoding="utf-8"))
    made = [one for one in asked if one.case.form == MAKING]
    kept["weights"][f"there{confidence.OF_FEATURE}"] = fit(made)
    kept["repositories"][confidence.OF_FEATURE.strip("_")] = sorted({one.case.repo for one in made})
    confidence.FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{confidence.FILE}: {len(made)} questions")


if __name__ == "__main__":
    main()
