"""Runs that wait for a person: questions, answers, expiry, pauses, and what goes on meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.pipeline.interrupt_kinds import TIME_TO_LIVE_MS, InterruptKind
from runtime.run.envelope import InterruptRequest
from runtime.run.interrupts import REASON_WITHOUT_WAITING
from runtime.run.stage_view import decode_view
from runtime.supervision.commands import CancelStage, SetTimer
from runtime.supervision.events import StageSucceeded, TimerFired
from runtime.testing import START_MS, Bench, PipelineBuilder

parallel = PipelineBuilder.parallel
YES: dict[str, Any] = {"approved": True, "decision": "approve"}
QUESTIONS: tuple[InterruptKind, ...] = (
    "clarification",
    "confirmation",
    "agent_review",
    "resource_exhausted",
    "timeout",
    "system_error",
)


def line(**settings: Any) -> PipelineBuilder:
    """a → b → c."""
    return PipelineBuilder(**settings).stage("a", default_next="b").stage("b", default_next="c").stage("c")


def begun(builder: PipelineBuilder, **request: Any) -> Bench:
    bench = Bench(builder.build())
    bench.request(**{"wait": True, **request})
    return bench


def asked_by_b(kind: InterruptKind = "clarification", **settings: Any) -> Bench:
    """A run in which stage b has put a question."""
    bench = begun(line(**settings))
    bench.succeed({"n": 1})
    bench.ask(kind, "Which?")
    return bench


# Waiting


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_run_that_waits_holds_no_stage_and_keeps_its_outputs(kind: InterruptKind) -> None:
    bench = asked_by_b(kind)
    assert (bench.envelope.lifecycle, bench.at_work, bench.reason) == ("waiting", [], None)
    assert bench.envelope.outputs == {"a": {"n": 1}, "b": {}}
    asked = bench.envelope.interrupt
    assert asked is not None
    assert (asked.kind, asked.question, asked.stage, asked.status) == (kind, "Which?", "b", "pending")
    life_ms = TIME_TO_LIVE_MS[kind]
    assert life_ms is not None
    assert (asked.created_at_ms, asked.expires_at_ms) == (START_MS, START_MS + life_ms)
    assert SetTimer(f"interrupt:{asked.id}", START_MS + life_ms) in bench.commands


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_caller_that_does_not_wait_gets_the_question_as_the_end(kind: InterruptKind) -> None:
    bench = begun(line(), wait=False)
    bench.ask(kind, "Which?")
    assert (bench.reason, bench.envelope.terminal_detail) == (REASON_WITHOUT_WAITING[kind], "Which?")
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.status == "pending"


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_run_goes_on_where_it_asked_when_no_resume_stage_is_named(kind: InterruptKind) -> None:
    bench = asked_by_b(kind)
    bench.answer("this", **YES)
    assert bench.at_work == ["b"]
    assert bench.flying.key.hop == 3
    view = decode_view(bench.issued[-1].input)
    assert view.outputs == {"a": {"n": 1}, "b": {}}
    assert view.interrupt is not None
    assert view.interrupt.status == "resolved"
    assert view.interrupt.response is not None
    assert (view.interrupt.response.text, view.interrupt.response.received_at_ms) == ("this", START_MS)
    bench.succeed()
    bench.succeed()
    assert bench.reason == "completed"


@pytest.mark.parametrize("kind", ["clarification", "confirmation", "agent_review"])
def test_resume_continues_at_the_resume_stage_of_its_kind_with_all_outputs_intact(kind: InterruptKind) -> None:
    bench = asked_by_b(kind, **{f"{kind}_resume_stage": "c"})
    bench.answer(**YES)
    assert bench.at_work == ["c"]
    assert decode_view(bench.issued[-1].input).outputs == {"a": {"n": 1}, "b": {}}
    assert bench.envelope.usage.edges == {"a->b": 1}, "resuming takes no edge"


def test_a_stage_of_a_parallel_run_that_is_only_resumed_at_is_visited_after_the_answer_and_never_before() -> None:
    builder = PipelineBuilder.parallel(clarification_resume_stage="again").stage("a").stage("again")
    unasked, asked = Bench(builder.build()), Bench(builder.build())
    for bench in (unasked, asked):
        bench.request(wait=True)
        assert bench.at_work == ["a"]
    unasked.succeed()
    assert (unasked.reason, unasked.visited) == ("completed", ["a"])
    asked.ask()
    asked.answer("yes")
    assert asked.at_work == ["again"]
    asked.succeed()
    assert (asked.reason, asked.visited) == ("completed", ["a", "again"])


def test_a_resume_stage_holds_for_its_own_kind_alone() -> None:
    bench = asked_by_b("confirmation", clarification_resume_stage="c")
    bench.answer(approved=True)
    assert bench.at_work == ["b"]


@pytest.mark.parametrize("target", ["clarification", "confirmation", "agent_review"])
def test_a_question_by_routing_waits_like_one_that_a_stage_raises(target: str) -> None:
    builder = PipelineBuilder(**{f"{target}_resume_stage": "b"}).stage("a", default_next=target).stage("b")
    bench = begun(builder)
    bench.succeed({"question": "Sure?"})
    assert bench.envelope.lifecycle == "waiting"
    bench.answer(**YES)
    bench.succeed()
    assert (bench.reason, bench.visited) == ("completed", ["a", "b"])


# Answers


def test_a_denied_confirmation_ends_with_denied_by_policy() -> None:
    bench = asked_by_b("confirmation")
    bench.answer(approved=False)
    assert (bench.reason, bench.envelope.terminal_detail) == ("denied_by_policy", "the answer to 'Which?' was no")
    assert bench.envelope.outputs == {"a": {"n": 1}, "b": {}}


@pytest.mark.parametrize(
    ("decision", "reason", "at_work"),
    [("approve", None, ["c"]), ("modify", None, ["c"]), ("reject", "denied_by_policy", [])],
)
def test_a_review_approves_modifies_or_rejects(decision: str, reason: str | None, at_work: list[str]) -> None:
    bench = asked_by_b("agent_review", agent_review_resume_stage="c")
    bench.answer(decision=decision, data={"patch": "+"})
    assert (bench.reason, bench.at_work) == (reason, at_work)
    if reason is None:
        view = decode_view(bench.issued[-1].input)
        assert view.interrupt is not None
        assert view.interrupt.response is not None
        assert (view.interrupt.response.decision, view.interrupt.response.data) == (decision, {"patch": "+"})


def test_a_second_answer_changes_nothing_and_says_that_there_is_one() -> None:
    bench = asked_by_b()
    bench.answer("one")
    state = bench.state
    assert bench.answer("two").ignored == "interrupt r-bench-q1 is resolved already"
    assert bench.state is state


def test_a_wrong_users_answer_changes_nothing_and_says_whose_question_it_is() -> None:
    bench = asked_by_b()
    assert bench.answer(user_id="eve").ignored == "interrupt r-bench-q1 belongs to user 'local', not to 'eve'"
    assert bench.envelope.lifecycle == "waiting"


def test_an_answer_to_a_question_that_is_not_open_changes_nothing() -> None:
    bench = asked_by_b()
    assert bench.answer(interrupt_id="r-bench-q7").ignored == "interrupt r-bench-q7 is not open; r-bench-q1 is"
    assert begun(line()).answer(interrupt_id="r-bench-q1").ignored == "interrupt r-bench-q1 is not open"


@pytest.mark.parametrize(("late_ms", "is_taken"), [(-1, True), (0, False), (1, False)])
def test_an_answer_is_taken_until_the_instant_of_expiry(late_ms: int, is_taken: bool) -> None:
    bench = asked_by_b("confirmation")
    bench.now_ms = START_MS + 3_600_000 + late_ms
    decision = bench.answer(approved=True)
    assert (decision.ignored is None) == is_taken
    assert is_taken or " expired " in str(decision.ignored)


def test_a_run_can_ask_again_after_an_answer() -> None:
    bench = asked_by_b()
    bench.answer("first")
    bench.ask(question="And?")
    assert bench.envelope.interrupt is not None
    assert (bench.envelope.interrupt.id, bench.envelope.interrupts_raised) == ("r-bench-q2", 2)
    bench.answer("second")
    assert bench.at_work == ["b"]


def test_questions_count_hops_so_that_a_stage_cannot_ask_for_ever() -> None:
    bench = begun(PipelineBuilder(max_agent_hops=3).stage("a"))
    for _ in range(3):
        bench.ask()
        bench.answer("x")
    assert (bench.reason, bench.envelope.usage.agent_hops) == ("max_agent_hops_exceeded", 3)


# Expiry


@pytest.mark.parametrize("kind", QUESTIONS)
def test_expiry_ends_the_run_unless_the_pipeline_says_otherwise(kind: InterruptKind) -> None:
    bench = asked_by_b(kind)
    life_ms = TIME_TO_LIVE_MS[kind] or 0
    bench.wait((life_ms - 1) / 1000)
    assert bench.envelope.lifecycle == "waiting"
    bench.wait(0.001)
    assert (bench.reason, bench.envelope.terminal_detail) == ("interrupt_expired", "nobody answered 'Which?' in time")
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.status == "expired"


@pytest.mark.parametrize("kind", QUESTIONS)
def test_expiry_goes_on_without_an_answer_where_the_pipeline_says_proceed(kind: InterruptKind) -> None:
    bench = asked_by_b(kind, interrupt_expiry={kind: "proceed"})
    bench.wait((TIME_TO_LIVE_MS[kind] or 0) / 1000)
    assert (bench.envelope.lifecycle, bench.at_work) == ("running", ["b"])
    view = decode_view(bench.issued[-1].input)
    assert view.interrupt is not None
    assert (view.interrupt.status, view.interrupt.response) == ("expired", None)


def test_expiry_proceeds_at_the_resume_stage_of_the_kind() -> None:
    bench = asked_by_b(interrupt_expiry={"clarification": "proceed"}, clarification_resume_stage="c")
    bench.wait(24 * 3600)
    assert bench.at_work == ["c"]


def test_an_answered_question_does_not_expire_afterwards() -> None:
    bench = asked_by_b("confirmation")
    bench.answer(approved=True)
    assert bench.happen(TimerFired("interrupt:r-bench-q1")).ignored == "no such timer is set"


# Pauses


def test_a_pause_holds_the_run_at_its_next_step_and_has_no_end_of_its_own() -> None:
    bench = begun(line(), wait=False)
    bench.pause("lunch")
    assert (bench.envelope.lifecycle, bench.at_work) == ("waiting", ["a"])
    bench.succeed({"n": 1})
    assert bench.at_work == []
    bench.wait(30 * 24 * 3600)
    assert bench.envelope.lifecycle == "waiting"
    bench.answer()
    assert bench.at_work == ["b"]
    assert bench.envelope.usage.edges == {"a->b": 1}


def test_a_pause_that_is_lifted_before_the_stage_ends_changes_nothing_for_it() -> None:
    bench = begun(line())
    key = bench.flying.key
    bench.pause()
    bench.answer()
    assert bench.flying.key == key
    bench.succeed()
    assert bench.at_work == ["b"]


def test_a_run_that_completes_while_it_is_paused_is_over() -> None:
    bench = begun(PipelineBuilder().stage("a"))
    bench.pause()
    bench.succeed()
    assert bench.reason == "completed"
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.status == "cancelled"


@pytest.mark.parametrize("state", ["waiting", "ready", "ending"])
def test_a_run_that_waits_is_queued_or_about_to_end_cannot_be_paused(state: str) -> None:
    if state == "ending":
        bench = begun(line(final_stage="c", deadline_s=1))
        bench.wait(1)
        assert bench.pause().ignored == "a run that is about to end cannot be paused"
        return
    bench = Bench(line().build())
    bench.request(queued=state == "ready", wait=True)
    if state == "waiting":
        bench.ask()
    assert bench.pause().ignored == f"a run that is {state} cannot be paused"


def test_a_paused_parallel_run_lets_its_branches_end_and_starts_nothing() -> None:
    builder = parallel().stage("a").stage("b").stage("c", requires=["a", "b"])
    bench = begun(builder)
    bench.pause()
    bench.succeed(stage="a")
    bench.succeed(stage="b")
    assert (bench.envelope.lifecycle, bench.at_work) == ("waiting", [])
    bench.answer()
    assert bench.at_work == ["c"]


def test_a_paused_fan_out_finishes_its_items() -> None:
    builder = PipelineBuilder().stage("a", default_next="b").stage("b", foreach="outputs.a.x", foreach_concurrency=1)
    bench = begun(builder)
    bench.succeed({"x": [1, 2]})
    bench.pause()
    bench.succeed()
    bench.succeed()
    assert (bench.reason, bench.visited) == ("completed", ["a", "b", "b"])


# Several things at once


def test_branches_go_on_to_their_end_while_a_question_is_open_and_what_follows_is_held() -> None:
    builder = parallel().stage("ask").stage("work", default_next="more").stage("more").stage("last", requires=["more"])
    bench = begun(builder)
    bench.ask(stage="ask")
    bench.succeed({"n": 1}, stage="work")
    assert (bench.at_work, bench.state.held.entries) == ([], ("more",))
    bench.answer("x")
    assert bench.at_work == ["ask", "more"]
    bench.succeed(stage="ask")
    bench.succeed()
    bench.succeed()
    assert bench.reason == "completed"


def test_two_questions_at_once_are_put_one_after_the_other() -> None:
    bench = begun(parallel().stage("a").stage("b").stage("c", requires=["a", "b"]))
    bench.ask(question="first?", stage="a")
    bench.wait(60)
    bench.ask(question="second?", stage="b")
    assert bench.envelope.interrupts_raised == 1
    bench.wait(60)
    bench.answer("one")
    asked = bench.envelope.interrupt
    assert asked is not None
    assert (asked.question, asked.id, asked.created_at_ms) == ("second?", "r-bench-q2", START_MS + 120_000)
    assert (bench.envelope.lifecycle, bench.at_work) == ("waiting", ["a"])
    bench.succeed()
    bench.answer("two")
    assert bench.at_work == ["b"]
    bench.succeed()
    assert bench.at_work == ["c"]


def test_a_stage_whose_question_is_open_is_no_success_for_those_that_require_it() -> None:
    bench = begun(parallel().stage("a").stage("b").stage("after_b", requires=["b"]))
    bench.ask(stage="a")
    bench.ask(stage="b")
    bench.answer("one")
    assert bench.at_work == ["a"]
    assert bench.envelope.stages["b"] == "asking"


def test_an_answer_belongs_to_its_own_question() -> None:
    builder = parallel(on_system_error="wait").stage("a").stage("b")
    bench = begun(builder)
    bench.ask("confirmation", "Sure?", stage="a")
    bench.fail("internal", "broken", stage="b")
    bench.answer(approved=False)
    assert (bench.reason, bench.envelope.terminal_detail) == ("denied_by_policy", "the answer to 'Sure?' was no")


def test_a_question_after_a_pause_is_not_lost() -> None:
    bench = begun(line())
    bench.pause()
    bench.ask(question="Which?")
    bench.answer()
    assert bench.envelope.interrupt is not None
    assert (bench.envelope.interrupt.question, bench.envelope.lifecycle) == ("Which?", "waiting")
    bench.answer("x")
    assert bench.at_work == ["a"]


def test_a_question_of_the_last_branch_is_not_lost_when_the_run_was_paused() -> None:
    bench = begun(parallel().stage("a").stage("b"))
    bench.pause()
    bench.succeed(stage="a")
    bench.ask(question="Which?", stage="b")
    bench.answer()
    assert bench.envelope.lifecycle == "waiting"
    bench.answer("x")
    bench.succeed()
    assert bench.reason == "completed"


def test_a_question_that_a_new_visit_made_pointless_is_withdrawn() -> None:
    builder = parallel().stage("plan").stage("work", requires=["plan"]).stage("watch", default_next="plan")
    bench = begun(builder)
    bench.succeed(stage="plan")
    bench.pause()
    bench.ask(question="Which?", stage="work")
    bench.succeed(stage="watch")
    bench.answer()
    assert (bench.envelope.lifecycle, bench.at_work) == ("running", ["plan"])
    assert bench.state.held.questions == ()


def test_a_branch_that_fails_while_another_asks_ends_the_run_and_withdraws_the_question() -> None:
    bench = begun(parallel().stage("a").stage("b"))
    bench.ask(stage="a")
    bench.fail("tool", stage="b")
    assert bench.reason == "tool_failed_fatally"
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.status == "cancelled"
    types = [event.type for event in bench.client_events]
    assert types[-2:] == ["interrupt.resolved", "run.finished"]


def test_a_question_in_the_turn_in_which_the_other_branch_would_complete_the_run_keeps_it_open() -> None:
    bench = begun(parallel().stage("a").stage("b"))
    bench.succeed(stage="a")
    bench.ask(stage="b")
    assert bench.envelope.lifecycle == "waiting"
    other = begun(parallel().stage("a").stage("b"))
    other.ask(stage="b")
    other.succeed(stage="a")
    assert other.envelope.lifecycle == "waiting"


def test_without_waiting_a_question_of_one_branch_cancels_the_others() -> None:
    bench = begun(parallel().stage("a").stage("b"), wait=False)
    other = bench.in_flight("b")
    bench.ask(stage="a")
    assert bench.reason == "clarification_required"
    assert CancelStage(other.key, other.stage) in bench.commands


# Deadlines and bounds while the run waits


def test_a_deadline_holds_while_the_run_waits() -> None:
    bench = asked_by_b(deadline_s=60)
    bench.wait(60)
    assert bench.reason == "deadline_exceeded"
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.status == "cancelled"


def test_a_deadline_while_the_run_waits_gets_the_answer_at_the_limit_and_withdraws_the_question() -> None:
    bench = asked_by_b(deadline_s=60, final_stage="c")
    bench.wait(60)
    assert bench.at_work == ["c"]
    assert bench.answer("late").ignored == "interrupt r-bench-q1 is cancelled already"
    assert bench.happen(TimerFired("interrupt:r-bench-q1")).ignored == "no such timer is set"
    bench.succeed({"text": "partial"})
    assert bench.reason == "deadline_exceeded"
    assert bench.envelope.outputs["c"] == {"text": "partial"}


def test_a_bound_that_a_branch_meets_while_another_asks_ends_the_run_by_way_of_the_final_stage() -> None:
    builder = parallel(final_stage="say").stage("ask").stage("work").rule("again", True, "work")
    bench = begun(builder.edge_limit("work", "work", 0).stage("say"))
    bench.ask(stage="ask")
    bench.succeed({"again": True}, stage="work")
    assert (bench.envelope.lifecycle, bench.at_work) == ("running", ["say"])
    assert bench.envelope.stages["ask"] == "cancelled"
    bench.succeed()
    assert bench.reason == "max_loop_exceeded"


def test_what_was_held_back_and_meets_the_hop_bound_leaves_the_final_stage_at_work() -> None:
    builder = parallel(final_stage="say", max_agent_hops=5)
    for name, target in (("a", "x"), ("b", "y"), ("c", "z")):
        builder.stage(name, default_next=target)
    bench = begun(builder.stage("x").stage("y").stage("z").stage("say"))
    bench.pause()
    for name in ("a", "b", "c"):
        bench.succeed(stage=name)
    assert bench.state.held.entries == ("x", "y", "z")
    bench.answer()
    assert (bench.at_work, bench.visited[3:]) == (["say"], ["x", "say"])
    bench.succeed({"text": "partial"})
    assert (bench.reason, bench.envelope.outputs["say"]) == ("max_agent_hops_exceeded", {"text": "partial"})


def test_cancelling_a_run_that_waits_ends_it() -> None:
    bench = asked_by_b()
    bench.cancel("never mind")
    assert bench.reason == "user_cancelled"
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.status == "cancelled"
    assert bench.state.timers == {}


# Failures that wait


@pytest.mark.parametrize(
    ("setting", "kind", "expected"),
    [
        ("on_timeout", "timeout", "timeout"),
        ("on_system_error", "internal", "system_error"),
        ("on_system_error", "tool", "system_error"),
        ("on_system_error", "model", "system_error"),
    ],
)
def test_a_failure_waits_for_a_person_where_the_pipeline_says_so(setting: str, kind: Any, expected: str) -> None:
    bench = begun(line(**{setting: "wait"}))
    bench.fail(kind, "broken", recoverable=True)
    assert bench.envelope.lifecycle == "waiting"
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.kind == expected
    assert "broken" in bench.envelope.interrupt.question
    bench.answer(approved=True)
    assert bench.at_work == ["a"]
    assert bench.flying.key.hop == 2


@pytest.mark.parametrize(("setting", "kind"), [("on_timeout", "tool"), ("on_system_error", "timeout")])
def test_a_failure_of_another_kind_does_not_wait(setting: str, kind: Any) -> None:
    bench = begun(line(**{setting: "wait"}))
    bench.fail(kind, recoverable=True)
    assert bench.reason == "tool_failed_recoverably"


def test_a_failure_that_nobody_wants_tried_again_ends_the_run_with_its_reason() -> None:
    bench = begun(line(on_system_error="wait"))
    bench.fail("model", "no answer")
    bench.answer(approved=False)
    assert (bench.reason, bench.envelope.terminal_detail) == (
        "llm_failed_fatally",
        "stage 'a' failed after 1 attempt: no answer",
    )


def test_a_failed_stage_that_cannot_be_tried_again_for_want_of_hops_stays_failed() -> None:
    bench = begun(line(on_system_error="wait", max_agent_hops=1))
    bench.fail("internal")
    bench.answer(approved=True)
    assert (bench.reason, bench.envelope.stages) == ("max_agent_hops_exceeded", {"a": "failed"})


def test_a_failure_does_not_wait_when_the_caller_does_not() -> None:
    bench = begun(line(on_system_error="wait"), wait=False)
    bench.fail("internal")
    assert bench.reason == "internal_error"


def test_an_error_route_comes_before_a_question() -> None:
    bench = begun(PipelineBuilder(on_system_error="wait").stage("a", error_next="b").stage("b"))
    bench.fail("internal")
    assert bench.at_work == ["b"]


def test_a_question_put_by_a_stage_under_the_name_of_a_pause_is_its_question() -> None:
    bench = begun(line())
    bench.succeed({}, interrupt=InterruptRequest("checkpoint", "Look?"))
    bench.answer()
    assert bench.at_work == ["a"]
    not_waiting = begun(line(), wait=False)
    not_waiting.succeed({}, interrupt=InterruptRequest("checkpoint", "Look?"))
    assert not_waiting.reason == "confirmation_required"


def test_a_late_result_of_a_stage_that_was_stopped_while_the_run_waits_changes_nothing() -> None:
    bench = begun(parallel(deadline_s=5, final_stage="say").stage("a").stage("b").stage("say"))
    late = bench.in_flight("b")
    bench.ask(stage="a")
    bench.wait(5)
    assert bench.happen(StageSucceeded(late.key, {})).ignored == "no such stage is in flight"
