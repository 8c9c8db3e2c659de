"""Compares budgets of the second reading on questions about repositories that train nothing.

    python -m tests.ranking.reading_budget --clones FOLDER --state FOLDER [--most 36]

`--clones` has one clone for each repository of `held_out.jsonl`, OWNER+NAME, at the commit that its questions name;
what is missing is left out and named. `--state` is a state folder in which `jeeves index --wait-vectors` has made the
vectors of each. The two wordings are asked by turns, at most so many of each repository. Printed for each budget: how
many windows are read, and the share of questions whose first piece, one of the first three, or one of the first six
shares lines with an answer; in brackets the 95 % interval of the difference to the full budget, repositories drawn
again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from runtime.codebase.codebase import Codebase
from runtime.codebase.search.second_reading import FULL, SMALL, ReadingBudget
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from tests.ranking.cases import HELD_OUT, Case, both_wordings
from tests.ranking.examples import open_clone
from tests.ranking.likeness import by_turns

FIRSTS = (1, 3, 6)
DRAWS = 1_000
BUDGETS: Mapping[str, ReadingBudget | None] = {
    "full": FULL,
    "14 pieces": ReadingBudget(14, 0, 0.0),
    "10 pieces": ReadingBudget(10, 0, 0.0),
    "8 pieces": ReadingBudget(8, 0, 0.0),
    "small": SMALL,
    "none": None,
}


class CountingSemantics:
    """Counts the texts that are read together with a question, each once."""

    def __init__(self, semantics: Semantics) -> None:
        self._semantics = semantics
        self.texts: set[str] = set()

    def __getattr__(self, name: str) -> object:
        return getattr(self._semantics, name)

    def scores(self, query: str, texts: Sequence[str], *, wait: bool = False) -> list[float] | None:
        self.texts |= set(texts)
        return self._semantics.scores(query, texts, wait=wait)


def ranks(case: Case, codebase: Codebase, counting: CountingSemantics) -> Iterator[tuple[int, int]]:
    """Yield for each budget the rank of the first right piece, from 0, and the number of windows that were read."""
    for budget in BUDGETS.values():
        counting.texts.clear()
        hits = codebase.reading_within(budget).search_chunks(case.question, max(FIRSTS), wait=True)
        right = (
            at
            for at, hit in enumerate(hits)
            if any(place.meets(hit.file, hit.start_line, hit.end_line) for place in case.lead)
        )
        yield next(right, max(FIRSTS)), len(counting.texts)


def asked(cases: Sequence[Case], clones: Path, state: Path, most: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield the repository of each question about the clones that are there, with its `ranks`."""
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out", flush=True)
            continue
        semantics = open_semantics(state / "index" / "vectors.sqlite", here=True)
        assert semantics is not None
        codebase = open_clone(clones, state, name)
        counting = CountingSemantics(semantics)
        codebase.semantics = counting  # type: ignore[assignment]
        print(f"{name}: {100 * semantics.ready(codebase.index):.0f} % of the pieces have vectors", flush=True)
        for case in [case for case in cases if case.folder == name][:most]:
            yield name, list(ranks(case, codebase, counting))
        codebase.close()
        semantics.close()


def interval(repositories: Sequence[str], differences: Sequence[float]) -> str:
    """Return between what the mean of the differences lies by 95 %, with repositories drawn again, in per cent."""
    chance = np.random.default_rng(5)
    of_each = [
        np.array([own for name, own in zip(repositories, differences, strict=True) if name == each])
        for each in sorted(set(repositories))
    ]
    drawn = [
        np.concatenate([of_each[at] for at in chance.integers(len(of_each), size=len(of_each))]).mean()
        for _ in range(DRAWS)
    ]
    low, high = np.percentile(drawn, (2.5, 97.5)) * 100
    return f"({low:+.1f} … {high:+.1f})"


def main() -> None:
    """Print a table with a row for each budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--most", type=int, default=36)
    given = parser.parse_args()
    found = list(asked(by_turns(both_wordings(HELD_OUT)), given.clones, given.state, given.most))
    names = [name for name, _ in found]
    print(f"{len(found)} questions, {len(set(names))} repositories\n| budget | windows read | first | three | six |")
    for place, budget in enumerate(BUDGETS):
        cells = [f"{mean(of_budgets[place][1] for _, of_budgets in found):.1f}"]
        for first in FIRSTS:
            own, full = ([float(ranks[at][0] < first) for _, ranks in found] for at in (place, 0))
            among = f"{100 * mean(own):.1f}"
            differences = [one - other for one, other in zip(own, full, strict=True)]
            cells.append(among if place == 0 else f"{among} {interval(names, differences)}")
        print(f"| {budget} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
