"""Defines what a pass records of its searches for somebody who asked how the answer came about."""

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


class ExplainedTrust(msgspec.Struct, frozen=True, kw_only=True):
    """Represents why an answer to a question in words is told, or called not found.

    `presence`: the probability that the repository has what is asked about; below `enough` it is called not found.
    `by`: each feature with its value and what it added to the log-odds. `bounds`: those that bound presence, whatever
    the sum is.
    """

    presence: float
    enough: float
    confidence: float
    by: dict[str, tuple[float, float]]
    bounds: list[str] = []


class ExplainedSteps(msgspec.Struct, frozen=True):
    """Holds the places that the searches of a pass considered, what its tools proved, and why that is trusted.

    `trust` is None for a question that is not in words, such as one for the callers of a name.
    """

    places: list[ConsideredPlace] = []
    proofs: list[ProvenLink] = []
    trust: ExplainedTrust | None = None
