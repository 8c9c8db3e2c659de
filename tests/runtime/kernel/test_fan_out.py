"""Fan-out over data: one visit of a stage, an execution per item, the results in the order of the items."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from runtime.primitives.ids import GoalId
from runtime.run.bounds import Grant
from runtime.run.envelope import InterruptRequest
from runtime.run.goals import Goal, GoalsPatch
from runtime.run.stage_view import decode_view
from runtime.supervision.commands import CancelStage
from runtime.supervision.decide import MAX_REISSUES
from runtime.supervision.events import StageSucceeded, StageUsage
from runtime.supervision.flow import MAX_ITEMS
from runtime.testing import Bench, PipelineBuilder


def each(concurrency: int = 2, **settings: Any) -> PipelineBuilder:
    """list → each, once per item → last."""
    builder = PipelineBuilder(max_agent_hops=9).stage("list", default_next="each")
    fan_out = {"foreach": "outputs.list.found.steps", "foreach_concurrency": concurrency, "default_next": "last"}
    return builder.stage("each", **{**fan_out, **settings}).stage("last")


def with_items(builder: PipelineBuilder, items: Any, **request: Any) -> Bench:
    bench = Bench(builder.build())
    bench.request(**request)
    bench.succeed({"found": {"steps": items}})
    return bench


def items_at_work(bench: Bench) -> list[int]:
    return [entry.key.item for entry in bench.state.in_flight.values() if entry.stage == "each"]


def test_every_item_is_given_to_its_own_execution_of_one_visit() -> None:
    bench = with_items(each(3), ["x", {"y": 1}, None])
    views = [decode_view(command.input) for command in bench.issued[1:]]
    assert [(view.item, view.item_index, view.hop) for view in views] == [("x", 0, 2), ({"y": 1}, 1, 2), (None, 2, 2)]
    assert bench.envelope.usage.agent_hops == 2
    assert len({command.key.effect_key for command in bench.issued}) == 4


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_results_are_joined_in_item_order_whatever_the_order_of_completion(order: tuple[int, ...]) -> None:
    bench = with_items(each(3), ["x", "y", "z"])
    for item in order:
        bench.succeed({"of": item}, stage="each", item=item)
    assert bench.envelope.outputs["each"] == {"items": [{"of": 0}, {"of": 1}, {"of": 2}]}
    assert bench.at_work == ["last"]


@pytest.mark.parametrize("concurrency", [1, 2, 4, 5, 6])
def test_as_many_items_are_at_work_as_the_limit_allows_and_never_more(concurrency: int) -> None:
    bench = with_items(each(concurrency), list(range(5)))
    started = items_at_work(bench)
    left = 5
    while left:
        assert len(items_at_work(bench)) == min(concurrency, left)
        bench.succeed(stage="each", item=items_at_work(bench)[-1])
        started += [item for item in items_at_work(bench) if item not in started]
        left -= 1
    assert started == list(range(5)), "items are not taken up in their order"
    assert bench.at_work == ["last"]


def test_no_items_are_an_empty_result_without_an_execution() -> None:
    bench = with_items(each(), [])
    assert bench.envelope.outputs["each"] == {"items": []}
    assert (bench.at_work, bench.envelope.usage.agent_hops) == (["last"], 3)
    assert [(record.stage, record.status) for record in bench.envelope.history] == [
        ("list", "success"),
        ("each", "skipped"),
    ]


def parallel_with(builder: PipelineBuilder) -> Bench:
    """list → each over nothing, and what the builder adds."""
    bench = Bench(builder.build())
    bench.request()
    bench.succeed({"x": []}, stage="list")
    return bench


def over_nothing() -> PipelineBuilder:
    return PipelineBuilder.parallel().stage("list").stage("each", requires=["list"], foreach="outputs.list.x")


def test_no_items_let_a_parallel_run_go_on_to_what_requires_the_stage() -> None:
    bench = parallel_with(over_nothing().stage("last", requires=["each"]))
    assert bench.at_work == ["last"]


def test_no_items_at_the_end_of_a_parallel_run_complete_it() -> None:
    bench = parallel_with(over_nothing())
    assert (bench.reason, bench.envelope.outputs["each"]) == ("completed", {"items": []})


def test_a_visit_without_items_can_lose_a_race_in_the_turn_in_which_it_began() -> None:
    bench = parallel_with(over_nothing().stage("join", requires=["list", "each"], join_strategy="any"))
    assert (bench.at_work, bench.envelope.stages["each"]) == (["join"], "cancelled")
    assert "each" not in bench.envelope.outputs


@pytest.mark.parametrize(
    ("items", "found"), [({"a": 1}, "a dict"), ("abc", "a str"), (None, "a NoneType"), (3, "a int")]
)
def test_what_is_no_list_fails_the_stage_and_says_what_it_is(items: Any, found: str) -> None:
    bench = with_items(each(), items)
    assert bench.reason == "internal_error"
    expected = f"stage 'each' runs for each of 'outputs.list.found.steps', which is {found}"
    assert bench.envelope.terminal_detail == expected
    assert bench.envelope.errors == (f"each: {expected}",)


def test_a_path_that_leads_nowhere_fails_the_stage() -> None:
    bench = Bench(each().build())
    bench.request()
    bench.succeed({"other": 1})
    assert "which is a NoneType" in str(bench.envelope.terminal_detail)


@pytest.mark.parametrize(("count", "reason"), [(MAX_ITEMS, None), (MAX_ITEMS + 1, "internal_error")])
def test_a_thousand_items_are_taken_and_one_more_is_not(count: int, reason: str | None) -> None:
    bench = with_items(each(64), list(range(count)))
    assert bench.reason == reason
    if reason is not None:
        assert "which is 1001 items, limit 1000" in str(bench.envelope.terminal_detail)
        return
    while bench.at_work[0] == "each":
        bench.succeed({"n": items_at_work(bench)[0]}, stage="each", item=items_at_work(bench)[0])
    assert bench.envelope.outputs["each"] == {"items": [{"n": n} for n in range(MAX_ITEMS)]}


def test_a_failure_of_the_stage_as_a_whole_takes_its_error_route() -> None:
    bench = with_items(each(error_next="last"), "no list")
    assert bench.at_work == ["last"]


def test_a_chain_of_empty_visits_ends_at_its_bound_and_does_not_nest() -> None:
    builder = PipelineBuilder(max_agent_hops=5_000).stage("list", default_next="each")
    builder.stage("each", foreach="outputs.list.x", default_next="each").edge_limit("each", "each", 4_000)
    bench = Bench(builder.build())
    bench.request()
    bench.succeed({"x": []})
    assert bench.reason == "max_loop_exceeded"
    assert bench.envelope.usage.edges["each->each"] == 4_000


# Items that fail


def test_an_item_is_retried_by_itself_while_the_others_go_on() -> None:
    bench = with_items(each(2, max_retries=1), ["x", "y", "z"])
    bench.fail("tool", stage="each", item=0)
    assert items_at_work(bench) == [1, 0], "a waiting retry keeps its place"
    bench.succeed({"of": 1}, stage="each", item=1)
    assert items_at_work(bench) == [0, 2]
    bench.wait(1)
    retried = bench.in_flight("each", 0)
    assert (retried.key.attempt, retried.waiting_retry) == (2, False)
    bench.succeed({"of": 2}, stage="each", item=2)
    bench.succeed({"of": 0}, stage="each", item=0)
    assert bench.envelope.outputs["each"] == {"items": [{"of": 0}, {"of": 1}, {"of": 2}]}


def test_an_item_that_fails_for_good_fails_the_stage_and_stops_the_others() -> None:
    bench = with_items(each(3), ["x", "y", "z"])
    others = [bench.in_flight("each", 0), bench.in_flight("each", 2)]
    bench.fail("tool", "no such file", stage="each", item=1)
    assert (bench.reason, bench.envelope.terminal_detail) == (
        "tool_failed_fatally",
        "stage 'each' failed after 1 attempt: no such file",
    )
    assert [c for c in bench.commands if isinstance(c, CancelStage)] == [CancelStage(e.key, e.stage) for e in others]
    assert [(record.item, record.status) for record in bench.envelope.history[1:]] == [
        (1, "error"),
        (0, "cancelled"),
        (2, "cancelled"),
    ]
    assert bench.state.fan_outs == {}


def test_an_item_that_fails_for_good_takes_the_error_route_without_the_others() -> None:
    bench = with_items(each(2, error_next="last"), ["x", "y", "z"])
    late = bench.in_flight("each", 0)
    bench.fail("tool", stage="each", item=1)
    assert bench.at_work == ["last"]
    assert bench.happen(StageSucceeded(late.key, {})).ignored == "no such stage is in flight"
    assert "each" not in bench.envelope.outputs


def test_each_item_has_its_own_timeout() -> None:
    bench = with_items(each(1, timeout_s=10, max_retries=1), ["x", "y"])
    bench.wait(9)
    bench.succeed(stage="each", item=0)
    bench.wait(9.999)
    assert bench.in_flight("each", 1).key.attempt == 1
    bench.wait(0.001)
    assert bench.in_flight("each", 1).waiting_retry


def test_a_lost_process_re_issues_every_item_that_was_in_its_hands() -> None:
    bench = with_items(each(2), ["x", "y", "z"])
    bench.succeed({"of": 0}, stage="each", item=0)
    bench.lose("each")
    assert sorted((e.key.item, e.key.attempt) for e in bench.state.in_flight.values()) == [(1, 2), (2, 2)]
    assert [decode_view(command.input).item for command in bench.issued[-2:]] == ["y", "z"]
    assert bench.envelope.usage.agent_hops == 2


def test_a_process_that_keeps_dying_under_its_items_fails_the_stage_once() -> None:
    bench = with_items(each(2), ["x", "y", "z"])
    for _ in range(MAX_REISSUES + 1):
        bench.lose("each")
    assert bench.reason == "internal_error"
    assert [event.type for event in bench.client_events].count("run.finished") == 1


def test_an_item_cannot_wait_for_a_person() -> None:
    bench = with_items(each(), ["x"], wait=True)
    bench.succeed({}, interrupt=InterruptRequest("clarification", "?"))
    assert bench.reason == "internal_error"
    assert "items of a fan-out cannot wait for a person" in str(bench.envelope.terminal_detail)


def test_required_fields_are_required_of_every_item() -> None:
    bench = with_items(each(required_output_fields=["n"]), ["x", "y"])
    bench.succeed({"n": 1}, stage="each", item=0)
    bench.succeed({}, stage="each", item=1)
    assert "lacks the required fields n" in str(bench.envelope.terminal_detail)


# Cancellation, goals, budgets, views


def test_cancelling_the_run_stops_every_item() -> None:
    bench = with_items(each(2), ["x", "y", "z"])
    bench.cancel()
    assert len([command for command in bench.commands if isinstance(command, CancelStage)]) == 2
    assert (bench.state.in_flight, bench.state.fan_outs, bench.state.timers) == ({}, {}, {})


def test_a_fan_out_that_loses_a_race_stops_all_its_items() -> None:
    builder = PipelineBuilder.parallel().stage("list").stage("fast", requires=["list"])
    builder.stage("each", requires=["list"], foreach="outputs.list.x", foreach_concurrency=2)
    builder.stage("join", requires=["fast", "each"], join_strategy="any")
    bench = Bench(builder.build())
    bench.request()
    bench.succeed({"x": [1, 2, 3]})
    late = bench.in_flight("each", 1)
    bench.succeed(stage="each", item=0)
    bench.succeed(stage="fast")
    assert (bench.at_work, bench.state.fan_outs) == (["join"], {})
    assert bench.happen(StageSucceeded(late.key, {})).ignored == "no such stage is in flight"
    assert "each" not in bench.envelope.outputs


def test_goals_change_when_the_last_item_is_there_in_the_order_of_the_items() -> None:
    bench = with_items(each(2), ["x", "y"])
    for item in (1, 0):
        patch = GoalsPatch(add=(Goal(GoalId(f"g{item}"), "find"),), statuses={GoalId("g"): "satisfied"})
        bench.succeed({}, goals=patch, stage="each", item=item)
        assert bool(bench.envelope.goals.goals) == (item == 0)
    assert [goal.id for goal in bench.envelope.goals.goals] == ["g0", "g1"]
    assert [event.type for event in bench.client_events].count("goals.changed") == 1


def test_items_share_what_the_run_may_spend() -> None:
    builder = PipelineBuilder(max_llm_calls=3, max_tool_calls=10).stage("list", default_next="each")
    model = {"has_llm": True, "model_role": "m", "has_tools": True, "tool_access": "read", "allowed_tools": ["look"]}
    builder.stage("each", foreach="outputs.list.x", foreach_concurrency=3, **model)
    bench = Bench(builder.build())
    bench.request()
    bench.succeed({"x": [1, 2, 3]})
    grants = [command.grant for command in bench.issued[1:]]
    assert [(grant.llm_calls, grant.tool_calls) for grant in grants] == [(1, 8), (1, 2), (1, 0)]
    assert bench.want("each", 0, llm_calls=1).llm_calls == 0
    bench.succeed({}, StageUsage(tool_calls=1), stage="each", item=1)
    assert bench.want("each", 0, llm_calls=2, tool_calls=9) == Grant(1, 1, None)


def test_a_final_stage_with_items_answers_at_the_limit_from_all_of_them() -> None:
    builder = PipelineBuilder(final_stage="say", max_agent_hops=2).stage("list", default_next="list2")
    builder.stage("list2").stage("say", foreach="outputs.list.x", foreach_concurrency=1)
    bench = Bench(builder.build())
    bench.request()
    bench.succeed({"x": [1, 2]})
    bench.succeed({"of": 1})
    bench.succeed({"of": 2})
    assert (bench.reason, bench.envelope.outputs["say"]) == (
        "max_agent_hops_exceeded",
        {"items": [{"of": 1}, {"of": 2}]},
    )


@pytest.mark.parametrize("items", [[], "no list"])
def test_a_final_stage_with_nothing_to_run_for_does_not_change_the_reason(items: Any) -> None:
    builder = PipelineBuilder(final_stage="say", max_agent_hops=2).stage("list", default_next="list2")
    builder.stage("list2").stage("say", foreach="outputs.list.x", error_next="list2")
    bench = Bench(builder.build())
    bench.request()
    bench.succeed({"x": items})
    assert (bench.reason, bench.at_work) == ("max_agent_hops_exceeded", [])


def test_a_supervisor_that_takes_over_re_issues_the_items_in_flight_alone() -> None:
    bench = with_items(each(2), ["x", "y", "z"])
    bench.succeed({"of": 0}, stage="each", item=0)
    bench.adopt()
    assert sorted((e.key.item, e.key.attempt) for e in bench.state.in_flight.values()) == [(1, 2), (2, 2)]
    for item in (1, 2):
        bench.succeed({"of": item}, stage="each", item=item)
    assert bench.envelope.outputs["each"] == {"items": [{"of": 0}, {"of": 1}, {"of": 2}]}
