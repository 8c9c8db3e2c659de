"""Fits by how much likeness of terms moves the weights of both rankers, and judges that on repositories held out.

    python -m tests.ranking.likeness --clones FOLDER --state FOLDER (--unseen FOLDER | --judge)

The questions in two wordings teach it, of each the wordings by turns. `--unseen` has vectors of terms that were trained
without a part of the repositories each (`term_vectors_training.py --without`, files `without_0.npz` to
`without_2.npz`). What the questions say nothing of keeps the weight that the ranker by words has; all other weights are
fitted anew beside those of likeness, and what they differ by is written into the package. With `--judge` the shares of
questions of `held_out.jsonl` are printed whose first 1, 3, 14 and 30 pieces of source code have a right one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from runtime.codebase.search.features import BY_TERMS, BY_WORDS, FEATURES
from runtime.codebase.search.ranker import LIKENESS_FILE, ranker
from tests.ranking.cases import HELD_OUT, QUESTIONS, Case, both_wordings
from tests.ranking.examples import Example, example, open_clone
from tests.ranking.listwise import fit
from tests.ranking.train import KINDS
from tests.ranking.unseen_vectors import part_of, vectors_without, with_vectors

# The questions name no paths and hardly any names.
HELD = (*KINDS, "is_callable", "is_named", "path_named")
DIGITS = 4
FIRSTS = (1, 3, 14, 30)


def compared(cases: Sequence[Case], clones: Path, state: Path, unseen: Path | None) -> Iterator[Example]:
    """Yield the examples of the clones that are there whose questions are compared by their terms."""
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out", flush=True)
            continue
        codebase = open_clone(clones, state, name)
        own = [case for case in cases if case.folder == name]
        part = None if unseen is None else part_of(own[0].repo, cases)
        if unseen is not None and part is not None:
            codebase.index = with_vectors(codebase.index, vectors_without(part, unseen))
        made = (example(case, codebase, None) for case in own)
        yield from (one for one in made if one is not None and one.rows[:, FEATURES.index(BY_TERMS[0])].any())
        codebase.close()


def by_turns(cases: Sequence[Case]) -> list[Case]:
    """Return one wording of each question, the first and the second by turns."""
    half = len(cases) // 2
    return [cases[at if at % 2 == 0 else at + half] for at in range(half)]


def moved(examples: Sequence[Example]) -> dict[str, float]:
    """Return by how much each weight of the ranker by words differs where likeness counts."""
    plain = dict(zip(FEATURES, ranker("words").weights, strict=True))
    learned = fit(examples, BY_WORDS + BY_TERMS, held={name: plain[name] for name in HELD})
    return {name: round(weight - plain[name], DIGITS) for name, weight in learned.items() if name not in HELD}


def firsts(examples: Sequence[Example], weights: Sequence[float]) -> list[float]:
    """Return the shares of questions, in per cent, whose first pieces of source code have a right one."""
    is_source = FEATURES.index("is_source")
    ranks = []
    for one in examples:
        scores = np.where(one.rows[:, is_source] > 0, one.rows @ np.array(weights), -np.inf)
        right = one.gains[np.argsort(-scores, kind="stable")] > 0
        ranks.append(int(np.argmax(right)) if right.any() else len(right))
    return [round(100 * float(np.mean([rank < most for rank in ranks])), 1) for most in FIRSTS]


def main() -> None:
    """Fit or judge, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    ways = parser.add_mutually_exclusive_group(required=True)
    ways.add_argument("--unseen", type=Path)
    ways.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    cases = both_wordings(HELD_OUT) if given.judge else by_turns(both_wordings(QUESTIONS))
    examples = list(compared(cases, given.clones, given.state, given.unseen))
    if given.judge:
        print(f"{len(examples)} questions")
        print("without:", firsts(examples, ranker("words").weights))
        print("with:", firsts(examples, ranker("words", by_likeness=True).weights))
        return
    repositories = sorted({one.case.repo for one in examples})
    kept = {"weights": moved(examples), "cases": len(examples), "repositories": repositories}
    LIKENESS_FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{LIKENESS_FILE}: {len(examples)} cases of {len(repositories)} repositories")


if __name__ == "__main__":
    main()
