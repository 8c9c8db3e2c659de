"""Judges whole answers by rules on questions that have trained nothing, scored as development cases are.

    python -m tests.ranking.judged --clones FOLDER --state FOLDER [--cases FILE] [--vectors]

`--clones` has one clone for each repository, OWNER+NAME, at the commit that its questions name; what is missing is
left out and named. By words alone unless `--vectors` takes those that are kept in `--state`. Whoever mends answers by
looking at these questions has spent them: then they train, and others judge.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from actors.capabilities.code_analysis.answers.by_aspect import answer
from actors.capabilities.code_analysis.answers.composition import compose
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.answers.findings import Finding
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from tests.ranking.asked import GOAL, ask
from tests.ranking.cases import Case, read_cases
from tests.ranking.examples import open_clone
from tests.ranking.told import Told, told_by

CASES = Path(__file__).parent / "judging.jsonl"


class Scored(NamedTuple):
    """Holds a question in words with what its answer tells."""

    case: Case
    told: Told


def scored(cases: Sequence[Case], clones: Path, state: Path, semantics: Semantics | None) -> list[Scored]:
    """Answer the questions in words about the clones that are there, by the searches of a first round."""
    found: list[Scored] = []
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out", flush=True)
            continue
        codebase = open_clone(clones, state, name)
        codebase.semantics = semantics
        for case in (case for case in cases if case.folder == name):
            asked = ask(case, codebase)
            if "answer" in asked.question.aspects:
                claims = answer(evidence_of(asked.question, asked.facts))
                text = compose(asked.question, [Finding(GOAL, tuple(claims))], {}, None)
                found.append(Scored(case, told_by(case, text)))
        codebase.close()
    return found


def figures(answers: Sequence[Scored]) -> str:
    """Return the figures of answers as cells of a table, in per cent."""
    columns = (
        [one.told.is_good for one in answers],
        [one.told.is_half for one in answers],
        [one.told.share for one in answers],
        [one.told.leads for one in answers],
    )
    return " | ".join([str(len(answers)), *(f"{100 * mean(map(float, column)):.1f}" for column in columns)])


def main() -> None:
    """Print a table with a row for each repository, for each kind of question, and for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--vectors", action="store_true")
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    semantics = open_semantics(given.state / "vectors.sqlite", here=True) if given.vectors else None
    answers = scored(read_cases(given.cases), given.clones, given.state, semantics)
    print("| | questions | good | good or half | told or cited | first mark right |\n|---|---|---|---|---|---|")
    groups = {one.case.repo for one in answers}, {one.case.kind for one in answers}
    for name in (*sorted(groups[0]), *sorted(groups[1])):
        print(f"| {name} | {figures([one for one in answers if name in (one.case.repo, one.case.kind)])} |")
    if answers:
        print(f"| all | {figures(answers)} |")


if __name__ == "__main__":
    main()
