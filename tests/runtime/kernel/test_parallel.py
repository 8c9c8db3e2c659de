"""Parallel runs, one event at a time: what starts when, who loses, what a failure and a loop do to the rest."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.run.stage_view import decode_view
from runtime.supervision.commands import CancelStage
from runtime.supervision.decide import MAX_REISSUES
from runtime.supervision.events import ActorLost, StageSucceeded, StageUsage
from runtime.testing import START_MS, Bench, PipelineBuilder

parallel = PipelineBuilder.parallel


def begun(builder: PipelineBuilder, **request: Any) -> Bench:
    bench = Bench(builder.build())
    bench.request(**request)
    return bench


def race() -> PipelineBuilder:
    """fast and slow race for join."""
    return parallel().stage("fast").stage("slow").stage("join", requires=["fast", "slow"], join_strategy="any")


def diamond() -> PipelineBuilder:
    """top, then left and right, then bottom."""
    builder = parallel().stage("top").stage("left", requires=["top"]).stage("right", requires=["top"])
    return builder.stage("bottom", requires=["left", "right"])


# What starts when


def test_a_stage_starts_as_soon_as_its_dependencies_allow_without_waiting_for_a_batch() -> None:
    builder = parallel().stage("a").stage("b").stage("after_a", requires=["a"]).stage("after_b", requires=["b"])
    bench = begun(builder)
    assert bench.at_work == ["a", "b"]
    bench.succeed(stage="a")
    assert bench.at_work == ["b", "after_a"]
    bench.succeed(stage="after_a")
    bench.succeed(stage="b")
    assert bench.at_work == ["after_b"]
    bench.succeed()
    assert bench.reason == "completed"
    assert bench.envelope.usage.agent_hops == 4


def test_a_join_of_all_starts_when_every_required_stage_succeeded() -> None:
    bench = begun(diamond())
    bench.succeed()
    assert bench.at_work == ["left", "right"]
    bench.succeed(stage="right")
    assert bench.at_work == ["left"]
    bench.succeed()
    assert bench.at_work == ["bottom"]


@pytest.mark.parametrize("order", [["left", "right"], ["right", "left"]])
def test_outputs_stand_in_the_order_of_the_pipeline_whichever_stage_ended_first(order: list[str]) -> None:
    bench = begun(diamond())
    bench.succeed({"n": 0})
    for stage in order:
        bench.succeed({"from": stage}, stage=stage)
    assert list(decode_view(bench.issued[-1].input).outputs) == ["top", "left", "right"]


def test_after_orders_two_stages_when_both_are_part_of_the_run() -> None:
    bench = begun(parallel().stage("a").stage("b", after=["a"]))
    assert bench.at_work == ["a"]
    bench.succeed()
    assert bench.at_work == ["b"]


def test_after_lets_a_stage_start_also_when_the_other_failed_and_its_failure_was_handled() -> None:
    bench = begun(parallel().stage("a", error_next="end").stage("b", after=["a"]))
    bench.fail()
    assert bench.at_work == ["b"]


def test_after_does_not_wait_for_a_stage_that_is_no_part_of_the_run() -> None:
    builder = parallel().stage("a").rule("x", 1, "rare").stage("b", after=["rare"]).stage("rare")
    assert begun(builder).at_work == ["a", "b"]


def test_a_stage_that_is_routed_to_comes_after_what_it_is_declared_to_come_after() -> None:
    builder = parallel().stage("a", default_next="extra").stage("slow").stage("extra", after=["slow"])
    bench = begun(builder)
    bench.succeed(stage="a")
    assert bench.at_work == ["slow"]
    assert bench.envelope.usage.edges == {"a->extra": 1}
    bench.succeed()
    assert bench.at_work == ["extra"]
    bench.succeed()
    assert bench.reason == "completed"


def test_a_stage_that_nothing_requires_and_nothing_routes_to_is_part_of_every_run() -> None:
    assert begun(parallel().stage("a").stage("b").stage("c")).at_work == ["a", "b", "c"]


def test_a_stage_that_is_only_routed_to_joins_the_run_when_it_is() -> None:
    builder = parallel().stage("a").rule("x", 1, "extra").stage("extra")
    without, with_it = begun(builder), begun(builder)
    without.succeed({"x": 2})
    assert (without.reason, without.visited) == ("completed", ["a"])
    with_it.succeed({"x": 1})
    assert with_it.at_work == ["extra"]


def test_a_final_stage_is_left_to_the_limit_unless_something_requires_or_routes_to_it() -> None:
    bench = begun(parallel(final_stage="z").stage("a").stage("z"))
    assert bench.at_work == ["a"]
    bench.succeed()
    assert (bench.reason, bench.visited) == ("completed", ["a"])
    assert begun(parallel(final_stage="z").stage("z").stage("a", requires=["z"])).at_work == ["z"]


def test_the_end_of_a_branch_is_not_the_end_of_the_run() -> None:
    bench = begun(parallel().stage("a", default_next="end").stage("b"))
    bench.succeed(stage="a")
    assert (bench.envelope.lifecycle, bench.at_work) == ("running", ["b"])


def test_a_stage_that_is_required_and_routed_to_starts_once() -> None:
    builder = parallel().stage("a", default_next="b").stage("b", requires=["a"])
    bench = begun(builder)
    bench.succeed()
    bench.succeed()
    assert (bench.visited, bench.reason) == (["a", "b"], "completed")


def test_a_stage_that_is_routed_to_before_its_requirements_are_there_starts_when_they_are() -> None:
    builder = parallel().stage("a", default_next="c").stage("b").stage("c", requires=["b"])
    bench = begun(builder)
    bench.succeed(stage="a")
    assert bench.at_work == ["b"]
    bench.succeed()
    assert bench.at_work == ["c"]
    bench.succeed()
    assert (bench.visited, bench.reason) == (["a", "b", "c"], "completed")


def test_a_stage_at_work_that_is_routed_to_is_visited_again_after_it_ended() -> None:
    bench = begun(parallel().stage("a", default_next="c").stage("b", default_next="c").stage("c"))
    bench.succeed(stage="a")
    bench.succeed(stage="b")
    assert bench.at_work == ["c"]
    bench.succeed({"visit": 1})
    assert bench.flying.key.hop == 4
    bench.succeed({"visit": 2})
    assert bench.envelope.outputs["c"] == {"visit": 2}
    assert (bench.reason, bench.envelope.usage.agent_hops) == ("completed", 4)


# Joins of any


def test_a_join_of_any_starts_on_the_first_success() -> None:
    bench = begun(race())
    bench.succeed(stage="slow")
    assert bench.at_work == ["join"]
    bench.succeed()
    assert bench.reason == "completed"


def test_the_losers_are_cancelled_and_recorded_as_cancelled() -> None:
    bench = begun(race())
    loser = bench.in_flight("slow")
    bench.succeed({"won": True}, stage="fast")
    assert CancelStage(loser.key, loser.stage) in bench.commands
    assert bench.envelope.stages == {"fast": "success", "slow": "cancelled", "join": "active"}
    assert [(record.stage, record.status) for record in bench.envelope.history] == [
        ("fast", "success"),
        ("slow", "cancelled"),
    ]
    assert bench.happen(StageSucceeded(loser.key, {"late": True})).ignored == "no such stage is in flight"
    assert "slow" not in bench.envelope.outputs


def test_what_a_loser_had_reserved_counts_as_spent() -> None:
    builder = parallel(max_llm_calls=5)
    for name in ("fast", "slow"):
        builder.stage(name, has_llm=True, model_role="m")
    bench = begun(builder.stage("join", requires=["fast", "slow"], join_strategy="any"))
    bench.want("slow", llm_calls=2)
    bench.succeed({}, StageUsage(llm_calls=1), stage="fast")
    assert bench.envelope.usage.llm_calls == 1 + 3


def test_a_loser_that_has_not_started_never_does() -> None:
    builder = parallel().stage("fast").stage("other").stage("slow", after=["other"])
    bench = begun(builder.stage("join", requires=["fast", "slow"], join_strategy="any"))
    bench.succeed(stage="fast")
    assert bench.envelope.stages["slow"] == "cancelled"
    bench.succeed(stage="other")
    bench.succeed()
    assert (bench.reason, bench.visited) == ("completed", ["fast", "other", "join"])


def test_a_loser_that_waits_for_a_retry_is_dropped_without_a_second_record() -> None:
    builder = parallel().stage("fast").stage("slow", max_retries=1)
    bench = begun(builder.stage("join", requires=["fast", "slow"], join_strategy="any"))
    bench.fail(stage="slow")
    bench.succeed(stage="fast")
    assert bench.at_work == ["join"]
    assert [(record.stage, record.status) for record in bench.envelope.history] == [
        ("slow", "error"),
        ("fast", "success"),
    ]
    assert not any(timer.startswith("retry") for timer in bench.state.timers)


def test_a_loser_that_was_to_be_visited_again_is_not() -> None:
    bench = begun(race().stage("again", default_next="slow"))
    bench.succeed(stage="again")
    bench.succeed(stage="fast")
    bench.succeed(stage="join")
    assert (bench.reason, bench.visited.count("slow")) == ("completed", 1)


def test_a_loser_that_is_routed_to_afterwards_starts_when_its_requirements_are_there() -> None:
    builder = parallel().stage("fast").stage("up", default_next="beyond").stage("slow", requires=["up"])
    builder.stage("join", requires=["fast", "slow"], join_strategy="any").stage("beyond").stage("call")
    bench = begun(builder.rule("x", 1, "slow"))
    bench.succeed(stage="fast")
    assert bench.envelope.stages["slow"] == "cancelled"
    bench.succeed({"x": 1}, stage="call")
    bench.succeed(stage="up")
    assert "slow" in bench.at_work


def test_a_loser_that_another_stage_needs_keeps_running() -> None:
    bench = begun(race().stage("report", requires=["slow"]))
    bench.succeed(stage="fast")
    assert bench.at_work == ["slow", "join"]
    bench.succeed(stage="slow")
    assert bench.at_work == ["join", "report"]


def test_what_only_a_loser_waited_for_is_cancelled_with_it() -> None:
    builder = parallel().stage("fast").stage("first").stage("second", requires=["first"])
    bench = begun(builder.stage("join", requires=["fast", "second"], join_strategy="any"))
    bench.succeed(stage="fast")
    assert bench.at_work == ["join"]
    assert bench.envelope.stages["first"] == bench.envelope.stages["second"] == "cancelled"
    bench.succeed()
    assert bench.reason == "completed"


def test_a_failure_in_a_race_leaves_the_other_to_win_it() -> None:
    bench = begun(race())
    bench.fail("tool", stage="fast")
    assert (bench.envelope.lifecycle, bench.at_work) == ("running", ["slow"])
    bench.succeed()
    assert bench.at_work == ["join"]


def test_a_failure_at_the_head_of_a_branch_leaves_the_other_branch_to_win() -> None:
    builder = parallel().stage("fast").stage("first").stage("second", requires=["first"])
    bench = begun(builder.stage("join", requires=["fast", "second"], join_strategy="any"))
    bench.fail(stage="first")
    assert bench.envelope.stages["second"] == "cancelled"
    bench.succeed(stage="fast")
    bench.succeed()
    assert bench.reason == "completed"


def test_a_branch_that_hung_on_a_failed_stage_alone_is_called_off() -> None:
    builder = parallel().stage("fast").stage("a").stage("b").stage("both", requires=["a", "b"])
    bench = begun(builder.stage("join", requires=["fast", "both"], join_strategy="any"))
    bench.fail(stage="a")
    assert bench.at_work == ["fast"]
    assert bench.envelope.stages == {"fast": "active", "a": "failed", "b": "cancelled", "both": "cancelled"}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("tool", "tool_failed_fatally"), ("model", "llm_failed_fatally"), ("internal", "internal_error")],
)
def test_a_join_of_any_fails_when_all_failed_with_the_reason_of_the_last_failure(kind: str, reason: str) -> None:
    bench = begun(race())
    bench.fail("timeout", recoverable=True, stage="slow")
    bench.fail(kind, stage="fast")  # type: ignore[arg-type]
    assert bench.reason == reason
    assert bench.envelope.stages == {"fast": "failed", "slow": "failed"}


def test_a_winner_and_a_loser_that_succeed_one_after_the_other_count_one_join() -> None:
    bench = begun(race())
    fast, slow = bench.in_flight("fast"), bench.in_flight("slow")
    bench.happen(StageSucceeded(fast.key, {}))
    bench.happen(StageSucceeded(slow.key, {}))
    assert bench.visited == ["fast", "slow", "join"]


# Failures in joins of all


def test_a_join_of_all_fails_when_one_fails_unrouted() -> None:
    bench = begun(diamond())
    bench.succeed()
    right = bench.in_flight("right")
    bench.fail("tool", stage="left")
    assert bench.reason == "tool_failed_fatally"
    assert CancelStage(right.key, right.stage) in bench.commands
    assert bench.envelope.stages == {"top": "success", "left": "failed", "right": "cancelled"}


def test_a_failure_with_error_next_is_handled_and_no_success_so_the_join_is_unsatisfiable_and_named() -> None:
    builder = parallel().stage("a", error_next="rescue").stage("b").stage("join", requires=["a", "b"]).stage("rescue")
    bench = begun(builder)
    bench.fail(stage="a")
    assert bench.at_work == ["b", "rescue"]
    bench.succeed(stage="b")
    bench.succeed()
    assert bench.reason == "unsatisfiable_dependencies"
    assert bench.envelope.terminal_detail == "stage 'join' lacks 'a'"
    assert bench.envelope.stages["a"] == "handled"


def test_a_stage_that_is_held_back_for_ever_is_named_with_the_stage_that_holds_it_back() -> None:
    builder = parallel().stage("a", error_next="late").stage("b", requires=["a"]).stage("late", after=["b"])
    bench = begun(builder)
    bench.fail()
    assert (bench.reason, bench.envelope.terminal_detail) == (
        "unsatisfiable_dependencies",
        "stage 'b' lacks 'a'; stage 'late' lacks 'b'",
    )


def test_a_handled_failure_counts_as_success_once_the_error_route_made_it_one() -> None:
    builder = parallel().stage("a", error_next="a").edge_limit("a", "a", 1).stage("join", requires=["a"])
    bench = begun(builder)
    bench.fail()
    bench.succeed()
    assert bench.at_work == ["join"]


def test_a_failed_stage_is_retried_while_the_others_go_on() -> None:
    bench = begun(parallel().stage("a", max_retries=1).stage("b").stage("c", requires=["b"]))
    bench.fail(stage="a")
    bench.succeed(stage="b")
    assert bench.at_work == ["a", "c"]
    bench.wait(1)
    assert bench.in_flight("a").key.attempt == 2


def test_a_lost_process_costs_only_its_own_stage() -> None:
    bench = begun(parallel().stage("a").stage("b"))
    for _ in range(MAX_REISSUES):
        bench.happen(ActorLost("a"))
    assert bench.in_flight("a").key.attempt == MAX_REISSUES + 1
    assert bench.in_flight("b").key.attempt == 1
    bench.happen(ActorLost("a"))
    assert bench.reason == "internal_error"


# Loops


def looping(**settings: Any) -> PipelineBuilder:
    """plan, then left and right, then judge, which may want it all again."""
    builder = parallel(**settings).stage("plan").stage("left", requires=["plan"]).stage("right", requires=["plan"])
    return builder.stage("judge", requires=["left", "right"]).rule("again", True, "plan", ["left", "right"])


def one_round(bench: Bench) -> None:
    for stage in ("plan", "left", "right"):
        bench.succeed({}, stage=stage)


def test_a_new_visit_makes_what_was_built_on_the_last_one_run_again() -> None:
    bench = begun(looping())
    one_round(bench)
    bench.succeed({"again": True})
    assert bench.at_work == ["plan"]
    assert bench.envelope.stages == {"plan": "active"}
    assert list(bench.envelope.outputs) == ["plan", "judge"]
    one_round(bench)
    bench.succeed({"again": False})
    assert bench.reason == "completed"
    assert bench.envelope.usage.agent_hops == 8


def test_a_new_visit_stops_what_is_still_at_work_on_the_last_one() -> None:
    builder = parallel().stage("plan").stage("work", requires=["plan"]).stage("watch", default_next="plan")
    bench = begun(builder)
    bench.succeed(stage="plan")
    work = bench.in_flight("work")
    bench.succeed(stage="watch")
    assert bench.at_work == ["plan"]
    assert CancelStage(work.key, work.stage) in bench.commands
    assert [record.status for record in bench.envelope.history] == ["success", "success", "cancelled"]
    bench.succeed()
    assert bench.at_work == ["work"]


def test_a_new_visit_of_a_stage_that_is_to_be_visited_again_anyway_is_made_once() -> None:
    builder = parallel().stage("plan").stage("work", requires=["plan"])
    builder.stage("again", default_next="work").stage("anew", default_next="plan")
    bench = begun(builder)
    bench.succeed(stage="plan")
    bench.succeed(stage="again")
    assert list(bench.state.revisits) == ["work"]
    bench.succeed(stage="anew")
    assert (bench.at_work, list(bench.state.revisits)) == (["plan"], [])
    bench.succeed()
    bench.succeed()
    assert bench.reason == "completed"
    assert bench.visited.count("work") == 2


def test_a_winner_that_is_visited_again_starts_its_join_again() -> None:
    builder = race().stage("watch", default_next="fast")
    bench = begun(builder)
    bench.succeed(stage="fast")
    bench.succeed(stage="watch")
    assert bench.at_work == ["fast"]
    bench.succeed()
    bench.succeed()
    assert (bench.reason, bench.visited.count("join")) == ("completed", 2)


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_iterations_are_bounded_in_parallel_mode_exactly_as_in_sequential_mode(limit: int) -> None:
    bench = begun(looping(max_iterations=limit, max_agent_hops=99))
    for _ in range(limit + 1):
        one_round(bench)
        bench.succeed({"again": True})
    assert bench.reason == "max_iterations_exceeded"
    assert bench.envelope.usage.iterations == limit


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_edge_limits_hold_in_parallel_mode_exactly_as_in_sequential_mode(limit: int) -> None:
    bench = begun(looping(max_iterations=9, max_agent_hops=99).edge_limit("judge", "plan", limit))
    for _ in range(limit + 1):
        one_round(bench)
        bench.succeed({"again": True})
    assert bench.reason == "max_loop_exceeded"
    assert bench.envelope.usage.edges == ({"judge->plan": limit} if limit else {})


@pytest.mark.parametrize("hops", [0, 1, 2, 3, 4])
def test_hops_are_bounded_in_parallel_mode_exactly_as_in_sequential_mode(hops: int) -> None:
    bench = begun(diamond_with_hops(hops))
    while bench.envelope.lifecycle == "running":
        bench.succeed({}, stage=bench.at_work[0])
    assert len(bench.issued) == min(hops, 4)
    assert bench.reason == ("completed" if hops == 4 else "max_agent_hops_exceeded")


def diamond_with_hops(hops: int) -> PipelineBuilder:
    builder = parallel(max_agent_hops=hops).stage("top").stage("left", requires=["top"])
    return builder.stage("right", requires=["top"]).stage("bottom", requires=["left", "right"])


# The answer at the limit


def bounded(**settings: Any) -> PipelineBuilder:
    """left loops on itself beside right; say is the final stage."""
    builder = parallel(final_stage="say", **settings).stage("left").rule("again", True, "left")
    return builder.edge_limit("left", "left", 1).stage("right").stage("say")


def test_a_bound_that_one_branch_meets_stops_the_others_and_the_final_stage_answers() -> None:
    bench = begun(bounded())
    right = bench.in_flight("right")
    for _ in range(2):
        bench.succeed({"again": True}, stage="left")
    assert bench.at_work == ["say"]
    assert CancelStage(right.key, right.stage) in bench.commands
    assert decode_view(bench.issued[-1].input).ended_by == "max_loop_exceeded"
    bench.succeed({"text": "partial"})
    assert (bench.reason, bench.envelope.outputs["say"]) == ("max_loop_exceeded", {"text": "partial"})


def test_a_final_stage_that_is_at_work_when_another_branch_meets_a_bound_goes_on_alone() -> None:
    builder = bounded().stage("route", default_next="say")
    bench = begun(builder)
    bench.succeed(stage="route")
    for _ in range(2):
        bench.succeed({"again": True}, stage="left")
    assert bench.at_work == ["say"]
    assert bench.flying.key.attempt == 1
    bench.succeed({"text": "whole"})
    assert (bench.reason, bench.envelope.outputs["say"]) == ("max_loop_exceeded", {"text": "whole"})
    assert bench.visited.count("say") == 1


def test_a_deadline_leaves_a_final_stage_its_grace_and_stops_the_stages_beside_it() -> None:
    builder = parallel(final_stage="say", deadline_s=5).stage("a", default_next="say").stage("b").stage("say")
    bench = begun(builder)
    bench.succeed(stage="a")
    slow = bench.in_flight("b")
    bench.wait(5)
    assert bench.at_work == ["say"]
    assert CancelStage(slow.key, slow.stage) in bench.commands
    bench.wait(4)
    bench.succeed({"text": "in time"})
    assert bench.reason == "deadline_exceeded"
    assert bench.envelope.outputs["say"] == {"text": "in time"}


def test_a_bound_met_by_two_branches_ends_the_run_once() -> None:
    builder = parallel(final_stage="say", max_agent_hops=3).stage("a", default_next="c").stage("b", default_next="d")
    bench = begun(builder.stage("c").stage("d").stage("say"))
    first, second = bench.in_flight("a"), bench.in_flight("b")
    bench.happen(StageSucceeded(first.key, {}))
    assert bench.happen(StageSucceeded(second.key, {})).ignored == "no such stage is in flight"
    assert bench.at_work == ["say"]


# Cancellation


def test_cancelling_reaches_every_branch_and_keeps_what_was_finished() -> None:
    bench = begun(diamond())
    bench.succeed({"n": 1})
    flying = [bench.in_flight("left"), bench.in_flight("right")]
    bench.cancel("enough")
    assert [c for c in bench.commands if isinstance(c, CancelStage)] == [CancelStage(e.key, e.stage) for e in flying]
    assert bench.envelope.outputs == {"top": {"n": 1}}
    assert [record.status for record in bench.envelope.history] == ["success", "cancelled", "cancelled"]
    assert bench.envelope.finished_at_ms == START_MS
