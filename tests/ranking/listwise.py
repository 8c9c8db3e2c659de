"""Fits the weights of a ranker: a linear score, listwise softmax loss, L2 penalty on standardised features.

No chance takes part: the same examples give the same weights.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from runtime.codebase.search.features import FEATURES
from tests.ranking.examples import Example, Numbers

PENALTY = 40.0
STEPS = 200
RATE = 0.05
COMMIT_WEIGHT = 0.5


def fit(examples: Sequence[Example], names: Collection[str], *, penalty: float = PENALTY) -> dict[str, float]:
    """Return the weight of each named feature; examples without a good candidate teach nothing."""
    used = [example for example in examples if example.gains.sum() > 0]
    columns = [FEATURES.index(name) for name in FEATURES if name in names]
    rows = np.concatenate([example.rows[:, columns] for example in used])
    deviations = rows.std(axis=0) + 1e-9
    scaled = (rows - rows.mean(axis=0)) / deviations
    groups = np.repeat(np.arange(len(used)), [len(example.gains) for example in used])
    targets = np.concatenate([example.gains / example.gains.sum() for example in used])
    shares = np.array([COMMIT_WEIGHT if example.case.kind == "commit" else 1.0 for example in used])
    weights = _descend(scaled, targets, groups, shares / shares.sum(), penalty / len(used))
    return {FEATURES[column]: float(weight) for column, weight in zip(columns, weights / deviations, strict=True)}


def _descend(scaled: Numbers, targets: Numbers, groups: np.ndarray, shares: Numbers, penalty: float) -> Numbers:
    """Minimise by Adam over all examples at once."""
    weights = np.zeros(scaled.shape[1])
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = scaled @ weights
        tops = np.full(len(shares), -np.inf)
        np.maximum.at(tops, groups, scores)
        raised = np.exp(scores - tops[groups])
        expected = raised / np.bincount(groups, raised, len(shares))[groups]
        slope = scaled.T @ ((expected - targets) * shares[groups]) + penalty * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights
