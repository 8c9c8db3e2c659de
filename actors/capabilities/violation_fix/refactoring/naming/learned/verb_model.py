"""Tells how likely an author would name a block by each verb, as functions of many packages teach it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from actors.capabilities.violation_fix.refactoring.naming.learned.verb_groups import group_of

WEIGHTS = Path(__file__).parent / "weights.npz"
# What the sum of a block's vectors is scaled by, beside the root of their number.
SUM_SCALE = 3.0


@dataclass(frozen=True)
class VerbModel:
    """Adds up one vector for each feature of a block and reads the verbs from the sum."""

    rows: Mapping[str, int]
    verbs: tuple[str, ...]
    vectors: NDArray[np.float32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]

    def verb_probabilities(self, features: Collection[str]) -> dict[str, float]:
        """Return how likely each verb is; most likely ones first."""
        rows = [self.rows[feature] for feature in sorted(features) if feature in self.rows]
        if not rows:
            return {}
        total = self.vectors[rows].sum(axis=0) * (SUM_SCALE / np.sqrt(len(rows)))
        scores = np.maximum(total, 0.0) @ self.weights + self.bias
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        order = np.argsort(-chances, kind="stable")
        return {self.verbs[position]: float(chances[position]) for position in order}


def by_group(chances: Mapping[str, float]) -> dict[str, float]:
    """Return how likely each group of verbs is; most likely ones first."""
    found: dict[str, float] = defaultdict(float)
    for verb, chance in chances.items():
        found[group_of(verb)] += chance
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


@cache
def verb_model() -> VerbModel:
    """Return the model that comes with the package; it is read when it is first asked for."""
    with np.load(WEIGHTS) as stored:
        features = json.loads(bytes(stored["features"]).decode())
        return VerbModel(
            rows={feature: row for row, feature in enumerate(features)},
            verbs=tuple(json.loads(bytes(stored["verbs"]).decode())),
            vectors=stored["vectors"].astype(np.float32) * stored["scales"],
            weights=stored["weights"].astype(np.float32),
            bias=stored["bias"].astype(np.float32),
        )
