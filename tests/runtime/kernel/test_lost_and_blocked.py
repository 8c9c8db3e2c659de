"""Attempts that died with their process, quotas that are spent, and runs under way that wait for room."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.primitives.ids import StageKey
from runtime.supervision.events import (
    ActorLost,
    CancelRequested,
    PauseRequested,
    QuotaExhausted,
    RunAdopted,
    StageStarted,
    StageSucceeded,
    TimerFired,
)
from runtime.testing import Bench, PipelineBuilder

BLOCKED = "the run is blocked until there is room for it"
SPENT = QuotaExhausted("tokens", "user 'u' has spent 9 tokens within 24 hours, quota 9")


def begun(builder: PipelineBuilder, **request: Any) -> Bench:
    bench = Bench(builder.build())
    bench.request(**{"wait": True, **request})
    return bench


def line(**settings: Any) -> PipelineBuilder:
    return PipelineBuilder(**settings).stage("a", default_next="b").stage("b")


def blocked(**settings: Any) -> Bench:
    bench = begun(line(**settings))
    bench.happen(RunAdopted("forked", queued=True))
    assert (bench.envelope.lifecycle, bench.issued[1:]) == ("blocked", [])
    return bench


def fanned_out() -> tuple[Bench, list[StageKey]]:
    many = PipelineBuilder().stage("list", default_next="each")
    bench = begun(many.stage("each", foreach="outputs.list.items", foreach_concurrency=3))
    bench.succeed({"items": [1, 2, 3]})
    return bench, [entry.key for entry in bench.state.in_flight.values()]


def test_only_the_attempts_that_are_named_are_lost() -> None:
    bench, keys = fanned_out()
    bench.happen(ActorLost("each", (keys[1],)))
    assert [(key.item, key.attempt) for key in sorted(entry.key for entry in bench.state.in_flight.values())] == [
        (0, 1),
        (1, 2),
        (2, 1),
    ]


def test_without_names_all_that_the_agent_had_is_lost() -> None:
    bench, _ = fanned_out()
    bench.happen(ActorLost("each"))
    assert {entry.key.attempt for entry in bench.state.in_flight.values()} == {2}


@pytest.mark.parametrize("attempt", [0, 2])
def test_the_loss_of_an_attempt_that_is_not_the_one_in_flight_changes_nothing(attempt: int) -> None:
    bench = begun(line())
    other = StageKey(bench.run_id, 1, 0, attempt)
    assert bench.happen(ActorLost("a", (other,))).ignored == "nothing of this run was in that agent's hands"


def test_a_loss_that_is_told_twice_counts_once() -> None:
    bench = begun(line())
    lost = ActorLost("a", (bench.flying.key,))
    bench.happen(lost)
    assert bench.happen(lost).ignored is not None
    assert bench.flying.key.attempt == 2


def test_an_attempt_that_is_named_under_another_agent_is_not_lost() -> None:
    bench = begun(line())
    assert bench.happen(ActorLost("b", (bench.flying.key,))).ignored is not None


@pytest.mark.parametrize(
    "payload",
    [SPENT, PauseRequested(), ActorLost("a"), TimerFired("timeout:r-bench/1/0/1"), TimerFired("retry:r-bench/1/0/1")],
)
def test_nothing_but_its_admission_its_end_or_its_deadline_reaches_a_blocked_run(payload: Any) -> None:
    assert blocked().happen(payload).ignored == BLOCKED


def test_what_a_stage_of_a_blocked_run_says_late_is_passed_over() -> None:
    bench = blocked()
    key = bench.flying.key
    assert bench.happen(StageStarted(key)).ignored == BLOCKED
    assert bench.happen(StageSucceeded(key, {})).ignored == BLOCKED


def test_a_blocked_run_that_is_admitted_issues_again_what_was_in_flight_once() -> None:
    bench = blocked()
    bench.admit()
    assert (bench.envelope.lifecycle, bench.flying.key.attempt) == ("running", 2)
    assert bench.admit().ignored == "the run does not wait to be admitted"


def test_a_blocked_run_that_another_supervisor_takes_up_is_still_blocked() -> None:
    bench = blocked()
    bench.happen(RunAdopted("taken up"))
    assert (bench.envelope.lifecycle, len(bench.issued)) == ("blocked", 1)
    bench.admit()
    bench.succeed({})
    bench.succeed({})
    assert bench.reason == "completed"


def test_a_blocked_run_can_be_cancelled_by_its_caller() -> None:
    bench = blocked()
    bench.happen(CancelRequested())
    assert bench.reason == "user_cancelled"


@pytest.mark.parametrize("final", [None, "b"])
def test_a_deadline_ends_a_blocked_run(final: str | None) -> None:
    bench = blocked(deadline_s=5, final_stage=final)
    bench.wait(5)
    if final is not None:
        bench.succeed({})
    assert bench.reason == "deadline_exceeded"


@pytest.mark.parametrize("lifecycle", ["waiting", "ready"])
def test_a_run_that_is_not_under_way_is_taken_up_as_it_was_whether_there_is_room_or_not(lifecycle: str) -> None:
    bench = Bench(line().build())
    bench.request(lifecycle == "ready", wait=True)
    if lifecycle == "waiting":
        bench.ask()
    bench.happen(RunAdopted("forked", queued=True))
    assert bench.envelope.lifecycle == lifecycle


def test_a_spent_quota_is_put_to_a_person_once() -> None:
    bench = begun(line())
    bench.happen(SPENT)
    bench.happen(SPENT)
    bench.succeed({})
    questions = [event for event in bench.client_events if event.type == "interrupt.raised"]
    assert bench.envelope.lifecycle == "waiting"
    assert len(questions) <= 1
    assert bench.happen(SPENT).ignored == "a run that is waiting is not stopped by a quota"


def test_a_final_stage_that_was_at_work_when_its_run_was_blocked_is_issued_again_at_the_deadline() -> None:
    bench = begun(line(deadline_s=5, final_stage="b"))
    bench.succeed({})
    bench.happen(RunAdopted("forked", queued=True))
    bench.wait(5)
    assert (bench.issued[-1].stage, bench.issued[-1].key.attempt) == ("b", 2)
    bench.succeed({})
    assert bench.reason == "deadline_exceeded"
