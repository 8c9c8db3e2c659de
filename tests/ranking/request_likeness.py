"""Measures how like requests are to one another: those for the same change, and others, near and far.

    python -m tests.ranking.request_likeness

The bound of agreements in configs/contracts/code_change.yaml is chosen from what it prints for the areas that it is
fitted on; the figures of the other areas, which had no part in the choice, are those to be told.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from actors.capabilities.code_change.store.agreement_files import normal
from runtime.codebase.semantics.embedding import Embedder, shared_embedder

REQUESTS = Path(__file__).parent / "like_requests.jsonl"
CASES = Path(__file__).parent / "cases.jsonl"
HELD_OUT = ("parser", "cache", "authentication", "job queue", "build tool")
BOUNDS = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)


class Likeness(NamedTuple):
    """Holds cosines: of requests for the same change, for another one of the same area, and of other areas."""

    same: list[float]
    near: list[float]
    far: list[float]


def groups(*, held_out: bool) -> list[Mapping[str, Any]]:
    """Return the groups of requests for the same change, of the areas that are held out or of the others."""
    found = map(json.loads, REQUESTS.read_text(encoding="utf-8").splitlines())
    return [group for group in found if (group["area"] in HELD_OUT) == held_out]


def compared(found: Sequence[Mapping[str, Any]], embedder: Embedder) -> Likeness:
    """Return the cosines of all pairs of requests in groups."""
    rows = [(place, group["area"], text) for place, group in enumerate(found) for text in group["requests"]]
    vectors = embedder.embed([normal(text) for _, _, text in rows])
    likeness = Likeness([], [], [])
    for (one, first), (other, second) in itertools.combinations(enumerate(rows), 2):
        kind = likeness.same if first[0] == second[0] else likeness.near if first[1] == second[1] else likeness.far
        kind.append(float(vectors[one] @ vectors[other]))
    return likeness


def questions(embedder: Embedder) -> list[float]:
    """Return the cosines of questions about the same repository whose answers lie in different files."""
    of_repository: dict[str, list[tuple[frozenset[str], str]]] = {}
    for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines()):
        files = frozenset(place["file"] for place in case.get("lead", ()))
        of_repository.setdefault(case["repo"], []).append((files, case["question"]))
    found = []
    for asked in of_repository.values():
        vectors = embedder.embed([normal(text) for _, text in asked])
        pairs = itertools.combinations(range(len(asked)), 2)
        found += [float(vectors[one] @ vectors[other]) for one, other in pairs if not asked[one][0] & asked[other][0]]
    return found


def share(values: Iterable[float], bound: float) -> float:
    """Return the share of values that reach a bound."""
    return float(np.mean(np.array(list(values)) >= bound))


def main() -> None:
    embedder = shared_embedder()
    other = questions(embedder)
    for held_out in (False, True):
        found = compared(groups(held_out=held_out), embedder)
        sizes = f"{len(found.same)} same, {len(found.near)} near, {len(found.far)} far, {len(other)} questions"
        print(f"{'held out' if held_out else 'fitted on'}: {sizes}")
        for bound in BOUNDS:
            shares = " ".join(
                f"{name} {share(values, bound):.3f}"
                for name, values in (("same", found.same), ("near", found.near), ("far", found.far), ("asked", other))
            )
            print(f"at least {bound:.2f}: {shares}")


if __name__ == "__main__":
    main()
