"""Fits and judges the weights by which questions about a whole repository are recognised.

`python -m tests.ranking.overviews --judge` prints how many of the judging questions are recognised, `--write` fits the
weights anew. `overviews.jsonl` has the questions to learn from: written for this, about wholes and, in the same words,
about one thing; the questions of `cases.py` and others, which are all about one thing, count less each. None of
`overviews_judging.jsonl` is learnt from.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from actors.capabilities.code_analysis.question.overview_likeness import (
    ALWAYS,
    FILE,
    UNKNOWN,
    UNKNOWN_TOLD,
    features_of,
    words_of,
)
from actors.capabilities.code_analysis.question.overview_wording import is_overview

FOLDER = Path(__file__).parent
LEARNT, JUDGING = FOLDER / "overviews.jsonl", FOLDER / "overviews_judging.jsonl"
OTHERS = ("questions.jsonl", "held_out.jsonl", "cases.jsonl", "features_asked_for.jsonl", "judging.jsonl")
LEAST_PAIRS = 3
MAX_OTHERS = 8_000
WEIGHT_OF_OTHERS = 0.05
SHRINKAGE = 1e-3
ROUNDS, RATE, SEED = 40, 0.3, 7
LEAST_WEIGHT = 0.1
MARKS = (ALWAYS, UNKNOWN, UNKNOWN_TOLD)


class Asked(msgspec.Struct, frozen=True):
    """Represents a question, and whether it is about the whole."""

    text: str
    overview: bool
    weight: float = 1.0


def read(path: Path) -> list[Asked]:
    """Read questions, one JSON record on each line."""
    return [msgspec.json.decode(line, type=Asked) for line in path.read_bytes().splitlines()]


def other_questions() -> list[str]:
    """Return the questions of the other files, all about one thing, in an order drawn by seed."""
    rows = (json.loads(line) for name in OTHERS for line in (FOLDER / name).read_text(encoding="utf-8").splitlines())
    found = sorted({row[name] for row in rows for name in ("question", "other") if row.get(name)})
    random.Random(SEED).shuffle(found)
    return found


def fit(asked: Sequence[Asked], others: Iterable[str]) -> dict[str, float]:
    """Return the weights of a logistic model over words and pairs of words, shrunk towards 0."""
    rows = [*asked, *(Asked(text, False, WEIGHT_OF_OTHERS) for text in others)]
    # A word that questions about wholes do not have is as good as unknown, whichever it is.
    words = {word for row in asked if row.overview for word in _words(row.text)}
    times = Counter(name for row in asked for name in features_of(row.text, words) if " " in name)
    pairs = [name for name, count in times.items() if count >= LEAST_PAIRS]
    known = dict.fromkeys([*sorted(words), *pairs, *MARKS], 0.0)
    examples = [
        ([(name, value) for name, value in features_of(row.text, known).items() if name in known], row) for row in rows
    ]
    weights, squares = dict(known), dict.fromkeys(known, 1e-6)
    order = random.Random(SEED)
    for _ in range(ROUNDS):
        order.shuffle(examples)
        for features, row in examples:
            total = sum(weights[name] * value for name, value in features)
            error = row.weight * (row.overview - 1 / (1 + math.exp(-max(-30.0, min(30.0, total)))))
            for name, value in features:
                slope = error * value - SHRINKAGE * weights[name] * (name != ALWAYS)
                squares[name] += slope * slope
                weights[name] += RATE * slope / math.sqrt(squares[name])
    rounded = {name: round(weight, 2) for name, weight in sorted(weights.items())}
    return {name: weight for name, weight in rounded.items() if abs(weight) >= LEAST_WEIGHT or " " not in name}


def _words(text: str) -> set[str]:
    asked, told = words_of(text)
    return {word for sentence in asked for word in sentence} | told


def main() -> None:
    """Fit, and write or judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--judge", action="store_true")
    chosen = parser.parse_args()
    learnt, others = read(LEARNT), other_questions()
    if chosen.write:
        weights = fit(learnt, others[:MAX_OTHERS])
        FILE.write_text(json.dumps(weights, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    if chosen.judge:
        of = read(JUDGING)
        wholes = sum(row.overview for row in of)
        right = sum(is_overview(row.text) for row in of if row.overview)
        wrong = sum(is_overview(row.text) for row in of if not row.overview)
        taken = sum(is_overview(text) for text in others[MAX_OTHERS:])
        print(
            f"recognised: {right} of {wholes}; wrongly: {wrong} of {len(of) - wholes}, "
            f"and {taken} of {len(others) - MAX_OTHERS} other questions that were not learnt from"
        )


if __name__ == "__main__":
    main()
