"""Defines what a traverser records of its searches for somebody who asked how the answer came about."""

from __future__ import annotations

import msgspec


class ConsideredPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a place that a search found, with what counted for it; `rank` counts from 1 within the search.

    `features`: each with its value and what it added to the score; none where another strategy than the ranking found
    the place (`source`).
    """

    step: str
    query: str
    rank: int
    file: str
    start_line: int
    end_line: int
    symbol: str
    score: float
    source: str
    ranker: str | None = None
    features: dict[str, tuple[float, float]] = {}


class ProofStep(msgspec.Struct, frozen=True):
    """Represents a line that a proof goes through, and what it shows."""

    shows: str
    file: str
    line: int
    text: str = ""


class ProvenLink(msgspec.Struct, frozen=True):
    """Represents what was proven: a call or a value, where it stands, and the lines that prove it in their order."""

    what: str
    file: str
    line: int
    by: list[ProofStep]


class ExplainedSteps(msgspec.Struct, frozen=True):
    """Holds the places that the searches of a pass considered and what its tools proved."""

    places: list[ConsideredPlace] = []
    proofs: list[ProvenLink] = []
