"""Fits how far answers in words are trusted, and judges it on repositories held out.

    python -m tests.ranking.confidence --clones FOLDER --state FOLDER [--judge]

What is there: the questions of cases.jsonl and their sentences. What is not: those of absent.jsonl, and questions about
other repositories (absent_pairs.jsonl) with their sentences. Answers are made by the rules, by words alone and with the
vectors that are kept in `--state`, which may lack repositories. Without `--judge` the weights are written into the
package; with it, each repository is judged by weights that never saw it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.capabilities.code_analysis.agents.synthesizer import write_claims
from actors.capabilities.code_analysis.answers import confidence
from actors.capabilities.code_analysis.answers.composition import compose
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import query_terms
from runtime.codebase.search.presence.absence import MAX_QUESTION_CHARS, Absence
from runtime.codebase.search.presence.familiarity import familiarity
from runtime.codebase.search.question_frames import without_frame
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from runtime.codebase.tool_parts.absent_words import absent_words
from tests.ranking.absent_pairs import read_pairs
from tests.ranking.asked import GOAL, ask
from tests.ranking.cases import Case, read_cases
from tests.ranking.examples import open_clone
from tests.ranking.logistic import Numbers, logistic
from tests.ranking.told import Told, told_by
from tests.ranking.usual_words import Shares, shares_in, usual

CASES, ABSENT = Path(__file__).parent / "cases.jsonl", Path(__file__).parent / "absent.jsonl"
# The share of questions that are taken to be about what is not there, without and with vectors: as many as leave at
# least 85 % of the questions with an answer at `ENOUGH` or above.
ABSENT_SHARE = {"": 0.38, confidence.WITH_VECTORS: 0.42}
# What a question written by hand about what is not there counts, of one that is put to another repository.
BY_HAND = 12.0
# How strongly weights are drawn to nothing: more where little tells, as of what an answer is worth.
SHRINKAGE = {"there": 1.0, "good": 4.0}
LEAST_TERMS = 4
# With vectors, repositories with fewer of them are left out.
LEAST_WITH_VECTORS = 0.95
BINS = 10
LEAST_SURE = 0.5

Weights = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds the features of a question; what its answer tells, unless only its subject was looked up.

    `form`: how it was come by; `whole`, or `sentence` for one of its sentences; for what is not there as in the files.
    """

    repo: str
    is_there: bool
    form: str
    features: Mapping[str, float]
    told: Told | None = None

    @property
    def is_sentence(self) -> bool:
        """True for a sentence of a question."""
        return self.form.startswith("sentence")


def fit(asked: Sequence[Asked], by: str) -> Weights:
    """Return the weights of both models, with vectors (`by` is `WITH_VECTORS`) or without."""
    names = (*confidence.THERE, confidence.NEAR) if by else confidence.THERE
    there = np.array([one.is_there for one in asked], float)
    rates = np.array(
        [1.0 if one.is_there or one.form in {"near", "far"} or one.is_sentence else BY_HAND for one in asked]
    )
    share = ABSENT_SHARE[by]
    rates *= np.where(there, 1.0, share / (1 - share) * (rates * there).sum() / max(1.0, (rates * (1 - there)).sum()))
    answers = [one for one in asked if one.told is not None]
    good = np.array([one.told is not None and one.told.is_good for one in answers], float)
    return {
        f"there{by}": logistic(_rows(asked, names), there, rates, SHRINKAGE["there"]),
        f"good{by}": logistic(_rows(answers, confidence.GOOD), good, np.ones(len(answers)), SHRINKAGE["good"]),
    }


def _rows(asked: Sequence[Asked], names: Sequence[str]) -> dict[str, Numbers]:
    return {name: np.array([one.features.get(name, 0.0) for one in asked], float) for name in names}


def held_out(asked: Sequence[Asked], by: str) -> list[confidence.Trust]:
    """Return the trust in each answer by weights that were fitted without its repository."""
    repositories = {one.repo for one in asked}
    fitted = {repo: fit([one for one in asked if one.repo != repo], by) for repo in repositories}
    return [confidence.trust_in(one.features, fitted[one.repo]) for one in asked]


def judge(asked: Sequence[Asked], by: str) -> None:
    """Print how well what is there is told from what is not, and how often answers of each confidence are good."""
    trust = held_out(asked, by)
    presence, told = (np.array([getattr(one, name) for one in trust]) for name in ("presence", "confidence"))
    there = np.array([one.is_there for one in asked])
    answers = np.array([one.told is not None for one in asked])
    print(f"\nheld out{by.replace('_', ' ')}: {len({one.repo for one in asked})} repositories, {answers.sum()} answers")
    print("| about what is not there | questions | below 0.5 | area under the curve |\n|---|---|---|---|")
    for form in sorted({one.form for one in asked if not one.is_there}):
        own = np.array([not one.is_there and one.form == form for one in asked])
        sentences = np.array([one.is_sentence for one in asked])
        against = there & (sentences if form.startswith("sentence") else answers)
        low = 100 * (presence[own] < confidence.ENOUGH).mean()
        print(f"| {form} | {own.sum()} | {low:.0f} % | {auc(presence[against], presence[own])} |")
    print(f"answerable below 0.5: {100 * (presence[answers] < confidence.ENOUGH).mean():.1f} %")
    own = answers | ~np.array([one.is_sentence for one in asked])
    _print_bins("presence", presence, {"there": there}, own, np.where(there, 1.0, _rate(there[own], by)))
    of = {name: np.array([getattr(one.told, f"is_{name}", False) for one in asked]) for name in ("good", "half")}
    _print_bins("confidence", told, of, answers, np.ones(len(asked)))
    print("good, area under the curve:", auc(told[answers & of["good"]], told[answers & ~of["good"]]))
    sure = answers & (told >= LEAST_SURE)
    print(f"confidence at least {LEAST_SURE}: {sure.sum()} of {answers.sum()}, {of['good'][sure].sum()} of them good")


def _rate(there: NDArray[np.bool_], by: str) -> float:
    """Return what a question about what is not there counts, so that all have the share that they are taken to have."""
    return float(ABSENT_SHARE[by] / (1 - ABSENT_SHARE[by]) * there.sum() / max(1, (~there).sum()))


def _print_bins(
    name: str, told: Numbers, of: Mapping[str, NDArray[np.bool_]], own: NDArray[np.bool_], rates: Numbers
) -> None:
    print(f"| {name} | questions | mean | {' | '.join(of)} |\n|---|---|---|{'---|' * len(of)}")
    for low, high in itertools.pairwise(np.linspace(0, 1, BINS + 1)):
        within = own & (told >= low) & ((told < high) | (high == 1))
        if within.any():
            shares = " | ".join(
                f"{100 * np.average(each[within], weights=rates[within]):.0f} %" for each in of.values()
            )
            print(f"| {low:.1f} to {high:.1f} | {within.sum()} | {told[within].mean():.2f} | {shares} |")


def auc(ours: Numbers, others: Numbers) -> str:
    if not ours.size or not others.size:
        return "none"
    return f"{(ours[:, None] > others).mean() + (ours[:, None] == others).mean() / 2:.2f}"


def asked_of(codebase: Codebase, cases: Sequence[Case], shares: Shares) -> Iterator[Asked]:
    """Ask one repository all questions; the usual shares of words are those without it."""
    usual_elsewhere = usual(shares, cases[0].folder)
    for case in cases:
        there = bool(case.lead)
        form = "whole" if there else case.form or "by others"
        if there:
            features, told = _answered(case, codebase, usual_elsewhere)
            yield Asked(case.repo, there, form, features, told)
        else:
            yield Asked(case.repo, there, form, _of_subject(case.question, codebase, usual_elsewhere))
        if there or form in {"near", "far"}:
            for sentence in sentences_of(case.question):
                features = _of_subject(sentence, codebase, usual_elsewhere)
                yield Asked(case.repo, there, f"sentence {form}", features)


def sentences_of(question: str) -> list[str]:
    """Return the sentences of a longer question that have enough informative words to stand alone."""
    sentences = re.split(r"(?<=[.!?])\s+", question.strip())
    return [one for one in sentences if len(sentences) > 1 and len(query_terms(one).counts) >= LEAST_TERMS]


def _answered(case: Case, codebase: Codebase, shares: Mapping[str, float]) -> tuple[dict[str, float], Told]:
    """Answer a question in words from the places that the searches of the first round find."""
    asked = ask(case, codebase)
    claims = write_claims(evidence_of(asked.question, asked.facts), [GOAL.id])[GOAL.id]
    text = compose(asked.question, [Finding(GOAL, tuple(claims))], {}, None)
    absence = msgspec.structs.replace(asked.absence, familiar=_familiar(case.question, codebase, shares))
    features = confidence.all_features(
        case.question, in_answer_order(asked.facts), asked.facts, absence, codebase.meaning
    )
    of_readings = (confidence.READING, confidence.READING_AHEAD)
    # What readings tell has weights of its own (reading_trust.py), fitted on repositories that did not train them.
    by_others = {name: value for name, value in features.items() if name not in of_readings}
    return by_others, told_by(case, text)


def _of_subject(question: str, codebase: Codebase, shares: Mapping[str, float]) -> dict[str, float]:
    absence = msgspec.convert(absent_words(codebase, without_frame(question))[0], Absence)
    absence = msgspec.structs.replace(absence, familiar=_familiar(question, codebase, shares))
    features = confidence.features_of_subject(absence)
    return features | confidence.features_of_meaning(absence, codebase.meaning)


def _familiar(question: str, codebase: Codebase, shares: Mapping[str, float]) -> float:
    return familiarity(codebase.index, without_frame(question)[:MAX_QUESTION_CHARS], shares)


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    vectors = open_semantics(given.state / "vectors.sqlite", here=True)
    made: Weights = {}
    repositories: dict[str, list[str]] = {}
    for by, semantics in (("", None), (confidence.WITH_VECTORS, vectors)):
        asked = _asked(given.clones, given.state, semantics)
        if given.judge:
            judge(asked, by)
            continue
        made |= fit(asked, by)
        repositories[by.strip("_") or "words"] = sorted({one.repo for one in asked})
    if made:
        # What readings and the size of a repository tell is fitted elsewhere, and stays.
        kept = json.loads(confidence.FILE.read_text(encoding="utf-8"))
        kept["weights"] |= made
        kept["repositories"] |= repositories
        confidence.FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(f"{confidence.FILE}: {made}")


def _asked(clones: Path, state: Path, semantics: Semantics | None) -> list[Asked]:
    """Ask about all clones that are there; with vectors, about those that have enough of them."""
    answerable = {case.id: case for case in read_cases(CASES)}
    cases = [*read_cases(CASES, unanswerable=True), *read_cases(ABSENT, unanswerable=True), *read_pairs(answerable)]
    shares = shares_in(clones, state, {term for case in cases for term in query_terms(case.question).counts})
    found: list[Asked] = []
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out")
            continue
        codebase = open_clone(clones, state, name)
        codebase.semantics = semantics
        if semantics is None or (codebase.meaning or 0.0) >= LEAST_WITH_VECTORS:
            found += asked_of(codebase, [case for case in cases if case.folder == name], shares)
        codebase.close()
    return found


if __name__ == "__main__":
    main()
