"""`decide`, one event at a time: what a pipeline's author relies on. Each sentence of the semantics is a test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import GoalId, RunId, StageKey
from runtime.run.bounds import FIRST_TOOL_CALLS
from runtime.run.envelope import InterruptRequest
from runtime.run.goals import Goal, GoalsPatch
from runtime.run.stage_view import StageView, decode_view
from runtime.supervision.commands import CancelStage, Finish, SetTimer
from runtime.supervision.decide import MAX_REISSUES, decide
from runtime.supervision.events import (
    ActorLost,
    Event,
    RunRequested,
    StageFailed,
    StageStarted,
    StageSucceeded,
    StageUsage,
    TimerFired,
    ToolCalled,
)
from runtime.supervision.state import Decision, RunState
from runtime.supervision.transitions import BACKOFF_CAP_MS, backoff_ms
from runtime.testing import START_MS, Bench, PipelineBuilder

AGAIN: dict[str, Any] = {"again": True}
MODEL: dict[str, Any] = {"has_llm": True, "model_role": "m"}
TOOLS: dict[str, Any] = {"has_tools": True, "tool_access": "read", "allowed_tools": ["look"]}


def loop(**settings: Any) -> PipelineBuilder:
    """a → b, and b → a again while b says so."""
    return PipelineBuilder(**settings).stage("a", default_next="b").stage("b").rule("again", True, "a")


def line(**settings: Any) -> PipelineBuilder:
    """a → b → c → end."""
    return PipelineBuilder(**settings).stage("a", default_next="b").stage("b", default_next="c").stage("c")


def begun(builder: PipelineBuilder | PipelineConfig, **request: Any) -> Bench:
    bench = Bench(builder if isinstance(builder, PipelineConfig) else builder.build())
    bench.request(**request)
    return bench


def until_over(bench: Bench) -> Iterator[int]:
    """Round after round until the run is over, a hundred at most."""
    for number in range(100):
        if bench.envelope.lifecycle == "terminated":
            return
        yield number
    raise AssertionError("the run does not end")


def run_while_possible(bench: Bench, output: dict[str, Any]) -> Bench:
    for _ in until_over(bench):
        bench.succeed(output)
    return bench


def view_of(bench: Bench) -> StageView:
    return decode_view(bench.issued[-1].input)


def finishes(bench: Bench) -> list[str]:
    return [command.reason for command in bench.commands if isinstance(command, Finish)]


# Routing and the end


def test_a_run_goes_from_stage_to_stage_and_completes_after_the_last() -> None:
    bench = run_while_possible(begun(line()), {"x": 1})
    assert bench.visited == ["a", "b", "c"]
    assert bench.envelope.terminal_reason == "completed"
    assert bench.envelope.outputs == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}
    assert bench.envelope.usage.agent_hops == 3
    assert bench.envelope.usage.iterations == 0
    assert bench.envelope.usage.edges == {"a->b": 1, "b->c": 1}
    assert bench.envelope.current_stage is None
    assert finishes(bench) == ["completed"]


def test_an_accepted_run_is_running_under_the_hash_of_its_rules() -> None:
    bench = begun(line())
    assert bench.envelope.lifecycle == "running"
    assert bench.envelope.config_hash == bench.config.config_hash
    assert bench.envelope.received_at_ms == START_MS
    assert bench.envelope.current_stage == "a"
    assert bench.envelope.terminal_reason is None


def test_a_stage_sees_the_request_and_what_earlier_stages_wrote_under_their_keys() -> None:
    config = PipelineBuilder().stage("a", default_next="b", output_key="first").stage("b").build()
    bench = begun(config, metadata={"repo": "/r"}, session_id="s", user_id="u")
    bench.succeed({"x": [1]})
    view = view_of(bench)
    assert (view.raw_input, view.metadata, view.session_id, view.user_id) == ("?", {"repo": "/r"}, "s", "u")
    assert view.outputs == {"first": {"x": [1]}}
    assert (view.hop, view.edges, view.ended_by) == (2, {"a->b": 1}, None)


def test_a_later_visit_replaces_the_output_of_an_earlier_one() -> None:
    bench = begun(loop())
    bench.succeed({"n": 1})
    bench.succeed(AGAIN)
    bench.succeed({"n": 2})
    assert bench.envelope.outputs == {"a": {"n": 2}, "b": AGAIN}


def test_a_rule_drops_the_outputs_that_it_clears_and_no_others() -> None:
    builder = line().rule("again", True, "a", ["b", "c"])
    bench = begun(builder)
    for output in ({"n": 1}, {"n": 2}, AGAIN):
        bench.succeed(output)
    assert bench.envelope.outputs == {"a": {"n": 1}}
    assert view_of(bench).outputs == {"a": {"n": 1}}


@pytest.mark.parametrize("target", ["end", "clarification"])
def test_a_rule_that_ends_the_run_clears_too(target: str) -> None:
    bench = begun(PipelineBuilder().stage("a", default_next="b").stage("b").rule("x", 1, target, ["a"]))
    bench.succeed({})
    bench.succeed({"x": 1})
    assert bench.envelope.outputs == {"b": {"x": 1}}


def test_what_a_blocked_move_would_have_cleared_is_kept_for_the_answer() -> None:
    builder = PipelineBuilder(max_iterations=0, final_stage="c").stage("a", default_next="b")
    bench = begun(builder.stage("b").rule("again", True, "a", ["a", "b"]).stage("c"))
    bench.succeed({"n": 1})
    bench.succeed(AGAIN)
    assert view_of(bench).outputs == {"a": {"n": 1}, "b": AGAIN}


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("clarification", "clarification_required"),
        ("confirmation", "confirmation_required"),
        ("agent_review", "confirmation_required"),
    ],
)
def test_routing_to_an_interrupt_ends_the_run_with_its_question(target: str, reason: str) -> None:
    bench = begun(PipelineBuilder().stage("a").rule("ask", True, target))
    bench.succeed({"ask": True, f"{target}_question": "Which one?"})
    asked = bench.envelope.interrupt
    assert asked is not None
    assert (asked.id, asked.kind, asked.question, asked.stage) == ("r-bench-q1", target, "Which one?", "a")
    assert (bench.envelope.terminal_reason, bench.envelope.terminal_detail) == (reason, "Which one?")
    assert [event.type for event in bench.client_events][-2:] == ["interrupt.raised", "run.finished"]


def test_an_interrupt_without_a_question_gets_one() -> None:
    bench = begun(PipelineBuilder().stage("a", default_next="clarification").rule("known", True, "end"))
    bench.succeed({})
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.question


def test_a_stage_may_raise_an_interrupt_itself_and_its_output_is_kept() -> None:
    bench = begun(line())
    asked = InterruptRequest("confirmation", "Sure?", data={"n": 1})
    bench.happen(StageSucceeded(bench.flying.key, {"x": 1}, None, asked))
    put = bench.envelope.interrupt
    assert put is not None
    assert (put.kind, put.question, put.data, put.stage) == ("confirmation", "Sure?", {"n": 1}, "a")
    assert (put.created_at_ms, put.expires_at_ms) == (START_MS, START_MS + 3_600_000)
    assert bench.envelope.outputs == {"a": {"x": 1}}
    assert bench.envelope.terminal_reason == "confirmation_required"


def test_goals_change_by_the_patch_that_a_stage_returns() -> None:
    bench = begun(line())
    decision = bench.succeed({}, goals=GoalsPatch(add=(Goal(GoalId("g"), "find it"),)))
    assert [goal.text for goal in bench.envelope.goals.goals] == ["find it"]
    assert view_of(bench).goals == bench.envelope.goals
    assert "goals.changed" in [event.type for event in bench.client_events]
    assert decision.ignored is None


# Bounds: N permits exactly N


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_a_bound_of_n_loop_backs_permits_exactly_n(limit: int) -> None:
    bench = run_while_possible(begun(loop(max_iterations=limit)), AGAIN)
    assert bench.envelope.usage.iterations == limit
    assert bench.envelope.usage.edges.get("b->a", 0) == limit
    assert bench.visited == ["a", "b"] * (limit + 1)
    assert bench.envelope.terminal_reason == "max_iterations_exceeded"


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_a_bound_of_n_hops_permits_exactly_n_stage_executions(limit: int) -> None:
    bench = run_while_possible(begun(loop(max_iterations=99, max_agent_hops=limit)), AGAIN)
    assert len(bench.issued) == bench.envelope.usage.agent_hops == limit
    assert bench.envelope.terminal_reason == "max_agent_hops_exceeded"


def test_a_run_that_needs_exactly_its_hops_completes() -> None:
    assert run_while_possible(begun(line(max_agent_hops=3)), {}).envelope.terminal_reason == "completed"
    assert run_while_possible(begun(line(max_agent_hops=2)), {}).envelope.terminal_reason == "max_agent_hops_exceeded"


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_an_edge_limit_of_n_lets_the_edge_be_taken_exactly_n_times(limit: int) -> None:
    bench = run_while_possible(begun(loop(max_iterations=99).edge_limit("b", "a", limit)), AGAIN)
    assert bench.envelope.usage.edges.get("b->a", 0) == limit
    assert bench.envelope.usage.iterations == limit
    assert bench.envelope.terminal_reason == "max_loop_exceeded"
    assert bench.envelope.terminal_detail == f"edge 'b' -> 'a' taken {limit} times, limit {limit}"


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_self_loop_is_bounded_by_its_edge_limit_and_is_no_iteration(limit: int) -> None:
    builder = PipelineBuilder(max_iterations=0).stage("a").rule("again", True, "a").edge_limit("a", "a", limit)
    bench = run_while_possible(begun(builder), AGAIN)
    assert bench.visited == ["a"] * (limit + 1)
    assert bench.envelope.usage.iterations == 0
    assert bench.envelope.terminal_reason == "max_loop_exceeded"


def test_a_blocked_move_counts_nothing() -> None:
    bench = run_while_possible(begun(loop(max_agent_hops=2)), AGAIN)
    assert (bench.envelope.usage.iterations, bench.envelope.usage.edges) == (0, {"a->b": 1})


def test_an_error_route_backwards_counts_as_edge_and_iteration() -> None:
    builder = PipelineBuilder(max_iterations=1).stage("a", default_next="b").stage("b", error_next="a")
    bench = begun(builder)
    for _ in until_over(bench):
        bench.succeed({}) if bench.flying.stage == "a" else bench.fail()
    assert bench.envelope.usage.edges == {"a->b": 2, "b->a": 1}
    assert bench.envelope.terminal_reason == "max_iterations_exceeded"


def test_a_request_can_lower_a_bound_of_the_pipeline_but_not_raise_it() -> None:
    lowered = run_while_possible(begun(loop(max_iterations=2), limits={"max_iterations": 1}), AGAIN)
    assert lowered.envelope.usage.iterations == 1
    raised = run_while_possible(begun(loop(max_iterations=2), limits={"max_iterations": 9}), AGAIN)
    assert raised.envelope.usage.iterations == 2


@pytest.mark.parametrize(
    ("bound", "reason"), [("llm_calls", "max_llm_calls_exceeded"), ("tokens", "max_tokens_exceeded")]
)
def test_a_refused_reservation_ends_the_run_with_that_bound_without_a_retry(bound: Any, reason: str) -> None:
    bench = begun(PipelineBuilder().stage("a", max_retries=2, error_next="b").stage("b"))
    bench.fail("budget", "6 model calls wanted, 5 left", bound=bound)
    assert (bench.envelope.terminal_reason, bench.envelope.terminal_detail) == (reason, "6 model calls wanted, 5 left")


def test_a_refused_reservation_without_a_bound_is_a_failure_like_others() -> None:
    bench = begun(line())
    bench.fail("budget")
    assert bench.envelope.terminal_reason == "internal_error"


@pytest.mark.parametrize("spent", [3, 4])
def test_callers_are_warned_once_from_eighty_percent_of_a_bound_on(spent: int) -> None:
    model = {"has_llm": True, "model_role": "m"}
    bench = begun(PipelineBuilder(max_llm_calls=5).stage("a", default_next="b", **model).stage("b"))
    bench.want(llm_calls=3)
    bench.succeed({}, StageUsage(llm_calls=spent))
    bench.start()
    bench.succeed({}, StageUsage())
    warned = [event.data for event in bench.client_events if event.type == "bound.warned"]
    assert warned == ([{"bound": "max_llm_calls"}] if spent == 4 else [])


# The final stage


def with_final(**settings: Any) -> PipelineBuilder:
    return loop(final_stage="z", **settings).stage("z", max_retries=2, error_next="a")


@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_a_bound_ends_the_run_by_way_of_the_final_stage_with_one_hop_kept_for_it(hops: int) -> None:
    bench = run_while_possible(begun(with_final(max_agent_hops=hops, max_iterations=99)), AGAIN)
    assert bench.visited == [*(["a", "b"] * 9)[: hops - 1], "z"]
    assert bench.envelope.usage.agent_hops == hops
    assert bench.envelope.terminal_reason == "max_agent_hops_exceeded"
    assert bench.envelope.outputs["z"] == AGAIN


def test_with_no_hop_at_all_not_even_the_final_stage_runs() -> None:
    bench = begun(with_final(max_agent_hops=0))
    assert bench.issued == []
    assert bench.envelope.terminal_reason == "max_agent_hops_exceeded"


def test_the_final_stage_knows_the_reason_gets_no_model_call_and_takes_no_edge() -> None:
    bench = begun(loop(max_iterations=0, final_stage="z").stage("z", **MODEL, **TOOLS))
    bench.succeed({})
    bench.succeed(AGAIN)
    assert (bench.flying.stage, bench.flying.grant.llm_calls, bench.flying.grant.tool_calls) == (
        "z",
        0,
        FIRST_TOOL_CALLS,
    )
    assert bench.want(llm_calls=1).llm_calls == 0
    assert view_of(bench).ended_by == "max_iterations_exceeded"
    assert bench.envelope.usage.edges == {"a->b": 1}
    assert bench.envelope.terminal_reason is None


def test_after_the_answer_at_the_limit_no_route_is_taken() -> None:
    builder = loop(max_iterations=0, final_stage="z").stage("z", default_next="a")
    bench = run_while_possible(begun(builder), AGAIN)
    assert bench.visited == ["a", "b", "z"]
    assert bench.envelope.terminal_reason == "max_iterations_exceeded"


def test_a_question_of_the_final_stage_at_the_limit_does_not_change_the_reason() -> None:
    bench = begun(with_final(max_agent_hops=1))
    bench.happen(StageSucceeded(bench.flying.key, {}, None, InterruptRequest("clarification", "?")))
    assert bench.envelope.terminal_reason == "max_agent_hops_exceeded"


def test_a_final_stage_that_fails_at_the_limit_is_not_retried_nor_routed_and_the_reason_stays() -> None:
    bench = begun(with_final(max_agent_hops=1))
    bench.fail("tool")
    assert bench.visited == ["z"]
    assert bench.envelope.terminal_reason == "max_agent_hops_exceeded"
    assert bench.envelope.errors == ("z: broken",)


def test_a_final_stage_whose_process_dies_for_good_at_the_limit_leaves_the_reason() -> None:
    bench = begun(with_final(max_agent_hops=1))
    for _ in range(MAX_REISSUES + 1):
        bench.lose()
    assert bench.envelope.terminal_reason == "max_agent_hops_exceeded"


def test_a_final_stage_that_normal_routing_reaches_completes_the_run() -> None:
    builder = PipelineBuilder(final_stage="z", max_agent_hops=2).stage("a", default_next="z").stage("z")
    bench = run_while_possible(begun(builder), {})
    assert bench.visited == ["a", "z"]
    assert bench.envelope.terminal_reason == "completed"


def test_a_bound_met_on_the_way_out_of_the_final_stage_does_not_run_it_again() -> None:
    builder = (
        PipelineBuilder(final_stage="z", max_iterations=0).stage("a", default_next="z").stage("z", default_next="a")
    )
    bench = run_while_possible(begun(builder), {})
    assert bench.visited == ["a", "z"]
    assert bench.envelope.terminal_reason == "max_iterations_exceeded"


def test_a_refused_reservation_of_the_final_stage_does_not_run_it_again() -> None:
    bench = begun(PipelineBuilder(final_stage="a").stage("a", has_llm=True, model_role="m"))
    bench.fail("budget", bound="llm_calls")
    assert bench.visited == ["a"]
    assert bench.envelope.terminal_reason == "max_llm_calls_exceeded"


# The deadline


def test_a_passed_deadline_cancels_the_stage_and_ends_the_run() -> None:
    bench = begun(line(deadline_s=5))
    bench.wait(4.999)
    assert bench.envelope.lifecycle == "running"
    flying = bench.flying
    bench.wait(0.001)
    assert bench.envelope.terminal_reason == "deadline_exceeded"
    assert bench.envelope.terminal_detail == "the run's deadline passed 5 s after the run was accepted"
    assert CancelStage(flying.key, flying.stage) in bench.commands
    assert [record.status for record in bench.envelope.history] == ["cancelled"]
    assert bench.envelope.finished_at_ms == START_MS + 5_000


def test_after_the_deadline_the_final_stage_has_ten_seconds() -> None:
    bench = begun(with_final(deadline_s=5))
    bench.wait(5)
    assert (bench.flying.stage, view_of(bench).ended_by) == ("z", "deadline_exceeded")
    assert bench.issued[-1].deadline_ms == START_MS + 15_000
    bench.wait(9.999)
    assert bench.envelope.lifecycle == "running"
    bench.wait(0.001)
    assert bench.envelope.terminal_reason == "deadline_exceeded"
    assert bench.visited == ["a", "z"]


def test_an_answer_within_the_grace_is_kept() -> None:
    bench = begun(with_final(deadline_s=5))
    bench.wait(14.999)
    bench.succeed({"text": "partial"})
    assert bench.envelope.outputs["z"] == {"text": "partial"}
    assert bench.envelope.terminal_reason == "deadline_exceeded"


def test_a_final_stage_with_a_shorter_timeout_keeps_it_after_the_deadline() -> None:
    bench = begun(loop(final_stage="z", deadline_s=5).stage("z", timeout_s=2))
    bench.wait(5)
    assert bench.issued[-1].deadline_ms == START_MS + 7_000


def test_a_final_stage_that_is_at_work_when_the_deadline_passes_goes_on_in_its_grace() -> None:
    builder = PipelineBuilder(final_stage="z", deadline_s=5, max_agent_hops=2).stage("a", default_next="z").stage("z")
    bench = begun(builder)
    bench.wait(4)
    bench.succeed({})
    bench.wait(3)
    assert (bench.flying.stage, bench.flying.key.attempt) == ("z", 1)
    assert [command for command in bench.commands if isinstance(command, CancelStage)] == []
    bench.succeed({"text": "whole"})
    assert bench.envelope.outputs["z"] == {"text": "whole"}
    assert bench.envelope.terminal_reason == "deadline_exceeded"


def test_a_deadline_during_the_answer_at_another_limit_changes_neither_the_answer_nor_the_reason() -> None:
    bench = begun(with_final(deadline_s=5, max_iterations=0))
    bench.succeed({})
    bench.wait(4)
    bench.succeed(AGAIN)
    bench.wait(10.999)
    assert bench.visited == ["a", "b", "z"]
    assert bench.envelope.lifecycle == "running"
    bench.wait(0.001)
    assert bench.envelope.terminal_reason == "max_iterations_exceeded"
    assert bench.envelope.finished_at_ms == START_MS + 15_000


def test_the_grace_does_not_begin_anew_when_the_final_stage_is_issued_again() -> None:
    bench = begun(with_final(deadline_s=5))
    bench.wait(12)
    bench.lose()
    assert bench.visited == ["a", "z", "z"]
    assert bench.issued[-1].deadline_ms == START_MS + 15_000


def test_a_deadline_between_two_attempts_books_no_second_end_of_the_first() -> None:
    bench = begun(PipelineBuilder(deadline_s=1).stage("a", max_retries=5))
    bench.wait(0.9)
    bench.fail()
    bench.wait(0.1)
    assert [(record.attempt, record.status) for record in bench.envelope.history] == [(1, "error")]
    assert [command for command in bench.commands if isinstance(command, CancelStage)] == []
    assert bench.envelope.terminal_reason == "deadline_exceeded"


def test_a_deadline_in_the_request_holds_when_it_is_earlier() -> None:
    bench = begun(line(deadline_s=5), deadline_s=2.5)
    bench.wait(2.5)
    assert bench.envelope.terminal_reason == "deadline_exceeded"


# Failures, retries, error routes


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_a_stage_is_tried_once_and_then_max_retries_times_again(retries: int) -> None:
    bench = begun(PipelineBuilder().stage("a", max_retries=retries))
    for _ in until_over(bench):
        bench.fail("tool", recoverable=True)
        bench.wait(40)
    assert [(command.key.hop, command.key.attempt) for command in bench.issued] == [
        (1, n + 1) for n in range(retries + 1)
    ]
    assert [(record.attempt, record.status) for record in bench.envelope.history] == [
        (n + 1, "error") for n in range(retries + 1)
    ]
    assert bench.envelope.usage.agent_hops == 1
    assert bench.envelope.terminal_reason == "tool_failed_recoverably"
    attempts = "1 attempt" if retries == 0 else f"{retries + 1} attempts"
    assert bench.envelope.terminal_detail == f"stage 'a' failed after {attempts}: broken"


def test_a_retry_that_succeeds_lets_the_run_go_on() -> None:
    bench = begun(PipelineBuilder().stage("a", max_retries=1, default_next="b").stage("b"))
    bench.fail()
    bench.wait(1)
    bench.succeed({})
    assert (bench.flying.stage, bench.flying.key.hop, bench.flying.key.attempt) == ("b", 2, 1)


def test_retries_begin_anew_with_each_visit() -> None:
    bench = begun(PipelineBuilder().stage("a", max_retries=1).rule("again", True, "a").edge_limit("a", "a", 1))
    for _ in range(2):
        bench.fail()
        bench.wait(1)
        bench.succeed(AGAIN)
    assert [(command.key.hop, command.key.attempt) for command in bench.issued] == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_backoff_doubles_from_one_second_is_shortened_by_a_quarter_at_most_and_never_passes_thirty() -> None:
    for retries in range(12):
        full_ms = min(30_000, 1_000 * 2**retries)
        waits = {backoff_ms(StageKey(RunId(f"r-{n}"), 1), retries) for n in range(200)}
        assert full_ms * 0.75 - 1 <= min(waits) < max(waits) <= full_ms <= BACKOFF_CAP_MS


def test_a_retry_waits_for_its_timer_and_for_nothing_else() -> None:
    bench = begun(PipelineBuilder().stage("a", max_retries=2))
    key = bench.flying.key
    bench.fail()
    timer = f"retry:{key}"
    due_ms = bench.state.timers[timer]
    assert SetTimer(timer, due_ms) in bench.commands
    assert 750 <= due_ms - START_MS <= 1_000
    for payload in (
        StageSucceeded(key, {}),
        StageFailed(key, "tool", "x"),
        StageStarted(key),
        ToolCalled(key, "t", "ok"),
    ):
        assert bench.happen(payload).ignored == "no such stage is in flight"
    bench.wait((due_ms - START_MS) / 1000)
    assert bench.flying.key == StageKey(key.run_id, 1, 0, 2)


@pytest.mark.parametrize(
    ("kind", "recoverable", "reason"),
    [
        ("tool", True, "tool_failed_recoverably"),
        ("tool", False, "tool_failed_fatally"),
        ("model", False, "llm_failed_fatally"),
        ("timeout", True, "tool_failed_recoverably"),
        ("internal", False, "internal_error"),
    ],
)
def test_the_reason_fits_the_failure(kind: Any, recoverable: bool, reason: str) -> None:
    bench = begun(line())
    bench.fail(kind, recoverable=recoverable)
    assert bench.envelope.terminal_reason == reason
    assert bench.envelope.errors == ("a: broken",)


def test_after_the_last_retry_the_error_route_is_taken_and_the_run_goes_on() -> None:
    bench = begun(PipelineBuilder().stage("a", max_retries=1, error_next="c").stage("c"))
    bench.fail()
    bench.wait(1)
    bench.fail()
    assert bench.flying.stage == "c"
    assert bench.envelope.usage.edges == {"a->c": 1}
    bench.succeed({})
    assert bench.envelope.terminal_reason == "completed"
    assert [record.status for record in bench.envelope.history] == ["error", "error", "success"]
    assert "a" not in bench.envelope.outputs


def test_the_stages_after_an_error_route_see_what_failed_until_it_is_run_again() -> None:
    builder = PipelineBuilder().stage("a", max_retries=1, error_next="b").stage("b", default_next="a")
    bench = begun(builder)
    bench.fail(error="first")
    bench.wait(1)
    bench.fail(error="second")
    assert view_of(bench).failures == {"a": "second"}
    bench.succeed()
    assert (bench.flying.stage, view_of(bench).failures) == ("a", {})


def test_an_error_route_to_the_end_completes_the_run_and_says_why() -> None:
    bench = begun(PipelineBuilder().stage("a", error_next="end"))
    bench.fail()
    assert bench.envelope.terminal_reason == "completed"
    assert "broken" in str(bench.envelope.terminal_detail)


def test_an_edge_limit_holds_for_the_error_route() -> None:
    bench = begun(PipelineBuilder().stage("a", error_next="a").edge_limit("a", "a", 2))
    for _ in until_over(bench):
        bench.fail()
    assert bench.visited == ["a", "a", "a"]
    assert bench.envelope.terminal_reason == "max_loop_exceeded"


def test_an_output_without_its_required_fields_is_a_failure_that_names_them() -> None:
    bench = begun(PipelineBuilder().stage("a", required_output_fields=["x", "y"]))
    bench.succeed({"x": None})
    assert bench.envelope.terminal_reason == "internal_error"
    assert "lacks the required fields y" in str(bench.envelope.terminal_detail)
    assert bench.envelope.outputs == {}


def test_a_stage_that_takes_too_long_is_cancelled_and_retried_under_a_new_attempt() -> None:
    bench = begun(PipelineBuilder().stage("a", timeout_s=2.5, max_retries=1))
    key = bench.flying.key
    assert bench.issued[0].deadline_ms == START_MS + 2_500
    bench.wait(2.499)
    assert bench.flying.key == key
    bench.wait(0.001)
    assert CancelStage(key, bench.flying.stage) in bench.commands
    assert bench.envelope.errors == ("a: stage 'a' took longer than its timeout of 2.5 s",)
    bench.wait(1)
    assert bench.flying.key.attempt == 2
    assert bench.happen(StageSucceeded(key, {"late": True})).ignored == "no such stage is in flight"
    bench.succeed({"late": False})
    assert bench.envelope.outputs == {"a": {"late": False}}


def test_a_stage_without_a_timeout_gets_the_default() -> None:
    bench = begun(line(default_timeout_s=7))
    bench.wait(6.999)
    assert bench.envelope.lifecycle == "running"
    bench.wait(0.001)
    assert bench.envelope.terminal_reason == "tool_failed_recoverably"


# Lost processes


def test_a_lost_stage_is_issued_again_under_the_same_hop_and_the_next_attempt() -> None:
    bench = begun(line())
    key = bench.flying.key
    bench.start()
    bench.wait(3)
    bench.lose()
    assert bench.flying.key == StageKey(key.run_id, key.hop, key.item, key.attempt + 1)
    assert bench.flying.key.effect_key == key.effect_key
    assert bench.issued[-1].input == bench.issued[0].input
    assert bench.issued[-1].deadline_ms == START_MS + 303_000
    assert bench.envelope.usage.agent_hops == 1
    assert [(record.attempt, record.status) for record in bench.envelope.history] == [(1, "error")]


def test_a_late_result_of_a_lost_attempt_changes_nothing() -> None:
    bench = begun(line())
    key = bench.flying.key
    bench.lose()
    state = bench.state
    assert bench.happen(StageSucceeded(key, {"late": True})).ignored == "no such stage is in flight"
    assert bench.happen(StageFailed(key, "tool", "late")).ignored == "no such stage is in flight"
    assert bench.happen(StageStarted(key)).ignored == "no such stage is in flight"
    assert bench.happen(TimerFired(f"timeout:{key}")).ignored == "no such timer is set"
    assert bench.state is state


def test_a_second_request_for_the_same_run_changes_nothing() -> None:
    bench = begun(line())
    assert bench.request().ignored == "the run was requested already"


def test_the_loss_of_another_agent_changes_nothing() -> None:
    bench = begun(line())
    bench.succeed({})
    assert bench.happen(ActorLost("a")).ignored == "nothing of this run was in that agent's hands"


@pytest.mark.parametrize("deaths", [MAX_REISSUES, MAX_REISSUES + 1])
def test_a_stage_may_lose_its_process_three_times_and_fails_at_the_fourth(deaths: int) -> None:
    bench = begun(line())
    for _ in range(deaths):
        bench.lose()
    assert bench.envelope.terminal_reason == (None if deaths == MAX_REISSUES else "internal_error")
    assert len(bench.issued) == MAX_REISSUES + 1


def test_a_stage_that_keeps_killing_its_process_takes_its_error_route() -> None:
    bench = begun(PipelineBuilder().stage("a", error_next="b").stage("b"))
    for _ in range(MAX_REISSUES + 1):
        bench.lose()
    assert bench.flying.stage == "b"


def test_a_loss_uses_up_no_retry() -> None:
    bench = begun(PipelineBuilder().stage("a", max_retries=1))
    bench.lose()
    bench.fail()
    bench.wait(1)
    assert bench.flying.key.attempt == 3
    bench.fail()
    assert bench.envelope.terminal_reason == "internal_error"


# Tool calls that nobody reports


@pytest.mark.parametrize("how", ["lost", "timeout"])
def test_all_that_an_attempt_was_granted_counts_as_spent_when_it_never_reports(how: str) -> None:
    bench = begun(PipelineBuilder(max_tool_calls=FIRST_TOOL_CALLS + 2).stage("a", max_retries=1, timeout_s=1, **TOOLS))
    for _ in range(3):
        bench.call_tool()
    if how == "lost":
        bench.lose()
    else:
        bench.wait(1.999)
    assert bench.envelope.usage.tool_calls == FIRST_TOOL_CALLS
    assert bench.issued[1].grant.tool_calls == 2


def test_reported_tool_calls_are_not_counted_twice() -> None:
    bench = begun(PipelineBuilder().stage("a", **TOOLS))
    bench.call_tool()
    bench.succeed({}, StageUsage(tool_calls=1))
    assert bench.envelope.usage.tool_calls == 1


def test_tool_calls_seen_twice_never_pass_the_bound() -> None:
    bench = begun(PipelineBuilder(max_tool_calls=2).stage("a", **TOOLS))
    for _ in range(9):
        bench.call_tool()
    bench.cancel()
    assert bench.envelope.usage.tool_calls == 2


# Cancellation, doubled, late and illegal events


def test_a_cancelled_run_stops_its_stage_and_keeps_what_was_finished() -> None:
    bench = begun(line())
    bench.succeed({"x": 1})
    key = bench.flying.key
    bench.cancel("enough")
    assert CancelStage(key, bench.issued[-1].stage) in bench.commands
    assert (bench.envelope.terminal_reason, bench.envelope.terminal_detail) == ("user_cancelled", "enough")
    assert bench.envelope.outputs == {"a": {"x": 1}}
    assert [record.status for record in bench.envelope.history] == ["success", "cancelled"]
    assert bench.state.in_flight == {}
    assert bench.state.timers == {}


def test_a_run_that_is_cancelled_between_two_attempts_books_no_second_end_of_the_first() -> None:
    bench = begun(PipelineBuilder().stage("a", max_retries=1))
    bench.fail()
    bench.cancel()
    assert [(record.attempt, record.status) for record in bench.envelope.history] == [(1, "error")]
    assert [event.type for event in bench.client_events].count("stage.finished") == 1


def test_cancelling_the_answer_at_the_limit_ends_the_run_as_cancelled() -> None:
    bench = begun(with_final(max_agent_hops=1))
    bench.cancel()
    assert bench.envelope.terminal_reason == "user_cancelled"


def test_a_doubled_event_changes_nothing() -> None:
    bench = begun(line())
    key = bench.flying.key
    assert bench.start().ignored is None
    assert bench.start().ignored == "the stage has started already"
    bench.succeed({})
    assert bench.happen(StageSucceeded(key, {})).ignored == "no such stage is in flight"
    assert bench.visited == ["a", "b"]
    assert [event.type for event in bench.client_events] == ["run.accepted", "stage.started", "stage.finished"]


def test_nothing_changes_a_run_that_is_over() -> None:
    bench = begun(line())
    key = bench.flying.key
    bench.cancel()
    state = bench.state
    for payload in (StageSucceeded(key, {}), RunRequested(bench.envelope.request), TimerFired("deadline")):
        assert bench.happen(payload) == Decision(state, ignored="the run is over")


def test_before_its_request_nothing_happens_to_a_run() -> None:
    bench = Bench(line().build())
    assert bench.cancel().ignored == "no such run was requested"
    assert bench.happen(TimerFired("deadline")).ignored == "no such run was requested"
    assert bench.state.envelope.lifecycle == "new"


def test_an_event_of_another_run_changes_nothing() -> None:
    bench = begun(line())
    event = Event(RunId("r-other"), 2, START_MS, StageStarted(bench.flying.key))
    decision = decide(bench.config, bench.state, event)
    assert decision.state is bench.state
    assert decision.ignored == "the event is of another run, r-other"


def test_an_unknown_timer_changes_nothing() -> None:
    bench = begun(line())
    state: RunState = bench.state
    assert bench.happen(TimerFired("lunch")) == Decision(state, ignored="no such timer is set")


def test_client_events_tell_the_story_in_order_without_gaps() -> None:
    bench = begun(PipelineBuilder().stage("a"))
    bench.start()
    bench.call_tool()
    bench.succeed({})
    assert [(event.seq, event.type, event.stage) for event in bench.client_events] == [
        (1, "run.accepted", None),
        (2, "stage.started", "a"),
        (3, "tool.called", "a"),
        (4, "stage.finished", "a"),
        (5, "run.finished", None),
    ]
    assert bench.client_events[-1].data == {"terminal_reason": "completed", "detail": None}


def test_every_bound_in_an_error_text_names_actual_and_allowed() -> None:
    bench = run_while_possible(begun(loop(max_iterations=2)), AGAIN)
    assert re.search(r"2 loop-backs made, limit 2; 'b' -> 'a'", str(bench.envelope.terminal_detail))


# Requirements in a sequential run


def test_a_sequential_stage_is_entered_only_when_what_it_requires_has_succeeded() -> None:
    def run(output: dict[str, Any]) -> Bench:
        builder = PipelineBuilder().stage("a", default_next="b").rule("skip", True, "c").stage("b", default_next="c")
        bench = begun(builder.stage("c", requires=["b"]))
        bench.succeed(output)
        return bench

    assert run({}).flying.stage == "b"
    skipped = run({"skip": True})
    assert skipped.envelope.terminal_reason == "unsatisfiable_dependencies"
    assert skipped.envelope.terminal_detail == "stage 'c' lacks 'b'"


def test_a_failure_that_was_handled_is_no_success_for_what_requires_it() -> None:
    bench = begun(PipelineBuilder().stage("a", error_next="b").stage("b", requires=["a"]))
    bench.fail()
    assert bench.envelope.terminal_reason == "unsatisfiable_dependencies"
