"""Fits what the shape of a piece of code adds to its score, and judges that on repositories held out.

    python -m tests.ranking.shape --clones FOLDER --state FOLDER [--judge]

The questions in two wordings teach it, each time with the sums of the ranker by words for the first forty pieces: what
it adds is what those lack. Without `--judge` the weights are written into the package; with it, the shares of questions
of `held_out.jsonl` are printed whose first 1, 3, 8 and 14 pieces have a right one, with and without.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_place
from runtime.codebase.search.features import features
from runtime.codebase.search.gathering import gather
from runtime.codebase.search.piece_shape import FILE, SHAPE, features_of, fitted_weights
from runtime.codebase.search.prose.report import lines_about_code
from runtime.codebase.search.ranker import ranker
from runtime.codebase.search.shape_gains import MAX_SHAPED
from tests.ranking.cases import HELD_OUT, QUESTIONS, Case, both_wordings
from tests.ranking.examples import Numbers, open_clone
from tests.ranking.listwise import PENALTY, least_loss

# At full strength as many first pieces are right, and fewer of the first ones for questions that ask for a default.
STRENGTH = 0.7
DIGITS = 4
QUESTIONS_OF_EACH = 32


@dataclass(frozen=True, slots=True)
class Shaped:
    """Holds the first pieces of source code for a question: their sums, their shapes, and which are right."""

    repo: str
    sums: Numbers
    rows: Numbers
    right: Numbers


def shaped(cases: Sequence[Case], clones: Path, state: Path) -> Iterator[Shaped]:
    """Yield the examples of the clones that are there, of each for its first questions."""
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out", flush=True)
            continue
        codebase = open_clone(clones, state, name)
        own = [case for case in cases if case.folder == name][:QUESTIONS_OF_EACH]
        yield from (one for case in own if (one := _shaped(case, codebase)) is not None)
        codebase.close()


def _shaped(case: Case, codebase: Codebase) -> Shaped | None:
    gathered = gather(codebase.index, lines_about_code(case.question, codebase.index.defined_names))
    if gathered is None:
        return None
    sums = ranker("words").sums(features(gathered.asked, gathered.candidates))
    hits = [candidate.words.hit for candidate in gathered.candidates]
    order = sorted(range(len(hits)), key=lambda place: (-sums[place], hits[place].file, hits[place].start_line))
    kept, rows = [], []
    for place in order[:MAX_SHAPED]:
        hit = hits[place]
        source = codebase.try_source(hit.file) if kind_of_place(hit.file, hit.symbol) == "source" else None
        if source is not None:
            kept.append(place)
            rows.append(features_of(source.lines[hit.start_line - 1 : hit.end_line], hit.start_line))
    if len(kept) < 2:
        return None
    right = [
        any(lead.meets(hits[at].file, hits[at].start_line, hits[at].end_line) for lead in case.lead) for at in kept
    ]
    return Shaped(case.repo, np.array([sums[at] for at in kept]), np.array(rows), np.array(right, float))


def fit(examples: Sequence[Shaped]) -> dict[str, float]:
    """Return the weight of each feature, at the strength that is shipped."""
    used = [one for one in examples if one.right.any()]
    rows = np.concatenate([one.rows for one in used])
    deviations = rows.std(axis=0) + 1e-9
    starts = np.cumsum([0, *(len(one.sums) for one in used[:-1])])
    targets = np.concatenate([one.right / one.right.sum() for one in used])
    shares = np.full(len(used), 1 / len(used))
    sums = np.concatenate([one.sums for one in used])
    scaled = (rows - rows.mean(axis=0)) / deviations
    found = least_loss(scaled, targets, starts, shares, PENALTY / len(used), sums) / deviations
    return {name: round(STRENGTH * float(weight), DIGITS) for name, weight in zip(SHAPE, found, strict=True)}


def firsts(examples: Sequence[Shaped], weights: dict[str, float]) -> list[float]:
    """Return the shares of questions, in per cent, whose first 1, 3, 8 and 14 pieces have a right one."""
    column = np.array([weights[name] for name in SHAPE])
    ranks = []
    for one in examples:
        order = np.argsort(-(one.sums + one.rows @ column), kind="stable")
        ranks.append(int(np.argmax(one.right[order])) if one.right.any() else MAX_SHAPED)
    return [round(100 * float(np.mean([rank < most for rank in ranks])), 1) for most in (1, 3, 8, 14)]


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    examples = list(shaped(both_wordings(HELD_OUT if given.judge else QUESTIONS), given.clones, given.state))
    if given.judge:
        print("without:", firsts(examples, dict.fromkeys(SHAPE, 0.0)))
        print("with:", firsts(examples, dict(fitted_weights())))
        return
    repositories = sorted({one.repo for one in examples})
    kept = {"weights": fit(examples), "cases": len(examples), "repositories": repositories}
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(examples)} cases of {len(repositories)} repositories")


if __name__ == "__main__":
    main()
