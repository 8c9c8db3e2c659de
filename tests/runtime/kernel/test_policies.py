"""Policies judge a result before it takes effect: approved, denied, or for a person to confirm."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.primitives.ids import GoalId
from runtime.run.envelope import InterruptRequest
from runtime.run.goals import Goal, GoalsPatch
from runtime.run.policy_verdict import PolicyVerdict
from runtime.testing import Bench, PipelineBuilder

APPROVED = PolicyVerdict("approved")
DENIED = PolicyVerdict("denied", "touches secrets")
TO_CONFIRM = PolicyVerdict("requires_confirmation", "Delete 3 files?")
GOALS = GoalsPatch(add=(Goal(GoalId("g"), "find"),))


def guarded(**settings: Any) -> PipelineBuilder:
    """a, which has policies → b."""
    return PipelineBuilder(**settings).stage("a", has_policies=True, default_next="b").stage("b")


def begun(builder: PipelineBuilder, **request: Any) -> Bench:
    bench = Bench(builder.build())
    bench.request(**{"wait": True, **request})
    return bench


def test_an_approved_result_takes_effect() -> None:
    bench = begun(guarded())
    bench.succeed({"n": 1}, goals=GOALS, policy=APPROVED)
    assert (bench.at_work, bench.envelope.outputs) == (["b"], {"a": {"n": 1}})
    assert len(bench.envelope.goals.goals) == 1


def test_a_denied_result_takes_no_effect_and_ends_the_run_with_denied_by_policy() -> None:
    bench = begun(guarded())
    bench.succeed({"n": 1}, goals=GOALS, policy=DENIED)
    assert (bench.reason, bench.envelope.terminal_detail) == ("denied_by_policy", "stage 'a': touches secrets")
    assert (bench.envelope.outputs, bench.envelope.goals.goals) == ({}, ())


def test_a_result_that_requires_confirmation_takes_effect_only_when_it_is_confirmed() -> None:
    bench = begun(guarded())
    bench.succeed({"n": 1}, goals=GOALS, policy=TO_CONFIRM)
    asked = bench.envelope.interrupt
    assert asked is not None
    assert (asked.kind, asked.question, asked.stage) == ("confirmation", "Delete 3 files?", "a")
    assert (bench.envelope.lifecycle, bench.envelope.outputs, bench.envelope.goals.goals) == ("waiting", {}, ())
    bench.answer(approved=True)
    assert (bench.at_work, bench.envelope.outputs) == (["b"], {"a": {"n": 1}})
    assert len(bench.envelope.goals.goals) == 1
    assert bench.visited == ["a", "b"], "what was confirmed is not done again"


@pytest.mark.parametrize("answer", [{"approved": False}, {}])
def test_a_result_that_is_not_confirmed_takes_no_effect(answer: dict[str, Any]) -> None:
    bench = begun(guarded())
    bench.succeed({"n": 1}, policy=TO_CONFIRM)
    bench.answer("hm", **answer)
    assert (bench.reason, bench.envelope.outputs) == ("denied_by_policy", {})


@pytest.mark.parametrize("expiry", [{}, {"confirmation": "proceed"}])
def test_silence_never_confirms_a_result(expiry: dict[str, Any]) -> None:
    bench = begun(guarded(interrupt_expiry=expiry))
    bench.succeed({"n": 1}, policy=TO_CONFIRM)
    bench.wait(3600)
    assert (bench.reason, bench.envelope.outputs) == ("interrupt_expired", {})


def test_a_caller_that_does_not_wait_gets_the_question_and_no_result() -> None:
    bench = begun(guarded(), wait=False)
    bench.succeed({"n": 1}, policy=TO_CONFIRM)
    assert (bench.reason, bench.envelope.outputs) == ("confirmation_required", {})


def test_a_result_without_a_verdict_of_the_policies_is_a_failure() -> None:
    bench = begun(guarded())
    bench.succeed({"n": 1})
    assert bench.reason == "internal_error"
    assert "came without their verdict" in str(bench.envelope.terminal_detail)


def test_a_confirmed_result_that_ends_the_run_ends_it() -> None:
    bench = begun(PipelineBuilder().stage("a", has_policies=True))
    bench.succeed({"n": 1}, policy=TO_CONFIRM)
    bench.answer(approved=True)
    assert (bench.reason, bench.envelope.lifecycle) == ("completed", "terminated")


def test_a_confirmed_result_that_asks_something_itself_keeps_the_run_waiting() -> None:
    bench = begun(guarded())
    bench.succeed({"n": 1}, policy=TO_CONFIRM, interrupt=InterruptRequest("clarification", "Which?"))
    bench.answer(approved=True)
    assert bench.envelope.interrupt is not None
    assert (bench.envelope.lifecycle, bench.envelope.interrupt.question) == ("waiting", "Which?")
    bench.answer("this")
    assert bench.at_work == ["a"]


def test_what_was_held_back_goes_on_after_a_confirmation() -> None:
    builder = PipelineBuilder.parallel().stage("a", has_policies=True).stage("b", default_next="c").stage("c")
    bench = begun(builder)
    bench.succeed({"n": 1}, policy=TO_CONFIRM, stage="a")
    bench.succeed(stage="b")
    assert bench.at_work == []
    bench.answer(approved=True)
    assert bench.at_work == ["c"]


def test_a_confirmed_result_is_routed_like_any_other() -> None:
    builder = (
        PipelineBuilder().stage("a", has_policies=True).rule("go", "c", "c").stage("b").stage("c", default_next="b")
    )
    bench = begun(builder)
    bench.succeed({"go": "c"}, policy=TO_CONFIRM)
    bench.answer(approved=True)
    assert bench.at_work == ["c"]


def test_a_result_that_waits_for_its_confirmation_is_no_success_for_a_join() -> None:
    builder = PipelineBuilder.parallel().stage("a", has_policies=True).stage("b").stage("c", requires=["a"])
    bench = begun(builder)
    bench.ask(stage="b")
    bench.succeed({"n": 1}, policy=TO_CONFIRM, stage="a")
    bench.answer("x")
    assert (bench.at_work, bench.envelope.outputs.get("a")) == (["b"], None)
    bench.answer(approved=True)
    assert bench.at_work == ["b", "c"]


def test_an_answer_to_another_question_confirms_nothing() -> None:
    builder = PipelineBuilder.parallel().stage("a", has_policies=True).stage("b")
    bench = begun(builder)
    bench.ask("confirmation", stage="b")
    bench.succeed({"n": 1}, policy=TO_CONFIRM, stage="a")
    bench.answer(approved=True)
    assert "a" not in bench.envelope.outputs
    assert bench.envelope.interrupt is not None
    assert bench.envelope.interrupt.question == "Delete 3 files?"


# Fan-outs and the limit


@pytest.mark.parametrize(
    ("verdicts", "reason", "lifecycle"),
    [
        ([APPROVED, APPROVED], None, "running"),
        ([APPROVED, DENIED], "denied_by_policy", "terminated"),
        ([TO_CONFIRM, DENIED], "denied_by_policy", "terminated"),
        ([TO_CONFIRM, APPROVED], None, "waiting"),
    ],
)
def test_the_strictest_verdict_on_an_item_is_the_verdict_on_the_whole(
    verdicts: list[PolicyVerdict], reason: str | None, lifecycle: str
) -> None:
    builder = PipelineBuilder().stage("list", default_next="each")
    builder.stage("each", foreach="outputs.list.x", has_policies=True, default_next="b").stage("b")
    bench = begun(builder)
    bench.succeed({"x": [1, 2]})
    for item in (1, 0):
        bench.succeed({"of": item}, policy=verdicts[item], goals=GOALS, stage="each", item=item)
    assert (bench.reason, bench.envelope.lifecycle) == (reason, lifecycle)
    is_kept = lifecycle == "running"
    assert ("each" in bench.envelope.outputs) == is_kept == bool(bench.envelope.goals.goals)
    if lifecycle == "waiting":
        bench.answer(approved=True)
        assert bench.envelope.outputs["each"] == {"items": [{"of": 0}, {"of": 1}]}
        assert bench.at_work == ["b"]


@pytest.mark.parametrize("verdict", [DENIED, TO_CONFIRM])
def test_at_the_limit_what_is_not_approved_is_not_kept_and_the_reason_stays(verdict: PolicyVerdict) -> None:
    builder = PipelineBuilder(final_stage="say", max_agent_hops=1).stage("a").stage("say", has_policies=True)
    bench = begun(builder)
    assert bench.at_work == ["say"]
    bench.succeed({"text": "secret"}, policy=verdict)
    assert (bench.reason, bench.envelope.outputs) == ("max_agent_hops_exceeded", {})
