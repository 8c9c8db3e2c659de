"""Measures the shape of a piece of code: what it looks like, whatever is asked.

Questions are mostly about lines that decide something, and pieces that branch, call and fail answer more of them than
lists, declarations and comments with the same words. `features_of` is pure; docs/ranking.md says what each is worth.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

SHAPE: tuple[str, ...] = (
    "comments",
    "comments_squared",
    "branches",
    "straight",
    "calls",
    "results",
    "failures",
    "lines",
    "late",
)
# Longer pieces and lines are data, of which the beginning tells as much.
MAX_LINES, MAX_LINE_CHARS = 200, 300
FILE = Path(__file__).parent / "rankers" / "shape.json"

_COMMENT = re.compile(r"\s*(?:#(?![\w!\[])|//|/?\*|--|;;|\"\"\"|''')")
_TEXT_MARK = re.compile(r"\"\"\"|'''")
_BRANCH = re.compile(r"\b(?:if|elif|switch|match|case|when|unless)\b|\?")
_CALL = re.compile(r"\w\(")
_RESULT = re.compile(r"\breturn\b|=>")
_FAILURE = re.compile(r"\b(?:raise|throw|panic|Err|Errorf|errors\.New|reject|abort)\b")


def features_of(lines: Sequence[str], start_line: int) -> tuple[float, ...]:
    """Return the features of a piece of code, in the order of `SHAPE`; `start_line` is the number of its first line.

    `comments`: the share of its lines, 0 to 1; `straight`: 1 where nothing branches; `late`: how far down in its file
    it begins. Counts and the number of lines are logarithms.
    """
    cut = [line[:MAX_LINE_CHARS] for line in lines[:MAX_LINES]]
    text = "\n".join(cut)
    comments = _comment_share(cut)
    branches, calls, results, failures = (
        math.log1p(len(pattern.findall(text))) for pattern in (_BRANCH, _CALL, _RESULT, _FAILURE)
    )
    return (
        comments,
        comments**2,
        branches,
        float(not branches),
        calls,
        results,
        failures,
        math.log1p(len(lines)),
        math.log1p(start_line),
    )


def worth_of(features: Sequence[float], weights: Mapping[str, float] | None = None) -> float:
    """Return what the shape of a piece adds to its score, by the fitted weights unless others are given."""
    weights = fitted_weights() if weights is None else weights
    return math.fsum(weights[name] * value for name, value in zip(SHAPE, features, strict=True))


@functools.cache
def fitted_weights() -> Mapping[str, float]:
    """Return the weight of each feature, read once from the package."""
    found: Mapping[str, float] = json.loads(FILE.read_text(encoding="utf-8"))["weights"]
    return found


def _comment_share(lines: Sequence[str]) -> float:
    """Return the share of lines that are comments, or in a text of several lines that three quotes begin."""
    count = 0
    is_within = False
    for line in lines:
        marks = len(_TEXT_MARK.findall(line))
        count += is_within or marks > 0 or _COMMENT.match(line) is not None
        is_within ^= marks % 2 == 1
    return count / len(lines) if lines else 0.0
