"""Defines the routes after the critic: one decision table for each form of the pipeline.

A row has a name, a condition on the standing of the run, and a route; the first row that holds decides. The routing
rules of the pipeline file map a route to its target. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

Verdict = Literal["approved", "again", "next_round"]
Route = Literal["reintent", "replan", "clarify", "next_round", "complete", "complete_limit"]

# Routes that continue the same round with another pass.
REDOING: frozenset[str] = frozenset({"reintent", "replan", "clarify"})


class Standing(msgspec.Struct, frozen=True):
    """Holds the inputs of the routing decision.

    `again_made`: reintents of the query, or replans of the round, so far. `is_clarified`: the user was asked in this
    query, or there was cause to ask and it was not done.
    """

    verdict: Verdict
    has_hint: bool
    is_blocked: bool
    is_clarified: bool
    goals_left: int
    round_number: int
    max_rounds: int
    again_made: int
    max_again: int
    is_stuck: bool

    @property
    def has_again_left(self) -> bool:
        """True when one more reintent or replan is permitted."""
        return self.again_made < self.max_again

    @property
    def is_last_round(self) -> bool:
        """True when no further round is permitted."""
        return self.round_number >= self.max_rounds


class Row(NamedTuple):
    """Defines a row of a table: its name, its condition and its route."""

    name: str
    holds: Callable[[Standing], bool]
    route: Route


class NextStep(NamedTuple):
    """Names the row that decided, and its route."""

    because: str
    route: Route


def _is_blocked_anew(now: Standing) -> bool:
    return now.is_blocked and not now.is_clarified


def _is_stuck_anew(now: Standing) -> bool:
    return now.is_stuck and not now.is_clarified


def _wants_again(now: Standing) -> bool:
    return now.verdict == "again"


def _is_last_round(now: Standing) -> bool:
    return now.is_last_round


REINTENT_FORM: tuple[Row, ...] = (
    Row("blocked", lambda now: _is_blocked_anew(now) and now.has_again_left, "reintent"),
    Row("reintents_used_up", _is_blocked_anew, "complete_limit"),
    Row("blocked_still", lambda now: now.is_blocked, "complete"),
    Row("asked_again", lambda now: _wants_again(now) and now.has_hint and now.has_again_left, "reintent"),
    Row("reintents_used_up", lambda now: _wants_again(now) and now.has_hint, "complete_limit"),
    Row("approved", lambda now: now.goals_left == 0 or now.verdict == "approved", "complete"),
    Row("rounds_used_up", _is_last_round, "complete_limit"),
    Row("stuck", lambda now: _is_stuck_anew(now) and now.has_again_left, "reintent"),
    Row("stuck_still", lambda now: now.is_stuck, "complete_limit"),
    Row("next_round", lambda now: True, "next_round"),
)

# The round limit precedes the row that starts another round, so that N rounds are at most N.
REPLAN_FORM: tuple[Row, ...] = (
    Row("blocked", _is_blocked_anew, "clarify"),
    Row("blocked_still", lambda now: now.is_blocked, "complete"),
    Row("asked_again", lambda now: _wants_again(now) and now.has_again_left, "replan"),
    Row("loops_used_up", _wants_again, "complete"),
    Row("approved", lambda now: now.goals_left == 0, "complete"),
    Row("rounds_used_up", _is_last_round, "complete_limit"),
    Row("approved_in_part", lambda now: now.verdict == "approved", "next_round"),
    Row("stuck", _is_stuck_anew, "clarify"),
    Row("stuck_still", lambda now: now.is_stuck, "complete"),
    Row("next_round", lambda now: True, "next_round"),
)

# Why an answer may be incomplete, by the row that ended the rounds; `{…}` are fields of the standing.
ENDED_BECAUSE: dict[str, str] = {
    "blocked_still": "something that only a person can settle stands in the way",
    "reintents_used_up": "the question was taken up anew {again_made} times, limit {max_again}",
    "loops_used_up": "the plan was made anew {again_made} times in this round, limit {max_again}",
    "rounds_used_up": "round {round_number} is over, limit {max_rounds}",
    "stuck_still": "two passes in a row brought nothing new",
}


def next_step(table: tuple[Row, ...], now: Standing) -> NextStep:
    """Return the first row of `table` that holds; the last row of both tables always does."""
    row = next(row for row in table if row.holds(now))
    return NextStep(row.name, row.route)


def ended_because(step: NextStep, now: Standing) -> str | None:
    """Explain why the rounds ended with open goals; None when the run continues or all goals are answered."""
    if step.route in REDOING or step.because not in ENDED_BECAUSE:
        return None
    return ENDED_BECAUSE[step.because].format(**msgspec.structs.asdict(now))
