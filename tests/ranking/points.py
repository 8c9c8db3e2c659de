"""Fits which further places of an answer are worth telling, and judges that on repositories held out.

    python -m tests.ranking.points --clones FOLDER --state FOLDER [--judge]

A place is right if the lines that a claim cites of it meet a place that its case names. Both models are fitted, by
words alone and with the vectors that are kept in `--state`; questions that cannot be compared by meaning count for the
former only. Without `--judge` the weights are written into the package.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from actors.capabilities.code_analysis.answers.places.further_places import MAX_POINTS
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking import worth_telling
from actors.capabilities.code_analysis.ranking.answer_order import Place, in_answer_order
from actors.capabilities.code_analysis.ranking.leading_place import in_leading_order
from runtime.codebase.citation import Citation
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from tests.ranking.asked import Asked, ask
from tests.ranking.cases import Case, read_cases
from tests.ranking.examples import open_clone
from tests.ranking.logistic import logistic

CASES = Path(__file__).parent / "cases.jsonl"
SHRINKAGE = 1.0
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Judged:
    """Holds a place that may be told behind the first: its features, and whether its case needs it."""

    repo: str
    features: dict[str, float]
    is_right: bool


def is_needed(case: Case, citation: Citation) -> bool:
    """Return whether a citation meets a place that leads, or one that shows something to be told."""
    places = (*case.lead, *(place for nugget in case.nuggets for place in nugget.any_place))
    return any(place.meets(citation.file, citation.start_line, citation.end_line) for place in places)


def judged(asked: Asked) -> list[Judged]:
    """Return the places of code behind the first one."""
    told = told_places(asked)
    rows = list(zip(told, worth_telling.features_of(told), strict=True))
    behind = [(place.fact, features) for place, features in rows if not place.is_prose][1:]
    return [Judged(asked.case.repo, features, is_needed(asked.case, shown_lines(fact))) for fact, features in behind]


def told_places(asked: Asked) -> list[Place]:
    """Return the places of which lines were chosen, in the order in which an answer tells them."""
    ordered = in_leading_order(asked.case.question, in_answer_order(asked.facts))
    return [place for place in ordered if place.fact.excerpt is not None]


def shown_lines(fact: CodeFact) -> Citation:
    """Return the chosen lines of a place, which a claim about it cites."""
    assert fact.excerpt is not None
    return msgspec.structs.replace(
        fact.citation, start_line=fact.excerpt.start_line, end_line=fact.excerpt.end_line, quote=""
    )


def fit(rows: Sequence[Judged], state: str) -> dict[str, float]:
    """Return the weights of the model of a state."""
    names = worth_telling.FEATURES[state]
    columns = {name: np.array([row.features[name] for row in rows], float) for name in names}
    wanted = np.array([row.is_right for row in rows], float)
    return logistic(columns, wanted, np.ones(len(rows)), SHRINKAGE)


def judge(asked: Sequence[Asked], state: str) -> None:
    """Print how many further places are told and how many are right, by weights that never saw the repository."""
    tables: dict[str, dict[str, list[float]]] = {"the first ones": {}, "worth telling": {}}
    for repo in sorted({one.case.repo for one in asked}):
        weights = {state: fit([row for one in asked if one.case.repo != repo for row in judged(one)], state)}
        for one in (one for one in asked if one.case.repo == repo):
            told = told_places(one)
            worth = worth_telling.worth_of(told, weights)
            behind = [(place, share) for place, share in zip(told, worth, strict=True) if not place.is_prose][1:]
            kept = [place for place, share in behind if share >= worth_telling.ENOUGH[state]]
            for name, places in (("the first ones", [place for place, _ in behind]), ("worth telling", kept)):
                found = tables[name].setdefault(repo, [0.0, 0.0])
                found[0] += len(places[:MAX_POINTS])
                found[1] += sum(is_needed(one.case, shown_lines(place.fact)) for place in places[:MAX_POINTS])
    for name, by_repo in tables.items():
        shown, right = (sum(found[n] for found in by_repo.values()) for n in (0, 1))
        low, high = _interval(list(by_repo.values()))
        share = 100 * right / max(1.0, shown)
        print(
            f"{state}, {name}: {shown / len(asked):.2f} an answer, {right:.0f} of {shown:.0f} right, "
            f"{share:.1f} % ({low:.1f} to {high:.1f})"
        )


def _interval(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    draw, shares = random.Random(1), []
    for _ in range(RESAMPLES):
        drawn = draw.choices(rows, k=len(rows))
        shares.append(100 * sum(row[1] for row in drawn) / max(1.0, sum(row[0] for row in drawn)))
    shares.sort()
    return shares[int(0.025 * RESAMPLES)], shares[int(0.975 * RESAMPLES)]


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
        asked = asked_in_words(given.clones, given.state, meaning)
        if given.judge:
            judge(asked, state)
        else:
            made[state] = fit([row for one in asked for row in judged(one)], state)
    if made:
        worth_telling.FILE.write_text(json.dumps({"weights": made}, indent=1) + "\n", encoding="utf-8")
        print(f"{worth_telling.FILE}: {made}")


def asked_in_words(clones: Path, state: Path, semantics: Semantics | None) -> list[Asked]:
    """Ask the questions in words of all clones; with semantics, of those that could be compared by meaning."""
    cases = read_cases(CASES)
    found: list[Asked] = []
    for name in sorted({case.folder for case in cases if (clones / case.folder).is_dir()}):
        codebase = open_clone(clones, state, name)
        codebase.semantics = semantics
        asked = [ask(case, codebase) for case in cases if case.folder == name]
        by = "words" if semantics is None else "vectors"
        in_words = [one for one in asked if "answer" in one.question.aspects]
        found += [one for one in in_words if worth_telling.state_of(told_places(one)) == by]
        codebase.close()
    return found


if __name__ == "__main__":
    main()
