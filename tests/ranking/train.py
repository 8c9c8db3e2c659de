"""Trains the rankers on clones of repositories with questions, or judges them on repositories held out.

    python -m tests.ranking.train --clones FOLDER --state FOLDER [--cases FILE] [--rankers words,vectors] [--judge]

`--clones` has one clone for each repository, OWNER+NAME, at the commits of repositories.json; what is missing is left
out and named. Indexes and vectors are kept in `--state`; vectors of all pieces and windows are made first unless
`--kept` takes those that are there. Without `--judge` the weights are written into the package; with it, nothing is
written, and each feature and model is judged by weights that never saw the repository.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from runtime.codebase.codebase import Codebase
from runtime.codebase.search import ranker as product
from runtime.codebase.search.features import BY_MEANING, BY_WORDS, FEATURES
from runtime.codebase.search.ranker import State
from runtime.codebase.semantics.embedding import shared_embedder
from runtime.codebase.semantics.further_windows import WindowMaker
from runtime.codebase.semantics.question_meaning import QuestionMeaning
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import VectorMaker
from tests.ranking.cases import Case, both_wordings, commit_cases, read_cases
from tests.ranking.examples import Example, example, open_clone
from tests.ranking.figures import FIGURES, Measure, by_joined, by_marks, held_out, interval, mean
from tests.ranking.listwise import fit

CASES = Path(__file__).parent / "cases.jsonl"
FUSION_OFFSET = 60
DIGITS = 4
# The questions that are asked in two ways look for code alone: what a document or a class is worth, others must say.
# What a function is worth is half of what they say: few of them ask for settings.
KINDS = ("is_section", "is_source", "is_test", "is_docs", "is_example", "is_aside", "is_asked", "is_holder")
CALLABLE = 0.8
# How strongly the weights with vectors are drawn to those by words, which more questions taught, and to nothing those
# of meaning, of which these say nothing.
DRAWN = {**dict.fromkeys(BY_WORDS, 320.0), **dict.fromkeys(BY_MEANING, 20.0)}
NAMES: dict[State, tuple[str, ...]] = {"words": BY_WORDS, "vectors": BY_WORDS + BY_MEANING}

Scores = Sequence[Sequence[float]]


def examples_of(cases: Sequence[Case], clones: Path, state: Path, by: State, *, makes_vectors: bool) -> list[Example]:
    """Return the examples of the questions and commits of all clones that are there."""
    vectors = state / "vectors.sqlite"
    semantics = open_semantics(vectors, here=True) if by == "vectors" else None
    found: list[Example] = []
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out", flush=True)
            continue
        codebase = open_clone(clones, state, name)
        if semantics is not None and makes_vectors:
            _make_vectors(codebase, vectors)
        own = [case for case in cases if case.folder == name]
        made = [_example(case, codebase, semantics) for case in own + commit_cases(clones / name, own[0].repo)]
        kept = [one for one in made if one is not None and one.state == by]
        found += kept
        print(f"{name}: {len(kept)} of {len(made)} cases", flush=True)
        codebase.close()
    return found


def _example(case: Case, codebase: Codebase, semantics: Semantics | None) -> Example | None:
    meaning = None
    if semantics is not None:
        meaning = QuestionMeaning(semantics, codebase.index, codebase.try_source, case.question, wait=False)
    return example(case, codebase, meaning)


def _make_vectors(codebase: Codebase, path: Path) -> None:
    cache = VectorCache(path)
    cache.want(WantedIndex(str(codebase.index.path), str(codebase.root)))
    cache.want_windows(WantedIndex(str(codebase.index.path), str(codebase.root)))
    maker, windows = VectorMaker(shared_embedder(), cache), WindowMaker(shared_embedder(), cache)
    while maker.step() or windows.step():
        pass
    cache.close()


def train(examples: Sequence[Example], by: State) -> None:
    """Write the weights of a ranker into the package; with vectors they are drawn to those by words."""
    if by == "vectors":
        by_words = json.loads(product.weights_file("words").read_text("utf-8"))["weights"]
        learned = fit(examples, NAMES[by], around=by_words, penalty=DRAWN)
    else:
        asked = {case.repo for case in both_wordings()}
        others = fit([one for one in examples if one.case.repo not in asked], NAMES[by])
        learned = fit(examples, NAMES[by], held={**{name: others[name] for name in KINDS}, "is_callable": CALLABLE})
    weights = {name: round(weight, DIGITS) for name, weight in learned.items()}
    repositories = sorted({one.case.repo for one in examples})
    trained = {"weights": weights, "cases": len(examples), "repositories": repositories}
    path = product.weights_file(by)
    path.write_text(json.dumps(trained, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(examples)} cases of {len(repositories)} repositories")


def judge(examples: Sequence[Example], by: State) -> None:
    """Print the figures of each order, and of the ranker without each of its features."""
    names = NAMES[by]
    learned = held_out(examples, names)
    orders: dict[str, Scores] = {"words alone": _column(examples, "words")}
    if by == "vectors":
        without = held_out(examples, BY_WORDS)
        meaning = _column(examples, "cosine")
        orders |= {
            "meaning alone": meaning,
            "ranker, features by words": without,
            "fusion of ranks": _fused(without, meaning),
        }
    rows = [("ranker", learned, by_marks), *((name, scores, by_marks) for name, scores in orders.items())]
    rows += [(f"without {name}", held_out(examples, [one for one in names if one != name]), by_marks) for name in names]
    for kind in ("questions", "commits"):
        own = [place for place, one in enumerate(examples) if (one.case.kind == "commit") == (kind == "commits")]
        print(f"\n| {kind}: {len(own)} | {' | '.join(FIGURES)} |\n|---|{'---|' * len(FIGURES)}")
        for name, scores, measure in [*rows, ("ranker, joined places", learned, by_joined)]:
            print(
                _line(
                    name,
                    [examples[place] for place in own],
                    [scores[place] for place in own],
                    [learned[place] for place in own],
                    measure,
                ),
                flush=True,
            )


def _line(name: str, examples: Sequence[Example], scores: Scores, learned: Scores, measure: Measure) -> str:
    """Return a row of the table: each figure, with the interval of its difference from the ranker."""
    ours = [measure(one, own) for one, own in zip(examples, scores, strict=True)]
    others = [measure(one, own) for one, own in zip(examples, learned, strict=True)]
    cells = []
    for figure in FIGURES:
        low, high = interval(examples, ours, others, figure)
        cells.append(f"{mean(ours, figure):.1f}" + ("" if ours == others else f" ({low:+.1f} to {high:+.1f})"))
    return f"| {name} | {' | '.join(cells)} |"


def _column(examples: Sequence[Example], name: str) -> Scores:
    return [[float(value) for value in one.rows[:, FEATURES.index(name)]] for one in examples]


def _fused(one: Scores, other: Scores) -> Scores:
    """Return reciprocal rank fusion of two orders."""
    return [[float(value) for value in _inverse(a) + _inverse(b)] for a, b in zip(one, other, strict=True)]


def _inverse(scores: Sequence[float]) -> np.ndarray:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-np.asarray(scores), kind="stable")] = np.arange(len(scores))
    return 1 / (FUSION_OFFSET + ranks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--rankers", default="words,vectors")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    work: Callable[[Sequence[Example], State], None] = judge if given.judge else train
    for by in NAMES:
        if by in given.rankers.split(","):
            cases = read_cases(given.cases)
            # Their vectors are not made: it would take hours.
            cases += both_wordings() if by == "words" else []
            found = examples_of(cases, given.clones, given.state, by, makes_vectors=not given.kept)
            work(found, by)


if __name__ == "__main__":
    main()
