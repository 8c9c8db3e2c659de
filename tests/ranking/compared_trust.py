"""Fits how far it is believed that something is there, where pieces were compared by meaning and the first ones read.

    python -m tests.ranking.compared_trust --clones FOLDER --state FOLDER [--judge]

What is there: forty questions of held_out.jsonl about each clone, and those of there_or_not.jsonl; what is not: the
others of there_or_not.jsonl, written by the same people in the same style, and those of absent_held_out.jsonl.
`--state` is a state folder of Jeeves in which `jeeves index --repo CLONE --wait-vectors` has indexed the clones.
Without `--judge` the weights are written into the package; with it, each repository is judged by weights that never
saw it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actors.capabilities.code_analysis.answers import confidence
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from runtime.codebase.codebase import Codebase
from runtime.codebase.semantics.similarity import open_semantics
from tests.ranking.asked import ask
from tests.ranking.cases import HELD_OUT, Case, read_cases
from tests.ranking.confidence import SHRINKAGE, auc
from tests.ranking.logistic import Numbers, logistic
from tests.ranking.reading_trust import ABSENT

CASES = Path(__file__).parent / "there_or_not.jsonl"
# The share of questions that are taken to be about what is not there.
ABSENT_SHARE = 0.42
QUESTIONS_OF_EACH, SEED = 40, 1
NAME = f"there{confidence.WHERE_COMPARED}"


@dataclass(frozen=True, slots=True)
class Believed:
    """Holds the features of a question, and whether its subject is there."""

    case: Case
    features: dict[str, float]

    @property
    def is_there(self) -> bool:
        """True if the repository has it."""
        return bool(self.case.lead)


def believed(clones: Path, state: Path) -> Iterator[Believed]:
    """Yield the questions about the clones that are there, with their features; those without readings are left out."""
    semantics = open_semantics(state / "index" / "vectors.sqlite", here=True)
    for name, cases in _cases().items():
        found = sorted((state / "index").glob(f"{name}-*/index.sqlite"))
        if not (clones / name).is_dir() or not found:
            print(f"no clone {name} with an index: left out", flush=True)
            continue
        codebase = Codebase.open(clones / name, found[0], semantics=semantics)
        for case in cases:
            asked = ask(case, codebase)
            places = in_answer_order(asked.facts)
            features = confidence.all_features(case.question, places, asked.facts, asked.absence, codebase.meaning)
            if confidence.is_compared(features):
                yield Believed(case, features)
        codebase.close()


def _cases() -> dict[str, list[Case]]:
    """Return the questions about each clone, by the name of its folder."""
    draw = random.Random(SEED)
    others = [*read_cases(ABSENT, unanswerable=True), *read_cases(CASES, unanswerable=True)]
    held_out = read_cases(HELD_OUT)
    cases: dict[str, list[Case]] = {}
    for name in sorted({case.folder for case in others}):
        own = [case for case in held_out if case.folder == name]
        drawn = draw.sample(own, min(len(own), QUESTIONS_OF_EACH))
        cases[name] = [*drawn, *(case for case in others if case.folder == name)]
    return cases


def fit(found: Sequence[Believed]) -> dict[str, float]:
    """Return the weights."""
    there = _there(found)
    rates = np.where(there, 1.0, ABSENT_SHARE / (1 - ABSENT_SHARE) * there.sum() / max(1.0, (1 - there).sum()))
    return logistic(_columns(found), there, rates, SHRINKAGE["there"])


def _there(found: Sequence[Believed]) -> Numbers:
    return np.array([one.is_there for one in found], float)


def _columns(found: Sequence[Believed]) -> dict[str, Numbers]:
    names = confidence.THERE_WHERE_COMPARED
    return {name: np.array([one.features.get(name, 0.0) for one in found], float) for name in names}


def judge(found: Sequence[Believed]) -> None:
    """Print how much of what is there is refused, and of what is not, by weights that never saw the repository."""
    weights = dict(confidence.weights_of_models())
    present = np.array([confidence.trust_in(one.features).presence for one in found])
    unseen = np.zeros(len(found))
    for repository in sorted({one.case.repo for one in found}):
        others = fit([one for one in found if one.case.repo != repository])
        for place, one in enumerate(found):
            if one.case.repo == repository:
                unseen[place] = confidence.trust_in(one.features, {**weights, NAME: others}).presence
    for name, by in (("shipped", present), ("unseen", unseen)):
        for group in ("held out", "there or not"):
            own = np.array([one.case.id.startswith("t-") == (group == "there or not") for one in found])
            there = np.array([one.is_there for one in found])
            yes, no = by[own & there], by[own & ~there]
            refused, told = (np.mean(chances < confidence.ENOUGH) for chances in (yes, no))
            surely = [np.mean(chances < confidence.SURELY_NOT) for chances in (yes, no)]
            print(f"{name} | {group} | {len(yes)} there, refused {refused:.3f}, surely {surely[0]:.3f}", end=" | ")
            print(f"{len(no)} not, told {told:.3f}, surely {surely[1]:.3f} | area {auc(yes, no)}")


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    found = list(believed(given.clones, given.state))
    if given.judge:
        judge(found)
        return
    kept = json.loads(confidence.FILE.read_text(encoding="utf-8"))
    kept["weights"][NAME] = fit(found)
    kept["repositories"][confidence.WHERE_COMPARED.strip("_")] = sorted({one.case.repo for one in found})
    confidence.FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{confidence.FILE}: {len(found)} questions")


if __name__ == "__main__":
    main()
