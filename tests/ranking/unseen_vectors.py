"""Deals the repositories into three parts, so that vectors of terms can be trained without one of them.

Vectors are more like the questions that taught them than they are like others: weights that were learned from the same
would trust them too much.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.ranking.cases import Case

PARTS = 3


def part_of(repository: str, cases: Sequence[Case]) -> int | None:
    """Return the part that a repository belongs to; None for one that teaches no vectors."""
    taught = sorted({case.repo for case in cases})
    return taught.index(repository) % PARTS if repository in taught else None
