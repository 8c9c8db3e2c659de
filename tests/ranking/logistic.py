"""Fits logistic models whose features can only raise a probability."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

STEPS = 60
DIGITS = 3

Numbers = NDArray[np.float64]


def logistic(columns: Mapping[str, Numbers], wanted: Numbers, rates: Numbers, shrinkage: float) -> dict[str, float]:
    """Return the weights of a logistic regression, shrunk in units of each feature's deviation; none below 0."""
    names = list(columns)
    rows = np.column_stack([columns[name] for name in names])
    mean, deviation = rows.mean(0), rows.std(0) + 1e-9
    scaled = np.column_stack([np.ones(len(rows)), (rows - mean) / deviation])
    penalty = np.diag([1e-9, *[shrinkage] * len(names)])
    weights = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (rates * (wanted - chance)) - penalty @ weights
        curve = (scaled * (rates * chance * (1 - chance))[:, None]).T @ scaled + penalty
        weights += np.linalg.solve(curve, slope)
        weights[1:] = np.maximum(weights[1:], 0.0)
    own = weights[1:] / deviation
    found = {"intercept": float(weights[0] - own @ mean), **dict(zip(names, map(float, own), strict=True))}
    return {name: round(weight, DIGITS) for name, weight in found.items()}
