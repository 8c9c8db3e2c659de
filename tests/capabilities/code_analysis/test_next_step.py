"""What follows the critic, row by row, in both forms of the pipeline."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.agents.routing_tables import (
    ENDED_BECAUSE,
    REDOING,
    REINTENT_FORM,
    REPLAN_FORM,
    Standing,
    ended_because,
    next_step,
)


def standing(**fields: Any) -> Standing:
    usual: dict[str, Any] = {
        "verdict": "next_round",
        "has_hint": False,
        "is_blocked": False,
        "is_clarified": False,
        "goals_left": 1,
        "round_number": 1,
        "max_rounds": 5,
        "again_made": 0,
        "max_again": 3,
        "is_stuck": False,
    }
    return Standing(**usual | fields)


AGAIN = {"verdict": "again", "has_hint": True}
BLOCKED = {"is_blocked": True}
CLARIFIED = {"is_clarified": True}
STUCK = {"is_stuck": True}

# The route of the REINTENT form, that of the replan form, and the standing.
TABLE: list[tuple[str, str, dict[str, Any]]] = [
    ("reintent", "clarify", BLOCKED),
    ("reintent", "clarify", {**BLOCKED, "goals_left": 0}),
    ("reintent", "clarify", {**BLOCKED, "verdict": "approved", "round_number": 5}),
    ("reintent", "clarify", {**BLOCKED, "again_made": 2}),
    ("complete_limit", "clarify", {**BLOCKED, "again_made": 3}),
    ("complete", "complete", {**BLOCKED, **CLARIFIED}),
    ("complete", "complete", {**BLOCKED, **CLARIFIED, **AGAIN}),
    ("reintent", "replan", AGAIN),
    ("reintent", "replan", {**AGAIN, "again_made": 2}),
    ("complete_limit", "complete", {**AGAIN, "again_made": 3}),
    ("complete_limit", "complete", {**AGAIN, "again_made": 4}),
    ("complete_limit", "complete", {**AGAIN, "max_again": 0}),
    ("reintent", "replan", {**AGAIN, **STUCK}),
    ("reintent", "replan", {**AGAIN, "goals_left": 0}),
    ("reintent", "replan", {**AGAIN, "round_number": 5}),
    ("next_round", "replan", {"verdict": "again"}),
    ("complete_limit", "replan", {"verdict": "again", "round_number": 5}),
    ("complete", "replan", {"verdict": "again", "goals_left": 0}),
    ("complete", "complete", {"goals_left": 0}),
    ("complete", "complete", {"goals_left": 0, "round_number": 5, **STUCK}),
    ("complete", "next_round", {"verdict": "approved"}),
    ("complete", "next_round", {"verdict": "approved", **STUCK}),
    ("complete", "complete_limit", {"verdict": "approved", "round_number": 5}),
    ("next_round", "next_round", {"round_number": 4}),
    ("complete_limit", "complete_limit", {"round_number": 5}),
    ("complete_limit", "complete_limit", {"round_number": 6}),
    ("complete_limit", "complete_limit", {"round_number": 5, **STUCK}),
    ("complete_limit", "complete_limit", {"max_rounds": 1}),
    ("complete_limit", "complete_limit", {"max_rounds": 0}),
    ("reintent", "clarify", STUCK),
    ("complete_limit", "clarify", {**STUCK, "again_made": 3}),
    ("complete_limit", "complete", {**STUCK, **CLARIFIED}),
    ("next_round", "next_round", {}),
    ("next_round", "next_round", {"has_hint": True}),
    ("next_round", "next_round", CLARIFIED),
]
IDS = ["-".join(fields) + f"-{n}" for n, (_, _, fields) in enumerate(TABLE)]


@pytest.mark.parametrize(("reintent_form", "replan_form", "fields"), TABLE, ids=IDS)
def test_the_first_row_that_holds_decides(reintent_form: str, replan_form: str, fields: dict[str, Any]) -> None:
    now = standing(**fields)
    assert next_step(REINTENT_FORM, now).route == reintent_form
    assert next_step(REPLAN_FORM, now).route == replan_form


def test_every_row_of_both_tables_is_reached_by_a_standing_here() -> None:
    for table in (REINTENT_FORM, REPLAN_FORM):
        reached = {next_step(table, standing(**fields)).because for _, _, fields in TABLE}
        assert reached == {row.name for row in table}


standings = st.builds(
    Standing,
    verdict=st.sampled_from(["approved", "again", "next_round"]),
    has_hint=st.booleans(),
    is_blocked=st.booleans(),
    is_clarified=st.booleans(),
    goals_left=st.integers(0, 9),
    round_number=st.integers(1, 9),
    max_rounds=st.integers(0, 5),
    again_made=st.integers(0, 9),
    max_again=st.integers(0, 3),
    is_stuck=st.booleans(),
)


@given(standings)
def test_a_run_goes_on_only_below_its_limits(now: Standing) -> None:
    for table in (REINTENT_FORM, REPLAN_FORM):
        step = next_step(table, now)
        if step.route in {"reintent", "replan"}:
            assert now.again_made < now.max_again
        if step.route == "clarify":
            assert not now.is_clarified
        if step.route == "next_round":
            assert now.round_number < now.max_rounds
            assert now.goals_left


@given(standings)
def test_a_reason_is_given_for_an_end_with_goals_open_and_for_no_other(now: Standing) -> None:
    for table in (REINTENT_FORM, REPLAN_FORM):
        step = next_step(table, now)
        because = ended_because(step, now)
        assert (because is not None) is (step.route not in REDOING and step.because in ENDED_BECAUSE)
        if step.route == "complete_limit":
            assert because
