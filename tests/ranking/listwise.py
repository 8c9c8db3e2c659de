"""Fits the weights of a ranker: a linear score, listwise softmax loss, L2 penalty on standardised features.

No chance takes part: the same examples give the same weights.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from runtime.codebase.search.features import FEATURES
from tests.ranking.examples import Example, Numbers

PENALTY = 40.0
MAX_STEPS = 30
LEAST_GAIN, SMALLEST_STEP = 1e-9, 1e-6
COMMIT_WEIGHT = 0.5


def fit(
    examples: Sequence[Example],
    names: Collection[str],
    *,
    penalty: Mapping[str, float] | float = PENALTY,
    around: Mapping[str, float] | None = None,
    held: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the weight of each named feature; examples without a good candidate teach nothing.

    `around`: weights that were learned from more examples; the others are drawn to them, not to nothing. `held`:
    weights that stay as they are, since these examples say nothing of their features.
    """
    stay = dict(held or {})
    used = [example for example in examples if example.gains.sum() > 0]
    columns = [FEATURES.index(name) for name in FEATURES if name in names and name not in stay]
    rows = np.concatenate([example.rows[:, columns] for example in used])
    deviations = rows.std(axis=0) + 1e-9
    scaled = (rows - rows.mean(axis=0)) / deviations
    starts = np.cumsum([0, *(len(example.gains) for example in used[:-1])])
    targets = np.concatenate([example.gains / example.gains.sum() for example in used])
    shares = np.array([COMMIT_WEIGHT if example.case.kind == "commit" else 1.0 for example in used])
    of_each = penalty if isinstance(penalty, Mapping) else dict.fromkeys(FEATURES, penalty)
    strengths = np.array([of_each[FEATURES[column]] for column in columns])
    known = np.array([(around or {}).get(FEATURES[column], 0.0) for column in columns])
    scores = scaled @ (known * deviations)
    scores += np.concatenate([example.rows for example in used]) @ [stay.get(name, 0.0) for name in FEATURES]
    off = least_loss(scaled, targets, starts, shares / shares.sum(), strengths / len(used), scores)
    learned = {FEATURES[column]: float(one) for column, one in zip(columns, known + off / deviations, strict=True)}
    return {name: stay[name] if name in stay else learned[name] for name in FEATURES if name in stay or name in learned}


def least_loss(
    scaled: Numbers,
    targets: Numbers,
    starts: np.ndarray,
    shares: Numbers,
    penalty: Numbers | float,
    known: Numbers | float = 0.0,
) -> Numbers:
    """Return the weights of the least loss, by Newton's method: the loss is convex. `starts`: of each example.

    `targets` and `shares` sum up to 1, the former over the rows of each example, the latter over the examples. `known`:
    what each row scores already.
    """
    sizes = np.diff([*starts, len(scaled)])
    of_row = np.repeat(shares, sizes)

    def loss(weights: Numbers) -> float:
        scores = scaled @ weights + known
        tops = np.maximum.reduceat(scores, starts)
        sums = np.log(np.add.reduceat(np.exp(scores - np.repeat(tops, sizes)), starts)) + tops
        return float(shares @ sums - (targets * of_row) @ scores + weights @ (penalty * weights) / 2)

    weights = np.zeros(scaled.shape[1])
    least = loss(weights)
    for _ in range(MAX_STEPS):
        scores = scaled @ weights + known
        raised = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
        expected = raised / np.repeat(np.add.reduceat(raised, starts), sizes)
        means = np.add.reduceat(scaled * expected[:, None], starts)
        slope = scaled.T @ ((expected - targets) * of_row) + penalty * weights
        curve = (scaled * (expected * of_row)[:, None]).T @ scaled - (means * shares[:, None]).T @ means
        step = np.linalg.solve(curve + penalty * np.eye(len(weights)), slope)
        while (found := loss(weights - step)) > least and np.abs(step).max() > SMALLEST_STEP:
            step /= 2
        weights = weights - step
        if least - found < LEAST_GAIN:
            break
        least = found
    return weights
