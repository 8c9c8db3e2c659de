"""Reading a run's log again: its state at every step, and why each thing happened."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from runtime.primitives.ids import RunId, StageKey
from runtime.run.envelope import InterruptResponse
from runtime.run.policy_verdict import PolicyVerdict
from runtime.supervision.events import Event, InterruptAnswered, StageStarted, TimerFired
from runtime.supervision.forking import with_run_id
from runtime.supervision.replay import Reason, decisions, explain, fold
from runtime.testing import Bench, PipelineBuilder
from tests.runtime.hosting.hosted import wire
from tests.runtime.hosting.recorded import KINDS, racing


def lines(bench: Bench) -> list[tuple[str, str]]:
    return [(reason.why, reason.what) for reason in explain(bench.config, bench.log)]


def last(bench: Bench) -> tuple[str, str]:
    return lines(bench)[-1]


def judged() -> PipelineBuilder:
    """A stage that may be sent back once, or on to the end."""
    builder = PipelineBuilder(max_iterations=1).stage("work", default_next="judge").stage("judge", default_next="end")
    return builder.rule("good", False, "work").rule("score", [1, "x"], "work")


def test_why_names_the_rule_that_matched_by_its_number_and_value() -> None:
    bench = Bench(judged().build())
    bench.request()
    bench.succeed({})
    bench.succeed({"score": [1, "x"]})
    assert lines(bench) == [
        ("a caller asked", "stage 'work' was told to run"),
        ("'work' succeeded; no rule matched, so its default is 'judge'", "stage 'judge' was told to run"),
        ("'judge' succeeded; rule 2 matched: score = [1, 'x'] leads to 'work'", "stage 'work' was told to run"),
    ]


def test_why_says_when_no_rule_matched() -> None:
    bench = Bench(judged().build())
    bench.request()
    bench.succeed({})
    bench.succeed({"good": 0})
    assert last(bench) == ("'judge' succeeded; no rule matched, so its default is 'end'", "the run ended: completed")


def test_why_names_the_bound_that_ended_a_run_with_what_was_and_what_may_be() -> None:
    bench = Bench(judged().build())
    bench.request()
    for output in ({}, {"good": False}, {}, {"good": False}):
        bench.succeed(output)
    why, what = last(bench)
    assert why == "'judge' succeeded; rule 1 matched: good = False leads to 'work'"
    assert what.startswith("the run ended: max_iterations_exceeded (1 loop-backs made, limit 1; 'judge' -> 'work'")


def test_why_tells_of_the_limit_and_of_the_answer_that_was_given_there() -> None:
    builder = PipelineBuilder(max_agent_hops=2, final_stage="sum").stage("work", default_next="more").stage("more")
    bench = Bench(builder.stage("sum").build())
    bench.request()
    bench.succeed({})
    assert last(bench)[1] == (
        "the run is at its limit: 1 stage executions made, limit 2 (1 kept for 'sum'); 'more' would be one more; "
        "stage 'sum' was told to run"
    )
    bench.succeed({})
    why, what = last(bench)
    assert why.startswith("'sum' gave the answer at the limit (1 stage executions made")
    assert what.startswith("the run ended: max_agent_hops_exceeded")


def test_why_tells_of_a_failure_its_pause_and_its_next_attempt() -> None:
    bench = Bench(PipelineBuilder().stage("a", max_retries=1).build())
    bench.request()
    bench.fail("tool", "busy", recoverable=True)
    bench.wait(2)
    bench.fail("tool", "still busy", recoverable=True)
    assert lines(bench)[1:] == [
        ("'a' failed (tool): busy", "stage 'a' is tried again after a pause"),
        ("the pause before the next attempt of 'a' is over", "stage 'a' was told to run"),
        (
            "'a' failed (tool): still busy",
            "the run ended: tool_failed_recoverably (stage 'a' failed after 2 attempts: still busy)",
        ),
    ]


def test_why_tells_of_an_error_route() -> None:
    bench = Bench(PipelineBuilder().stage("a", error_next="b").stage("b").build())
    bench.request()
    bench.fail("internal", "odd")
    assert last(bench) == ("'a' failed (internal): odd", "stage 'b' was told to run")


def test_why_tells_of_a_timeout_and_of_a_deadline() -> None:
    bench = Bench(PipelineBuilder(deadline_s=20).stage("a", timeout_s=5, max_retries=1).build())
    bench.request()
    bench.wait(5)
    assert last(bench) == ("'a' took longer than its timeout", "stage 'a' is tried again after a pause")
    bench.wait(5)
    bench.succeed({})
    bench = Bench(PipelineBuilder(deadline_s=20).stage("a").build())
    bench.request()
    bench.wait(20)
    why, what = last(bench)
    assert why == "the run's deadline passed"
    assert what.startswith("the run ended: deadline_exceeded")


def test_why_tells_of_an_output_that_lacks_a_field() -> None:
    bench = Bench(PipelineBuilder().stage("a", required_output_fields=["x"], error_next="b").stage("b").build())
    bench.request()
    bench.succeed({"y": 1})
    why, what = last(bench)
    assert why == "'a' failed (internal): output of stage 'a' lacks the required fields x"
    assert what == "stage 'b' was told to run"


def test_why_tells_of_a_question_and_its_answer() -> None:
    bench = Bench(PipelineBuilder().stage("a").build())
    bench.request(wait=True)
    bench.ask("clarification", "Which?")
    assert last(bench) == ("'a' asks: Which?", "the run waits for an answer: Which?")
    bench.answer("this one")
    assert last(bench) == ("'local' answered 'Which?': this one", "stage 'a' was told to run")


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("confirmation", {"approved": True}, "yes"),
        ("confirmation", {"approved": False}, "no"),
        ("agent_review", {"decision": "modify"}, "modify"),
        ("checkpoint", {}, "go on"),
    ],
)
def test_why_tells_what_was_answered(kind: Any, given: dict[str, Any], said: str) -> None:
    bench = Bench(PipelineBuilder().stage("a").build())
    bench.request(wait=True)
    bench.ask(kind, "Sure?")
    bench.answer(**given)
    assert last(bench)[0] == f"'local' answered 'Sure?': {said}"


def test_why_tells_of_a_question_that_nobody_answered() -> None:
    bench = Bench(PipelineBuilder().stage("a").build())
    bench.request(wait=True)
    bench.ask("clarification", "Which?")
    bench.wait(24 * 3600)
    why, what = last(bench)
    assert why == "nobody answered in time: Which?"
    assert what == "the run ended: interrupt_expired (nobody answered 'Which?' in time)"


def test_why_tells_of_a_question_whose_asker_does_not_wait() -> None:
    bench = Bench(PipelineBuilder().stage("a").build())
    bench.request(wait=False)
    bench.ask("clarification", "Which?")
    assert last(bench) == ("'a' asks: Which?", "the run ended: clarification_required (Which?)")


@pytest.mark.parametrize(
    ("verdict", "why", "what"),
    [
        (
            PolicyVerdict("denied", "it is Sunday"),
            "the policy of 'a' denied its result",
            "the run ended: denied_by_policy (stage 'a': it is Sunday)",
        ),
        (
            PolicyVerdict("requires_confirmation", "Really?"),
            "the policy of 'a' wants a person's word before its result takes effect",
            "the run waits for an answer: Really?",
        ),
        (
            PolicyVerdict("approved"),
            "'a' succeeded; no rule matched, so its default is 'b'",
            "stage 'b' was told to run",
        ),
    ],
)
def test_why_tells_of_a_policys_verdict(verdict: PolicyVerdict, why: str, what: str) -> None:
    bench = Bench(PipelineBuilder().stage("a", has_policies=True, default_next="b").stage("b").build())
    bench.request(wait=True)
    bench.succeed({}, policy=verdict)
    assert last(bench) == (why, what)


def test_why_tells_item_by_item_of_a_fan_out_and_of_its_end() -> None:
    builder = PipelineBuilder().stage("list", default_next="each")
    builder.stage("each", foreach="outputs.list.items", foreach_concurrency=2, default_next="end")
    bench = Bench(builder.rule("items", [{"n": 0}, {"n": 1}, {"n": 2}], "sum").stage("sum").build())
    bench.request()
    bench.succeed({"items": ["x", "y", "z"]})
    assert last(bench)[1] == "stage 'each' was told to run for item 1; stage 'each' was told to run for item 2"
    bench.succeed({"n": 1}, item=1)
    assert last(bench) == ("'each' is done with item 2 of 3", "stage 'each' was told to run for item 3")
    bench.succeed({"n": 0}, item=0)
    bench.succeed({"n": 2}, item=2)
    why, what = last(bench)
    assert why.startswith("'each' succeeded; rule 1 matched: items = ")
    assert what == "stage 'sum' was told to run"


def test_why_tells_of_what_a_branch_of_a_parallel_run_sets_free() -> None:
    bench = Bench(PipelineBuilder.parallel().stage("a").stage("b", requires=["a"]).build())
    bench.request()
    bench.succeed({})
    assert last(bench) == ("'a' succeeded and routes nowhere; what requires it may start", "stage 'b' was told to run")


def test_why_tells_of_a_circle() -> None:
    config = (
        PipelineBuilder(loop_detection={"identical_action": 2}).stage("a").rule("r", 1, "a").edge_limit("a", "a", 9)
    )
    bench = Bench(config.build())
    bench.request()
    bench.succeed({"r": 1})
    bench.succeed({"r": 1})
    why, what = last(bench)
    assert why == "'a' succeeded, and does again what it has done before"
    assert what.startswith("the run ended: loop_detected")


@pytest.mark.parametrize("circle", ["outputs", "failures"])
def test_a_log_with_a_circle_replays_to_the_same_end(circle: str) -> None:
    builder = PipelineBuilder(loop_detection=True, max_iterations=99).stage("a", default_next="b", error_next="b")
    bench = Bench(builder.stage("b", error_next="a").rule("again", True, "a").build())
    bench.request()
    while bench.reason is None:
        if circle == "failures":
            bench.fail()
        else:
            bench.succeed({"again": True})
    assert bench.reason == "loop_detected"
    assert fold(bench.config, bench.log).envelope == bench.envelope
    assert last(bench)[1].startswith("the run ended: loop_detected")


def test_why_tells_who_ended_held_or_took_up_a_run() -> None:
    bench = Bench(PipelineBuilder().stage("a").build())
    bench.request(queued=True)
    bench.admit()
    bench.lose("a")
    bench.adopt()
    bench.pause("lunch")
    bench.cancel("enough")
    told = lines(bench)
    assert [why for why, _ in told] == [
        "there was room for the run",
        "the process of agent 'a' died",
        "a supervisor took the run up",
        "a caller wanted the run to hold: lunch",
        "a caller wanted the run to stop: enough",
    ]
    assert [what for _, what in told][3:] == [
        "the run waits for an answer: lunch",
        "the run ended: user_cancelled (enough)",
    ]


@pytest.mark.parametrize("kind", KINDS)
async def test_every_reason_is_of_an_event_of_the_log_and_the_last_one_is_the_end(kind: str) -> None:
    source = await KINDS[kind]()
    log = source.kit.log.events(source.run_id)
    reasons = explain(source.kit.config, log)
    at = {event.seq: event.at_ms for event in log}
    assert all(at[reason.seq] == reason.at_ms for reason in reasons)
    assert [reason.seq for reason in reasons] == sorted({reason.seq for reason in reasons})
    envelope = source.kit.runner.envelope(source.run_id)
    assert f"the run ended: {envelope.terminal_reason}" in reasons[-1].what
    told = " ".join(reason.what for reason in reasons)
    assert all(f"'{record.stage}'" in told for record in envelope.history)
    assert _read_back(reasons) == reasons


def _read_back(reasons: Sequence[Reason]) -> list[Reason]:
    return [msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(reason))), Reason) for reason in reasons]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_state_at_every_step_is_the_fold_of_the_log_up_to_it(kind: str) -> None:
    source = await KINDS[kind]()
    log, config = source.kit.log.events(source.run_id), source.kit.config
    steps = list(decisions(config, log))
    assert [event.seq for event, _, _ in steps] == [event.seq for event in log]
    for number, (_, before, decision) in enumerate(steps):
        assert decision.ignored is None
        assert fold(config, log[: number + 1]) == decision.state
        assert number == 0 or before == fold(config, log[:number])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_renamed_run_decides_alike_and_can_be_named_back(kind: str) -> None:
    source = await KINDS[kind]()
    log, config = source.kit.log.events(source.run_id), source.kit.config
    other = [with_run_id(event, RunId("r-other")) for event in log]
    assert wire(with_run_id(event, source.run_id) for event in other) == wire(log)
    assert source.run_id.encode() not in b"".join(wire(other))
    state = fold(config, other)
    assert state.envelope.run_id == "r-other"
    assert state.envelope.outputs == fold(config, log).envelope.outputs


@pytest.mark.parametrize("run_id", ["r", "t", "timeout", "retry", "out:t", "1"])
def test_renaming_changes_the_name_and_nothing_that_looks_like_it(run_id: str) -> None:
    named = RunId(run_id)

    def other(payload: Any) -> Any:
        return with_run_id(Event(named, 1, 0, payload), RunId("NEW")).payload

    key = StageKey(named, 1)
    assert other(StageStarted(key)) == StageStarted(StageKey(RunId("NEW"), 1))
    assert other(TimerFired(f"timeout:{key}")) == TimerFired("timeout:NEW/1/0/1")
    assert other(TimerFired(f"retry:{key}")) == TimerFired("retry:NEW/1/0/1")
    assert other(TimerFired("deadline")) == TimerFired("deadline")
    assert other(TimerFired(f"interrupt:{run_id}-q1")) == TimerFired("interrupt:NEW-q1")
    answer = InterruptAnswered(f"{run_id}-q1", run_id, InterruptResponse(run_id))
    assert other(answer) == InterruptAnswered("NEW-q1", run_id, InterruptResponse(run_id))


async def test_a_race_is_told_with_its_winner() -> None:
    source = await racing()
    told = [reason.what for reason in explain(source.kit.config, source.kit.log.events(source.run_id))]
    assert told[0] == "stage 'quick' was told to run; stage 'slow' was told to run"
    assert told[1] == "stage 'pick' was told to run"


async def test_a_hook_that_fails_on_purpose_is_told_in_its_own_words() -> None:
    source = await KINDS["retried"]()
    told = [reason.why for reason in explain(source.kit.config, source.kit.log.events(source.run_id))]
    assert "'try' failed (tool): busy" in told
    assert "'break' failed (tool): broken" in told
