"""Fits how far answers are trusted whose places were read together with the question.

    python -m tests.ranking.reading_trust --clones FOLDER --state FOLDER [--judge]

What is there: the questions of held_out.jsonl, whose repositories did not train what reads; what is not: those of
absent_held_out.jsonl about the same ones. Each is asked as the first about its repository: vectors are made of what is
likely by words, and all others that `--state` has are left out. Without `--judge` the weights are written into the
package; with it, each eighth of the repositories is judged by weights that never saw them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from actors.capabilities.code_analysis.agents.synthesizer import write_claims
from actors.capabilities.code_analysis.answers import confidence
from actors.capabilities.code_analysis.answers.composition import compose
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from runtime.codebase.codebase import Codebase
from runtime.codebase.semantics.similarity import open_semantics
from tests.ranking.asked import GOAL, ask
from tests.ranking.cases import HELD_OUT, Case, Nugget, read_cases
from tests.ranking.confidence import SHRINKAGE, auc
from tests.ranking.examples import open_clone
from tests.ranking.logistic import Numbers, logistic
from tests.ranking.told import told_by

# The share of questions that are taken to be about what is not there: at most one in nine with an answer is refused.
ABSENT_SHARE = 0.35
QUESTIONS_OF_EACH = 12
PATIENCE_S = 600.0
FOLDS = 8
ABSENT = Path(__file__).parent / "absent_held_out.jsonl"


@dataclass(frozen=True, slots=True)
class Read:
    """Holds the features of a question, whether its subject is there, and whether its answer is good."""

    case: Case
    features: dict[str, float]
    is_good: bool


def read_all(cases: Sequence[Case], clones: Path, state: Path) -> Iterator[Read]:
    """Yield the questions in words about the clones that are there whose places were read."""
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out", flush=True)
            continue
        codebase = open_clone(clones, state, name)
        for case in (case for case in cases if case.folder == name):
            one = _read(case, codebase)
            if confidence.READING in one.features:
                yield one
        codebase.close()


def _read(case: Case, codebase: Codebase) -> Read:
    with tempfile.TemporaryDirectory() as folder:
        codebase.semantics = open_semantics(Path(folder) / "vectors.sqlite", here=True)
        codebase.embed_likely(case.question, PATIENCE_S)
        asked = ask(case, codebase)
    claims = write_claims(evidence_of(asked.question, asked.facts), [GOAL.id])[GOAL.id]
    text = compose(asked.question, [Finding(GOAL, tuple(claims))], {}, None)
    features = confidence.all_features(
        case.question, in_answer_order(asked.facts), asked.facts, asked.absence, codebase.meaning
    )
    return Read(case, features, told_by(case, text).is_good)


def fit(read: Sequence[Read]) -> dict[str, dict[str, float]]:
    """Return the weights of both models."""
    there = np.array([bool(one.case.lead) for one in read], float)
    rates = np.where(there, 1.0, ABSENT_SHARE / (1 - ABSENT_SHARE) * there.sum() / max(1.0, (1 - there).sum()))
    answers = [one for one in read if one.case.lead]
    good = np.array([one.is_good for one in answers], float)
    by = confidence.WITH_READINGS
    names = confidence.THERE_BY_READING, confidence.GOOD_BY_READING
    return {
        f"there{by}": logistic(_columns(read, names[0]), there, rates, SHRINKAGE["there"]),
        f"good{by}": logistic(_columns(answers, names[1]), good, np.ones(len(answers)), SHRINKAGE["good"]),
    }


def _columns(read: Sequence[Read], names: Sequence[str]) -> dict[str, Numbers]:
    return {name: np.array([one.features.get(name, 0.0) for one in read], float) for name in names}


def judge(read: Sequence[Read]) -> None:
    """Print how many questions are refused, of each form, and how well confidence tells good answers from others."""
    repositories = sorted({one.case.repo for one in read})
    fold = np.array([repositories.index(one.case.repo) % FOLDS for one in read])
    trust: list[confidence.Trust] = [confidence.NOTHING] * len(read)
    for number in range(FOLDS):
        others = [one for one, at in zip(read, fold, strict=True) if at != number]
        weights = {**confidence.weights_of_models(), **fit(others)}
        for place in map(int, np.flatnonzero(fold == number)):
            trust[place] = confidence.trust_in(read[place].features, weights)
    for form in sorted({one.case.form for one in read}):
        own = [not told.is_found for one, told in zip(read, trust, strict=True) if one.case.form == form]
        print(f"{form or 'with an answer'}: {len(own)}, called not found {100 * float(np.mean(own)):.1f} %")
    there = np.array([bool(one.case.lead) for one in read])
    good = np.array([one.is_good for one in read])
    presence, told = (np.array([getattr(one, name) for one in trust]) for name in ("presence", "confidence"))
    print("there, area under the curve:", auc(presence[there], presence[~there]))
    print("good, area under the curve:", auc(told[there & good], told[there & ~good]))
    sure = there & (told >= 0.5)
    print(f"confidence at least 0.5: {sure.sum()} of {there.sum()}, {good[sure].sum()} of them good")


def _with_nuggets(case: Case) -> Case:
    """Return a question whose places are each something to be told."""
    return msgspec.structs.replace(case, nuggets=tuple(Nugget((place,)) for place in case.lead))


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    held_out = [_with_nuggets(case) for case in read_cases(HELD_OUT)]
    cases = read_cases(ABSENT, unanswerable=True)
    for folder in sorted({case.folder for case in held_out}):
        cases += [case for case in held_out if case.folder == folder][:QUESTIONS_OF_EACH]
    read = list(read_all(cases, given.clones, given.state))
    if given.judge:
        judge(read)
        return
    kept = json.loads(confidence.FILE.read_text(encoding="utf-8"))
    kept["weights"] |= fit(read)
    kept["repositories"][confidence.WITH_READINGS.strip("_")] = sorted({one.case.repo for one in read})
    confidence.FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{confidence.FILE}: {len(read)} questions")


if __name__ == "__main__":
    main()
