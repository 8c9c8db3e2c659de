"""Questions whose stage is called off while they are open: withdrawn, never answered in the name of another stage."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from runtime.run.envelope import InterruptResponse
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import decode_view
from runtime.supervision.commands import SetTimer
from runtime.supervision.events import InterruptAnswered, Payload, RunAdopted, TimerFired
from runtime.supervision.replay import explain
from runtime.supervision.state import Held
from runtime.testing import START_MS, Bench, PipelineBuilder

replace = msgspec.structs.replace

SURE = PolicyVerdict("requires_confirmation", "May it commit?")
WITHDRAWN = "interrupt r-bench-q1 is cancelled already"


def race_above_a_join(**settings: Any) -> PipelineBuilder:
    """`last` needs `quick` or `both`, which needs `asks` and `sibling`; `commits` has policies and stands alone."""
    builder = PipelineBuilder.parallel(**settings).stage("asks").stage("sibling").stage("quick")
    builder.stage("both", requires=["asks", "sibling"]).stage("last", requires=["quick", "both"], join_strategy="any")
    return builder.stage("commits", has_policies=True)


def asked(**settings: Any) -> Bench:
    """A run in which stage `asks` has an open question, and the others are at work."""
    bench = Bench(race_above_a_join(**settings).build())
    bench.request(wait=True)
    bench.ask(question="Which?", stage="asks")
    return bench


def asked_twice(**settings: Any) -> Bench:
    """The result of `commits` is to be confirmed after that."""
    bench = asked(**settings)
    bench.succeed({"made": 1}, stage="commits", policy=SURE)
    return bench


def answered_without_room(bench: Bench) -> None:
    bench.happen(InterruptAnswered("r-bench-q1", "local", InterruptResponse("this", approved=True), queued=True))
    assert bench.envelope.lifecycle == "ready"


def open_question(bench: Bench) -> tuple[str, str, str]:
    interrupt = bench.envelope.interrupt
    assert interrupt is not None
    return interrupt.id, str(interrupt.stage), interrupt.status


def resolved(bench: Bench) -> list[tuple[str, str]]:
    events = [event for event in bench.client_events if event.type == "interrupt.resolved"]
    return [(event.data["id"], event.data["status"]) for event in events]


# A failure elsewhere calls the branch off that asked


def test_the_answer_to_a_withdrawn_question_confirms_no_other_stages_result() -> None:
    bench = asked_twice()
    bench.fail("tool", stage="sibling")
    assert bench.envelope.stages["asks"] == "cancelled"
    assert resolved(bench) == [("r-bench-q1", "cancelled")]
    assert (open_question(bench), bench.envelope.lifecycle) == (("r-bench-q2", "commits", "pending"), "waiting")
    late = bench.answer("this", interrupt_id="r-bench-q1", approved=True)
    assert late.ignored == "interrupt r-bench-q1 is not open; r-bench-q2 is"
    assert "commits" not in bench.envelope.outputs
    bench.answer(approved=True)
    assert bench.envelope.outputs == {"asks": {}, "commits": {"made": 1}}
    bench.succeed(stage="quick")
    bench.succeed(stage="last")
    assert (bench.reason, bench.visited.count("asks")) == ("completed", 1)


def test_the_next_question_after_a_withdrawn_one_may_be_denied() -> None:
    bench = asked_twice()
    bench.fail("tool", stage="sibling")
    bench.answer(approved=False)
    assert (bench.reason, bench.envelope.terminal_detail) == (
        "denied_by_policy",
        "the answer to 'May it commit?' was no",
    )
    assert "commits" not in bench.envelope.outputs


def test_the_record_says_that_a_question_was_withdrawn_and_why() -> None:
    bench = asked_twice()
    bench.fail("tool", stage="sibling")
    told = explain(bench.config, bench.log)[-1]
    assert told.what == (
        "the open question was withdrawn, because the stage that asked was cancelled; "
        "the run waits for an answer: May it commit?"
    )
    assert told.why == "'sibling' failed (tool): broken"


def test_the_time_of_the_next_question_begins_when_the_one_before_it_is_withdrawn() -> None:
    bench = asked_twice()
    bench.wait(60)
    bench.fail("tool", stage="sibling")
    due_ms = START_MS + 60_000 + 3_600_000
    assert [timer for timer in bench.state.timers if timer.startswith("interrupt:")] == ["interrupt:r-bench-q2"]
    assert SetTimer("interrupt:r-bench-q2", due_ms) in bench.commands
    assert bench.happen(TimerFired("interrupt:r-bench-q1")).ignored == "no such timer is set"


def test_a_run_whose_only_question_is_withdrawn_goes_on_when_there_is_room_for_it() -> None:
    bench = asked()
    bench.succeed(stage="commits", policy=PolicyVerdict("approved"))
    bench.fail("tool", stage="sibling")
    assert (open_question(bench)[2], bench.envelope.lifecycle, bench.at_work) == ("cancelled", "ready", ["quick"])
    assert bench.answer("this", interrupt_id="r-bench-q1").ignored == WITHDRAWN
    bench.succeed(stage="quick")
    assert bench.at_work == [], "nothing starts before there is room for the run"
    bench.admit()
    assert (bench.envelope.lifecycle, bench.at_work) == ("running", ["last"])
    bench.succeed()
    assert (bench.reason, bench.visited.count("asks")) == ("completed", 1)


def test_a_run_that_was_done_but_for_a_withdrawn_question_is_over_when_it_is_admitted() -> None:
    builder = PipelineBuilder.parallel().stage("asks").stage("sibling").stage("both", requires=["asks", "sibling"])
    builder.stage("quick").stage("last", requires=["quick", "both"], join_strategy="any")
    bench = Bench(builder.build())
    bench.request(wait=True)
    bench.pause()
    bench.ask(question="Which?", stage="asks")
    bench.succeed(stage="quick")
    bench.fail("tool", stage="sibling")
    bench.answer()
    bench.succeed(stage="last")
    assert (bench.reason, bench.envelope.interrupts_raised) == ("completed", 1)


@pytest.mark.parametrize("expiry", ["proceed", "end"])
def test_a_withdrawn_question_never_expires(expiry: str) -> None:
    bench = asked(interrupt_expiry={"clarification": expiry}, default_timeout_s=10**6)
    bench.fail("tool", stage="sibling")
    assert bench.happen(TimerFired("interrupt:r-bench-q1")).ignored == "no such timer is set"
    bench.wait(48 * 3600)
    assert (bench.reason, bench.envelope.lifecycle) == (None, "ready")


def test_the_expiry_of_a_withdrawn_question_lets_no_other_stages_result_take_effect() -> None:
    expiry = {"clarification": "proceed", "confirmation": "proceed"}
    bench = asked_twice(interrupt_expiry=expiry, default_timeout_s=10**6)
    bench.fail("tool", stage="sibling")
    bench.wait(3600)
    assert (bench.reason, bench.envelope.terminal_detail) == (
        "interrupt_expired",
        "nobody answered 'May it commit?' in time",
    )
    assert "commits" not in bench.envelope.outputs


def test_several_questions_that_one_failure_makes_pointless_are_withdrawn_at_once() -> None:
    builder = PipelineBuilder.parallel().stage("asks").stage("also").stage("sibling").stage("quick")
    builder.stage("all", requires=["asks", "also", "sibling"])
    bench = Bench(builder.stage("last", requires=["quick", "all"], join_strategy="any").build())
    bench.request(wait=True)
    bench.ask(question="First?", stage="asks")
    bench.ask(question="Second?", stage="also")
    bench.fail("tool", stage="sibling")
    assert (bench.envelope.interrupts_raised, bench.state.held, bench.envelope.lifecycle) == (1, Held(), "ready")


def test_what_a_failure_calls_off_is_not_visited_when_the_run_goes_on() -> None:
    builder = PipelineBuilder.parallel().stage("head", default_next="more").stage("more").stage("sibling")
    builder.stage("both", requires=["more", "sibling"]).stage("quick")
    bench = Bench(builder.stage("last", requires=["quick", "both"], join_strategy="any").build())
    bench.request(wait=True)
    bench.pause()
    bench.succeed(stage="head")
    assert bench.state.held.entries == ("more",)
    bench.fail("tool", stage="sibling")
    bench.succeed(stage="quick")
    bench.answer()
    bench.succeed(stage="last")
    assert (bench.reason, bench.visited) == ("completed", ["head", "sibling", "quick", "last"])


# The same after the answer, while the run waits for room


def test_an_answer_that_waits_for_room_confirms_no_other_stages_result_when_its_own_stage_is_called_off() -> None:
    bench = asked_twice()
    answered_without_room(bench)
    bench.fail("tool", stage="sibling")
    assert bench.envelope.lifecycle == "ready"
    bench.admit()
    assert (open_question(bench), bench.envelope.lifecycle) == (("r-bench-q2", "commits", "pending"), "waiting")
    assert "commits" not in bench.envelope.outputs
    assert resolved(bench) == [("r-bench-q1", "resolved")]


def test_a_run_whose_answered_stage_is_called_off_goes_on_and_does_not_begin_again() -> None:
    builder = race_above_a_join().stage("head", default_next="more").stage("more")
    bench = Bench(builder.build())
    bench.request(wait=True)
    bench.ask(question="Which?", stage="asks")
    answered_without_room(bench)
    bench.succeed(stage="head")
    bench.fail("tool", stage="sibling")
    bench.admit()
    assert (bench.envelope.lifecycle, bench.at_work) == ("running", ["quick", "commits", "more"])
    assert bench.state.held == Held()
    assert bench.visited.count("asks") == 1


def test_a_deadline_of_a_run_whose_answered_stage_was_called_off_gets_the_answer_at_the_limit() -> None:
    bench = asked(deadline_s=60, final_stage="last")
    answered_without_room(bench)
    bench.fail("tool", stage="sibling")
    bench.wait(60)
    assert bench.at_work == ["last"]
    bench.succeed({"text": "partial"})
    assert bench.reason == "deadline_exceeded"


# A race that is won calls the branch off that asked


def race() -> Bench:
    builder = PipelineBuilder.parallel().stage("asks").stage("quick").stage("slow")
    bench = Bench(builder.stage("last", requires=["asks", "quick"], join_strategy="any").build())
    bench.request(wait=True)
    bench.ask(question="Which?", stage="asks")
    return bench


def test_the_question_of_a_loser_is_withdrawn_when_its_race_is_won() -> None:
    bench = race()
    bench.succeed({"n": 1}, stage="quick")
    assert (resolved(bench), bench.envelope.lifecycle) == ([("r-bench-q1", "cancelled")], "ready")
    assert bench.answer("this").ignored == WITHDRAWN
    bench.admit()
    assert bench.at_work == ["slow", "last"]
    assert bench.envelope.stages["asks"] == "cancelled"
    assert bench.visited.count("asks") == 1


def test_a_loser_whose_answer_waits_for_room_is_not_visited_again() -> None:
    bench = race()
    answered_without_room(bench)
    bench.succeed({"n": 1}, stage="quick")
    bench.admit()
    assert bench.at_work == ["slow", "last"]
    assert bench.visited.count("asks") == 1


def test_a_result_that_was_confirmed_before_the_race_was_won_takes_effect() -> None:
    builder = PipelineBuilder.parallel().stage("asks", has_policies=True).stage("quick")
    bench = Bench(builder.stage("last", requires=["asks", "quick"], join_strategy="any").build())
    bench.request(wait=True)
    bench.succeed({"made": 1}, stage="asks", policy=SURE)
    answered_without_room(bench)
    bench.succeed({"n": 1}, stage="quick")
    bench.admit()
    assert bench.at_work == ["last"]
    assert decode_view(bench.issued[-1].input).outputs == {"asks": {"made": 1}, "quick": {"n": 1}}


def test_a_question_stays_open_while_its_stage_may_still_be_needed() -> None:
    builder = PipelineBuilder.parallel().stage("asks").stage("quick").stage("slow")
    builder.stage("also", requires=["asks"]).stage("last", requires=["asks", "quick"], join_strategy="any")
    bench = Bench(builder.build())
    bench.request(wait=True)
    bench.ask(stage="asks")
    bench.succeed(stage="quick")
    assert (open_question(bench), bench.envelope.lifecycle) == (("r-bench-q1", "asks", "pending"), "waiting")


def test_a_pause_stays_open_whatever_is_called_off() -> None:
    builder = PipelineBuilder.parallel().stage("asks").stage("quick")
    bench = Bench(builder.stage("last", requires=["asks", "quick"], join_strategy="any").build())
    bench.request(wait=True)
    bench.pause()
    bench.ask(stage="asks")
    bench.succeed(stage="quick")
    assert (open_question(bench), bench.envelope.lifecycle) == (("r-bench-q1", "None", "pending"), "waiting")
    bench.answer()
    assert (bench.at_work, bench.envelope.interrupts_raised) == (["last"], 1)


# What was recorded before


def orphaned() -> Bench:
    """A run as former versions left it: its question is open, and nobody holds it any more."""
    bench = asked()
    stages = {**bench.envelope.stages, "asks": "cancelled"}
    bench.state = replace(bench.state, held=Held(), envelope=replace(bench.envelope, stages=stages))
    return bench


@pytest.mark.parametrize("payload", [RunAdopted("taken up"), TimerFired("interrupt:r-bench-q1")])
def test_a_run_that_a_former_version_left_stuck_goes_on(payload: Payload) -> None:
    bench = orphaned()
    bench.happen(payload)
    assert (open_question(bench)[2], bench.envelope.lifecycle) == ("cancelled", "ready")
    bench.admit()
    assert bench.envelope.lifecycle == "running"


def test_an_answer_to_a_question_that_nobody_holds_changes_nothing_and_says_why() -> None:
    bench = orphaned()
    ignored = bench.answer("this").ignored
    assert ignored == "interrupt r-bench-q1 is withdrawn: the stage that asked was cancelled"
