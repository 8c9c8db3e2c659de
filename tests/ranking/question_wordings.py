"""Fits and judges the weights by which the kinds of questions are told from their words.

`python -m tests.ranking.question_wordings --judge` prints how many of the judging questions are recognised, `--write`
fits the weights anew. `question_wordings.jsonl` has the questions to learn from, written for this: of each kind, and,
in the same words, about one thing. One whose kind is not given is of any but the whole project. The questions of
`cases.py` and others, which are about one thing, count less each. None of `question_wordings_judging.jsonl` is learnt.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.kind_likeness import (
    ALWAYS,
    FILE,
    UNKNOWN,
    UNKNOWN_TOLD,
    features_of,
    words_of,
)

FOLDER = Path(__file__).parent
LEARNT, JUDGING = FOLDER / "question_wordings.jsonl", FOLDER / "question_wordings_judging.jsonl"
OTHERS = ("questions.jsonl", "held_out.jsonl", "cases.jsonl", "features_asked_for.jsonl", "judging.jsonl")
# Of these kinds in the other files a question is one about one thing, of the rest any but the whole project.
OF_ONE_THING = frozenset({"how", "why", "what happens", "what_happens", "bug", "where", "yes_no"})
OPEN, OVERVIEW = "open", "overview"
LEAST_PAIRS = 3
MAX_OTHERS = 8_000
WEIGHT_OF_OTHERS = 0.05
SHRINKAGE = 1e-3
ROUNDS, RATE, SEED = 25, 0.3, 7
# Of so many last rounds the mean of the weights counts, which the order of questions changes less.
AVERAGED = 15
MARKS = (ALWAYS, UNKNOWN, UNKNOWN_TOLD)

Numbers = NDArray[np.float64]


class Asked(msgspec.Struct, frozen=True):
    """Represents a question and its kind: `open` if it is about one thing, None if it is any but of the whole."""

    text: str
    kind: str | None = None
    weight: float = 1.0


class Fitted(msgspec.Struct, frozen=True):
    """Holds the weights of features by kind, and the words that are known; marks are features of one word."""

    weights: dict[str, dict[str, float]]
    words: frozenset[str]


def read(path: Path) -> list[Asked]:
    """Read questions, one JSON record on each line."""
    return [msgspec.json.decode(line, type=Asked) for line in path.read_bytes().splitlines()]


def other_questions() -> list[Asked]:
    """Return the questions of the other files, none about a whole, in an order drawn by seed."""
    rows = (json.loads(line) for name in OTHERS for line in (FOLDER / name).read_text(encoding="utf-8").splitlines())
    found = {
        row[name]: OPEN if row.get("kind") in OF_ONE_THING else None
        for row in rows
        if row.get("kind") != OVERVIEW
        for name in ("question", "other")
        if row.get(name)
    }
    drawn = [Asked(text, kind, WEIGHT_OF_OTHERS) for text, kind in sorted(found.items())]
    random.Random(SEED).shuffle(drawn)
    return drawn


def fit(asked: Sequence[Asked], others: Iterable[Asked]) -> Fitted:
    """Return the weights of a softmax over words and pairs of words, shrunk towards 0, `open` at 0."""
    kinds = sorted({row.kind for row in asked if row.kind not in (OPEN, None)} - {None})
    words = sorted({word for row in asked if row.kind in kinds for word in _words(row.text)})
    names = _names(asked, words)
    of_name = {name: number for number, name in enumerate(names)}
    known = set(words)
    examples = [_example(row, known, of_name, [str(kind) for kind in kinds]) for row in (*asked, *others)]
    weights = np.zeros((len(names), len(kinds)))
    squares = np.full_like(weights, 1e-6)
    shrinkage = np.array([0.0 if name == ALWAYS else SHRINKAGE for name in names])[:, None]
    order = random.Random(SEED)
    mean = np.zeros_like(weights)
    for number in range(ROUNDS):
        order.shuffle(examples)
        for at, values, allowed, weight in examples:
            error = weight * _error(values @ weights[at], allowed)
            slope = values[:, None] * error - shrinkage[at] * weights[at]
            squares[at] += slope * slope
            weights[at] += RATE * slope / np.sqrt(squares[at])
        mean += weights / AVERAGED if number >= ROUNDS - AVERAGED else 0.0
    return Fitted({str(kind): _kept(names, mean[:, column]) for column, kind in enumerate(kinds)}, frozenset(words))


def _names(asked: Sequence[Asked], words: Collection[str]) -> list[str]:
    """Return the features: the words, the pairs that are frequent enough, and the marks."""
    known = set(words)
    times = Counter(name for row in asked for name in features_of(row.text, known) if " " in name)
    return [*words, *sorted(name for name, count in times.items() if count >= LEAST_PAIRS), *MARKS]


def _example(
    row: Asked, known: Collection[str], of_name: dict[str, int], kinds: Sequence[str]
) -> tuple[NDArray[np.int64], Numbers, Numbers, float]:
    """Return the features of a question, their values, which kinds it may be of (`open` last), and its weight."""
    features = [(of_name[name], value) for name, value in features_of(row.text, known).items() if name in of_name]
    of_kind = [kind != OVERVIEW if row.kind is None else kind == row.kind for kind in (*kinds, OPEN)]
    at, values = zip(*features, strict=True)
    return np.array(at), np.array(values), np.array(of_kind, dtype=np.float64), row.weight


def _error(sums: Numbers, allowed: Numbers) -> Numbers:
    """Return what the probability of each kind lacks, where what is allowed shares all of it as it stands."""
    parts = np.exp(np.append(sums, 0.0) - max(0.0, float(sums.max())))
    shares = parts / parts.sum()
    wanted = shares * allowed
    found: Numbers = (wanted / max(float(wanted.sum()), 1e-12) - shares)[:-1]
    return found


def _kept(names: Sequence[str], weights: Numbers) -> dict[str, float]:
    tenths = {name: round(10 * float(weight)) for name, weight in zip(names, weights, strict=True)}
    return {name: tenth / 10 for name, tenth in tenths.items() if tenth}


def write(fitted: Fitted, path: Path) -> None:
    """Write weights as `read_weights` reads them, words first."""
    names = fitted.words.union(*fitted.weights.values())
    lines = [" ".join(fitted.weights)]
    for name in sorted(names, key=lambda name: (" " in name, name)):
        tenths = [round(10 * own.get(name, 0.0)) for own in fitted.weights.values()]
        lines.append(f"{name}\t{' '.join(map(str, tenths))}" if any(tenths) else name)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _words(text: str) -> set[str]:
    asked, told = words_of(text)
    return {word for sentence in asked for word in sentence} | told


def main() -> None:
    """Fit, and write or judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--judge", action="store_true")
    chosen = parser.parse_args()
    others = other_questions()
    if chosen.write:
        write(fit(read(LEARNT), others[:MAX_OTHERS]), FILE)
    if chosen.judge:
        judging = read(JUDGING)
        rows = Counter((row.kind or "any but overview", analyse(row.text).kind) for row in judging)
        for kind in sorted({of for of, _ in rows}):
            of = {name: count for (own, name), count in rows.most_common() if own == kind}
            print(f"{kind}: {sum(of.values())}, taken for {of}")
        print("others:", Counter(analyse(row.text).kind for row in others[MAX_OTHERS:]).most_common())


if __name__ == "__main__":
    main()
