"""Goals: one patch, one next board; ids unique, dependants never outlive what they depend on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalBoard, GoalsPatch, GoalStatus, RoundSummary, apply_patch

A, B, C, D = (GoalId(name) for name in "abcd")
STATUSES: tuple[GoalStatus, ...] = ("pending", "satisfied", "partial", "blocked", "dropped")


def chain() -> GoalBoard:
    return GoalBoard((Goal(A, "first"), Goal(B, "second", depends_on=(A,)), Goal(C, "third", depends_on=(B,))))


def status_of(board: GoalBoard) -> dict[str, str]:
    return {goal.id: goal.status for goal in board.goals}


def test_an_empty_patch_leaves_the_board_as_it_is() -> None:
    assert apply_patch(chain(), GoalsPatch()) == chain()


def test_refining_changes_the_text_and_keeps_order_status_and_dependencies() -> None:
    board = apply_patch(chain(), GoalsPatch(refine={B: "better"}))
    assert board.goals[1] == Goal(B, "better", depends_on=(A,))
    assert [goal.id for goal in board.goals] == [A, B, C]


def test_a_dropped_goal_takes_its_direct_and_indirect_dependants_with_it() -> None:
    assert status_of(apply_patch(chain(), GoalsPatch(drop=(A,)))) == {A: "dropped", B: "dropped", C: "dropped"}


def test_a_goal_dropped_by_its_status_takes_its_dependants_with_it_too() -> None:
    assert status_of(apply_patch(chain(), GoalsPatch(statuses={B: "dropped"}))) == {
        A: "pending",
        B: "dropped",
        C: "dropped",
    }


def test_a_new_goal_that_depends_on_a_dropped_one_is_dropped_at_once() -> None:
    board = apply_patch(chain(), GoalsPatch(drop=(C,), add=(Goal(D, "late", depends_on=(C,)),)))
    assert status_of(board)[D] == "dropped"


def test_a_goal_cannot_be_revived_while_its_prerequisite_is_dropped() -> None:
    dropped = apply_patch(chain(), GoalsPatch(drop=(B,)))
    assert status_of(apply_patch(dropped, GoalsPatch(statuses={C: "pending"})))[C] == "dropped"


def test_dropping_wins_over_a_status_in_the_same_patch() -> None:
    assert status_of(apply_patch(chain(), GoalsPatch(statuses={C: "satisfied"}, drop=(C,))))[C] == "dropped"


def test_a_patch_that_names_unknown_goals_changes_nothing_there() -> None:
    unknown = GoalId("nobody")
    board = GoalBoard((Goal(A, "waits for a stranger", depends_on=(unknown,)),))
    assert (
        apply_patch(board, GoalsPatch(refine={unknown: "x"}, statuses={unknown: "dropped"}, drop=(unknown,))) == board
    )


def test_adding_a_known_id_is_refused_and_the_first_of_two_new_ones_stays() -> None:
    board = apply_patch(chain(), GoalsPatch(add=(Goal(A, "again"), Goal(D, "one"), Goal(D, "two"))))
    assert [goal.text for goal in board.goals] == ["first", "second", "third", "one"]


def test_finishing_a_round_numbers_it_and_begins_the_next() -> None:
    board = apply_patch(chain(), GoalsPatch(finish_round=RoundSummary(number=77, evidence=3)))
    board = apply_patch(board, GoalsPatch(finish_round=RoundSummary(number=77)))
    assert [summary.number for summary in board.finished_rounds] == [1, 2]
    assert board.finished_rounds[0].evidence == 3
    assert board.round_number == 3


def test_a_chain_of_ten_thousand_dependants_is_dropped_without_a_crash() -> None:
    names = [GoalId(f"g{n}") for n in range(10_000)]
    goals = [Goal(names[0], "root")] + [Goal(names[n], "x", depends_on=(names[n - 1],)) for n in range(1, 10_000)]
    board = apply_patch(GoalBoard(tuple(goals)), GoalsPatch(drop=(names[0],)))
    assert {goal.status for goal in board.goals} == {"dropped"}


def test_remaining_are_pending_and_partial_and_unanswered_adds_blocked() -> None:
    board = GoalBoard(tuple(Goal(GoalId(status), status, status) for status in STATUSES))
    assert [goal.id for goal in board.remaining] == ["pending", "partial"]
    assert [goal.id for goal in board.unanswered] == ["pending", "partial", "blocked"]


def test_a_goal_is_ready_once_its_prerequisites_are_no_longer_remaining() -> None:
    assert [goal.id for goal in chain().ready] == [A]
    assert [goal.id for goal in apply_patch(chain(), GoalsPatch(statuses={A: "satisfied"})).ready] == [B]
    assert [goal.id for goal in apply_patch(chain(), GoalsPatch(statuses={A: "blocked"})).ready] == [B]
    assert [goal.id for goal in apply_patch(chain(), GoalsPatch(statuses={A: "partial"})).ready] == [A]


def test_ready_goals_come_by_priority_and_then_in_order() -> None:
    board = GoalBoard((Goal(A, "a", priority=2), Goal(B, "b", priority=1), Goal(C, "c", priority=1)))
    assert [goal.id for goal in board.ready] == [B, C, A]


def test_goals_that_wait_for_one_another_in_a_circle_are_all_ready() -> None:
    board = GoalBoard((Goal(A, "a", depends_on=(B,)), Goal(B, "b", depends_on=(A,))))
    assert [goal.id for goal in board.ready] == [A, B]


ids = st.sampled_from([GoalId(name) for name in "abcdefgh"])
goals = st.builds(
    Goal,
    id=ids,
    text=st.text(max_size=3),
    status=st.sampled_from(STATUSES),
    priority=st.integers(-2, 2),
    depends_on=st.lists(ids, max_size=3).map(tuple),
)
patches = st.builds(
    GoalsPatch,
    refine=st.dictionaries(ids, st.text(max_size=3), max_size=3),
    statuses=st.dictionaries(ids, st.sampled_from(STATUSES), max_size=3),
    drop=st.lists(ids, max_size=3).map(tuple),
    add=st.lists(goals, max_size=4).map(tuple),
    finish_round=st.none() | st.builds(RoundSummary, number=st.integers(0, 9)),
)


@given(st.lists(patches, max_size=8))
def test_whatever_is_patched_ids_stay_unique_orphans_are_dropped_and_rounds_are_numbered(
    found: list[GoalsPatch],
) -> None:
    board = GoalBoard()
    for patch in found:
        before = board
        board = apply_patch(board, patch)
        names = [goal.id for goal in board.goals]
        assert len(set(names)) == len(names)
        assert names[: len(before.goals)] == [goal.id for goal in before.goals]
        dropped = {goal.id for goal in board.goals if goal.status == "dropped"}
        assert all(goal.status == "dropped" for goal in board.goals if dropped.intersection(goal.depends_on))
        assert dropped >= {goal.id for goal in before.goals if goal.id in patch.drop}
        assert [summary.number for summary in board.finished_rounds] == list(range(1, board.round_number))
        assert bool(board.ready) == bool(board.remaining)
        assert set(board.ready) <= set(board.remaining)
