"""Runs that wait to be admitted, runs that another supervisor takes up, and runs that are forked from a past."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.primitives.ids import RunId
from runtime.supervision.commands import RunStage, SetTimer
from runtime.supervision.decide import MAX_REISSUES
from runtime.supervision.events import StageSucceeded
from runtime.supervision.forking import with_run_id
from runtime.supervision.replay import fold
from runtime.testing import START_MS, Bench, PipelineBuilder, wire_form

MODEL: dict[str, Any] = {"has_llm": True, "model_role": "m"}


def line(**settings: Any) -> PipelineBuilder:
    return PipelineBuilder(**settings).stage("a", default_next="b", max_retries=1).stage("b")


def begun(builder: PipelineBuilder, queued: bool = False, **request: Any) -> Bench:
    bench = Bench(builder.build())
    bench.request(queued, **{"wait": True, **request})
    return bench


# Admission


def test_a_queued_run_is_accepted_and_begins_when_it_is_admitted() -> None:
    bench = begun(line(), queued=True)
    assert (bench.envelope.lifecycle, bench.at_work) == ("ready", [])
    assert [event.type for event in bench.client_events] == ["run.accepted"]
    bench.admit()
    assert (bench.envelope.lifecycle, bench.at_work) == ("running", ["a"])


def test_a_queued_parallel_run_begins_with_all_that_may_start() -> None:
    bench = begun(PipelineBuilder.parallel().stage("a").stage("b"), queued=True)
    bench.admit()
    assert bench.at_work == ["a", "b"]


def test_a_run_is_admitted_once() -> None:
    bench = begun(line(), queued=True)
    bench.admit()
    assert bench.admit().ignored == "the run does not wait to be admitted"
    assert begun(line()).admit().ignored == "the run does not wait to be admitted"


def test_a_queued_run_can_be_cancelled() -> None:
    bench = begun(line(), queued=True)
    bench.cancel()
    assert bench.reason == "user_cancelled"


@pytest.mark.parametrize("final", [None, "b"])
def test_a_deadline_holds_for_a_queued_run_too_which_has_nothing_to_answer(final: str | None) -> None:
    bench = begun(line(deadline_s=5, final_stage=final), queued=True)
    bench.wait(4.999)
    assert bench.envelope.lifecycle == "ready"
    bench.wait(0.001)
    assert (bench.reason, bench.visited) == ("deadline_exceeded", [])


# Adoption


def test_a_run_that_is_taken_up_re_issues_its_stages_under_the_same_hop() -> None:
    bench = begun(PipelineBuilder.parallel().stage("a").stage("b"))
    before = [entry.key for entry in bench.state.in_flight.values()]
    decision = bench.adopt()
    issued = [command.key for command in decision.commands if isinstance(command, RunStage)]
    assert [(key.hop, key.attempt) for key in issued] == [(1, 2), (2, 2)]
    assert [key.effect_key for key in issued] == [key.effect_key for key in before]
    assert bench.envelope.usage.agent_hops == 2
    assert bench.happen(StageSucceeded(before[0], {})).ignored == "no such stage is in flight"


def test_a_change_of_supervisor_counts_what_was_granted_as_spent_and_is_no_loss_of_an_agent() -> None:
    bench = begun(PipelineBuilder(max_llm_calls=99).stage("a", **MODEL))
    for _ in range(MAX_REISSUES + 2):
        bench.adopt()
    assert bench.reason is None
    assert bench.envelope.usage.llm_calls == MAX_REISSUES + 2


def test_timers_are_set_again_for_the_deadline_a_retry_and_an_open_question() -> None:
    bench = begun(line(deadline_s=50))
    bench.fail()
    decision = bench.adopt()
    timers = {command.timer_id for command in decision.commands if isinstance(command, SetTimer)}
    assert timers == {"deadline", "soft_deadline", "retry:r-bench/1/0/1"}
    bench.wait(1)
    bench.ask()
    decision = bench.adopt()
    assert SetTimer("interrupt:r-bench-q1", bench.now_ms + 24 * 3_600_000) in decision.commands
    bench.answer("x")
    assert bench.at_work == ["a"]


def test_a_queued_run_that_is_taken_up_is_still_queued() -> None:
    bench = begun(line(), queued=True)
    bench.adopt()
    assert bench.envelope.lifecycle == "ready"


def test_nothing_takes_up_a_run_that_is_over_or_was_never_requested() -> None:
    bench = Bench(line().build())
    assert bench.adopt().ignored == "no such run was requested"
    bench.request()
    bench.cancel()
    assert bench.adopt().ignored == "the run is over"


# Forks


def test_the_past_of_a_fork_is_that_of_its_source_under_its_own_name() -> None:
    bench = begun(line(deadline_s=9_000))
    bench.start()
    bench.fail("tool")
    bench.wait(1)
    bench.want(llm_calls=1)
    bench.ask(question="Which?")
    bench.answer("this one")
    bench.succeed({"n": 1})
    bench.succeed({"n": 2})
    assert bench.reason == "completed"
    for length in range(1, len(bench.log) + 1):
        past = bench.log[:length]
        expected = wire_form(fold(bench.config, past))
        found = fold(bench.config, [with_run_id(event, RunId("r-fork")) for event in past])
        assert found.envelope.run_id == "r-fork"
        assert "r-bench" not in str(found)
        assert without_jitter(wire_form(found), "r-fork") == without_jitter(expected, "r-bench")


def without_jitter(state: dict[str, Any], run_id: str) -> str:
    """A state as text, less its run id and the instants at which retries are due, which depend on it."""
    timers = {name: due for name, due in state["timers"].items() if not name.startswith("retry:")}
    return str({**state, "timers": timers}).replace(run_id, "*")


def test_a_fork_has_a_future_of_its_own() -> None:
    bench = begun(line())
    bench.succeed({"n": 1})
    fork = Bench(bench.config, "r-fork")
    fork.state = fold(bench.config, [with_run_id(event, fork.run_id) for event in bench.log])
    fork.log = [with_run_id(event, fork.run_id) for event in bench.log]
    fork.adopt()
    assert (fork.flying.stage, fork.flying.key.attempt) == ("b", 2)
    fork.succeed({"n": 3})
    assert (fork.reason, fork.envelope.outputs) == ("completed", {"a": {"n": 1}, "b": {"n": 3}})
    assert bench.envelope.lifecycle == "running"
    assert bench.envelope.received_at_ms == START_MS
