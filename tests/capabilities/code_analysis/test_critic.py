"""Which way a run goes on after a round."""

from __future__ import annotations

from typing import Any

import pytest

from actors.capabilities.code_analysis.agents import critic
from actors.capabilities.code_analysis.agents.critic import MIN_HINT_CHARS
from runtime.agents.capability import StageResult
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalBoard, RoundSummary, apply_patch
from tests.capabilities.code_analysis.support import no_context, view


def board(*rounds: RoundSummary, **statuses: str) -> GoalBoard:
    goals = tuple(Goal(GoalId(name), name, status) for name, status in statuses.items())  # type: ignore[arg-type]
    return GoalBoard(goals=goals, round_number=len(rounds) + 1, finished_rounds=rounds)


def finished(evidence: int = 0, satisfied: tuple[str, ...] = (), route: str = "next_round") -> RoundSummary:
    return RoundSummary(1, tuple(map(GoalId, satisfied)), evidence, {"route": route})


def verdict(**fields: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "verdict": "next_stage",
        "goal_status": {},
        "satisfied_goals": [],
        "refine_intent_hint": None,
    }
    return usual | fields


async def settled(goals: GoalBoard, output: dict[str, Any], evidence: int = 1) -> StageResult:
    looked_at = view(
        "Where are bounds?",
        goals=goals,
        synthesis={"hints_for_goals": {}, "new_evidence": evidence},
        execution={"results": [], "ranges": [["a.py", 1, 2, "f00"]], "attempt_history": {"find": []}},
        planner={"steps": [], "target_goals": []},
    )
    return await critic.settle(no_context(), looked_at, output)


@pytest.mark.parametrize(
    ("hint", "route"),
    [
        ("x" * (MIN_HINT_CHARS - 1), "next_round"),
        ("x" * MIN_HINT_CHARS, "reintent"),
        ("x" * (MIN_HINT_CHARS + 1), "reintent"),
        ("x" * 9 + " " * 20, "next_round"),
        (" " * 20, "next_round"),
        ("", "next_round"),
        (None, "next_round"),
    ],
)
async def test_a_reintent_needs_a_hint_of_ten_characters(hint: str | None, route: str) -> None:
    output = verdict(verdict="reintent", refine_intent_hint=hint)
    assert (await settled(board(definition="pending"), output)).output["route"] == route


@pytest.mark.parametrize(("hint", "is_logged"), [("x" * (MIN_HINT_CHARS - 1), True), ("x" * MIN_HINT_CHARS, False)])
async def test_a_reintent_without_a_hint_is_logged(
    caplog: pytest.LogCaptureFixture, hint: str, is_logged: bool
) -> None:
    caplog.set_level("INFO")
    await settled(board(definition="pending"), verdict(verdict="reintent", refine_intent_hint=hint))
    assert ("critic.reintent_without_hint" in caplog.messages) is is_logged


@pytest.mark.parametrize(("earlier", "route"), [(2, "reintent"), (3, "complete_limit"), (4, "complete_limit")])
async def test_reintents_are_counted_over_the_rounds(earlier: int, route: str) -> None:
    rounds = [finished(1, route="reintent") for _ in range(earlier)]
    output = verdict(verdict="reintent", refine_intent_hint="look elsewhere, please")
    assert (await settled(board(*rounds, definition="pending"), output)).output["route"] == route


@pytest.mark.parametrize(("earlier", "route"), [(3, "next_round"), (4, "complete_limit"), (5, "complete_limit")])
async def test_rounds_end_at_their_limit(earlier: int, route: str) -> None:
    rounds = [finished(1) for _ in range(earlier)]
    assert (await settled(board(*rounds, definition="pending"), verdict())).output["route"] == route


@pytest.mark.parametrize(
    ("before", "evidence", "satisfied", "route"),
    [
        (finished(0), 0, [], "reintent"),
        (finished(1), 0, [], "next_round"),
        (finished(0, ("usage",)), 0, [], "next_round"),
        (finished(0), 1, [], "next_round"),
        (finished(0), 0, ["usage"], "next_round"),
        (None, 0, [], "next_round"),
    ],
)
async def test_two_rounds_in_a_row_without_anything_new_are_enough(
    before: RoundSummary | None, evidence: int, satisfied: list[str], route: str
) -> None:
    goals = board(*([before] if before else []), definition="pending", usage="pending")
    output = verdict(satisfied_goals=satisfied, goal_status=dict.fromkeys(satisfied, "satisfied"))
    assert (await settled(goals, output, evidence)).output["route"] == route


async def test_the_hint_of_a_stuck_pass_is_generated_and_the_next_stuck_pass_is_the_last() -> None:
    stuck = await settled(board(finished(0), definition="pending"), verdict(), 0)
    assert len(stuck.output["refine_intent_hint"]) >= MIN_HINT_CHARS
    assert stuck.goals is not None
    assert stuck.goals.finish_round is not None
    assert stuck.goals.finish_round.is_redone
    again = apply_patch(board(finished(0), definition="pending"), stuck.goals)
    assert again.round_number == 2
    assert (await settled(again, verdict(), 0)).output["route"] == "complete_limit"


async def test_two_idle_rounds_with_a_fruitful_one_between_them_are_not_stuck() -> None:
    goals = board(finished(0), finished(2), definition="pending")
    assert (await settled(goals, verdict(), 0)).output["route"] == "next_round"


async def test_closing_a_round_keeps_its_claims_ranges_and_attempts() -> None:
    goals = board(definition="pending", usage="pending")
    output = verdict(goal_status={"definition": "satisfied", "usage": "blocked"}, satisfied_goals=["definition"])
    result = await settled(goals, output)
    assert result.output["route"] == "complete"
    assert result.goals is not None
    after = apply_patch(goals, result.goals)
    assert after.round_number == 2
    assert [goal.status for goal in after.goals] == ["satisfied", "blocked"]
    (done,) = after.finished_rounds
    assert (done.number, done.evidence, done.satisfied) == (1, 1, ("definition",))
    assert done.synthesis["ranges"] == [["a.py", 1, 2, "f00"]]
    assert done.synthesis["attempts"] == {"find": []}
    assert done.synthesis["route"] == "complete"


async def judged(claims: dict[str, list[Any]], coverage: float, **statuses: str) -> dict[str, Any]:
    looked_at = view(
        goals=board(**statuses),
        synthesis={"hints_for_goals": claims, "coverage": coverage},
        planner={"steps": [], "target_goals": list(statuses)},
    )
    context = no_context()
    return await critic.by_rules(context, looked_at, await critic.gather(context, looked_at))


@pytest.mark.parametrize(("coverage", "status"), [(0.33, "partial"), (0.34, "satisfied"), (0.35, "satisfied")])
async def test_a_goal_is_met_by_claims_that_cover_a_third_of_the_question(coverage: float, status: str) -> None:
    output = await judged({"definition": [{}]}, coverage, definition="pending")
    assert output["goal_status"] == {"definition": status}
    assert output["verdict"] == ("approved" if status == "satisfied" else "next_stage")


async def test_goals_without_claims_stay_open_unless_an_answer_can_do_without_them() -> None:
    output = await judged({}, 1.0, definition="pending", usage="pending", tests="partial")
    assert output["goal_status"] == {"definition": "pending", "usage": "blocked", "tests": "blocked"}
    assert output["remaining_goals"] == ["definition"]
    assert output["verdict"] == "next_stage"


async def test_only_goals_that_remain_are_judged() -> None:
    output = await judged({"usage": [{}]}, 1.0, definition="satisfied", usage="pending", tests="dropped")
    assert output["goal_status"] == {"usage": "satisfied"}
    assert output["verdict"] == "approved"
