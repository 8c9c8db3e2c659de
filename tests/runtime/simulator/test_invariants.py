"""Every invariant can fail: each is shown a world that is bad in one way, made from a good one by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import msgspec
import pytest

from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.run.stage_view import StageView
from runtime.simulator import differential, invariants
from runtime.simulator.faults import NO_FAULTS
from runtime.simulator.reports import Answer
from runtime.simulator.run_history import Record, read
from runtime.simulator.scenarios import Person, PlannedRun, Scenario
from runtime.simulator.scripts import StageScript
from runtime.simulator.simulated_system import System
from runtime.supervision.events import InterruptAnswered, RunAdopted
from runtime.testing import PipelineBuilder

RUN = RunId("r-0")
ALICE = PlannedRun(RUN, 0, Request("simulated", "?", user_id="ann", wait=True), Person({}, delay_ms=100))

replace = msgspec.structs.replace


def diamond() -> PipelineConfig:
    builder = PipelineBuilder.parallel("simulated", max_llm_calls=9)
    builder.stage("a", has_llm=True, model_role="m", has_tools=True, tool_access="all", allowed_tools=["t"])
    return builder.stage("b", requires=["a"]).stage("c", requires=["a", "b"]).build()


def scripts() -> dict[str, StageScript]:
    asking = StageScript(llm_calls=1, tools=("ask", "repeatable"), asks="confirmation")
    return {"a": asking, "b": StageScript(), "c": StageScript()}


def at_rest(planned: PlannedRun = ALICE, config: PipelineConfig | None = None) -> System:
    system = System(Scenario(config or diamond(), scripts(), (planned,)), NO_FAULTS)
    system.run()
    return system


@pytest.fixture
def system() -> System:
    return at_rest()


@pytest.fixture
def record(system: System) -> Record:
    found = read(system, ALICE)
    assert found is not None
    return found


def all_findings(system: System, twin: System | None = None) -> list[str]:
    return [name for name, _ in invariants.findings(system, twin or at_rest(), Counter())]


def names(findings: Iterator[tuple[str, str]]) -> list[str]:
    return [name for name, _ in findings]


def test_a_good_world_has_no_findings(system: System) -> None:
    assert all_findings(system) == []


def test_a_system_that_does_not_come_to_rest_is_found(system: System) -> None:
    system.world.is_stuck = True
    assert all_findings(system) == ["run_lost"]


def test_an_accepted_run_of_which_nothing_is_on_the_disk_is_found(system: System) -> None:
    twin = at_rest()
    system.disk.close()
    assert all_findings(system, twin) == ["run_lost"]


def test_a_run_that_does_not_go_on_is_found(system: System, record: Record) -> None:
    going = replace(record, envelope=replace(record.envelope, lifecycle="waiting"))
    assert names(invariants.not_ended_once(system, going)) == ["run_lost"]


@pytest.mark.parametrize("finishes", [0, 2])
def test_a_run_that_ends_otherwise_than_once_is_found(system: System, record: Record, finishes: int) -> None:
    assert names(invariants.not_ended_once(system, replace(record, finishes=finishes))) == ["one_end"]


def test_two_ends_shown_and_an_end_without_a_reason_are_found(system: System, record: Record) -> None:
    twice = replace(record, shown=[*record.shown, record.shown[-1]])
    assert names(invariants.not_ended_once(system, twice)) == ["one_end"]
    silent = replace(record, envelope=replace(record.envelope, terminal_reason=None))
    assert names(invariants.not_ended_once(system, silent)) == ["one_end"]


def test_an_effect_that_must_not_be_repeated_is_found_when_it_was(system: System) -> None:
    for key, declaration in system.books.declarations.items():
        system.books.effects[key] += 1
        assert all_findings(system) == ([] if declaration == "repeatable" else ["effect_twice"])
        system.books.effects[key] -= 1
    assert set(system.books.declarations.values()) == {"repeatable", "ask"}


def test_an_attempt_begun_twice_is_found(system: System) -> None:
    book = system.books.runs[RUN]
    book.begun[next(iter(book.begun))] += 1
    assert all_findings(system) == ["effect_twice"]


def test_more_calls_in_the_world_than_the_bound_permits_are_found(system: System, record: Record) -> None:
    system.books.runs[RUN].llm_calls = 10
    assert names(invariants.beyond_bounds(system, record)) == ["bounds", "bounds"], "beyond the bound, and not booked"
    system.books.runs[RUN].llm_calls = 1
    system.books.runs[RUN].tool_calls = 51
    assert names(invariants.beyond_bounds(system, record)) == ["bounds"]


@pytest.mark.parametrize("counter", ["llm_calls", "tool_calls", "agent_hops", "iterations"])
def test_more_in_the_envelope_than_the_bound_permits_is_found(system: System, record: Record, counter: str) -> None:
    usage = replace(record.envelope.usage, **{counter: 1_000})
    over = replace(record, envelope=replace(record.envelope, usage=usage))
    assert names(invariants.beyond_bounds(system, over)) == ["bounds"]


def test_an_edge_taken_too_often_is_found() -> None:
    builder = PipelineBuilder("simulated").stage("a", default_next="b").stage("b", default_next="c").stage("c")
    system = at_rest(config=builder.edge_limit("a", "b", 1).build())
    record = read(system, ALICE)
    assert record is not None
    assert names(invariants.beyond_bounds(system, record)) == []
    usage = replace(record.envelope.usage, edges={"a->b": 2, "b->c": 1})
    over = replace(record, envelope=replace(record.envelope, usage=usage))
    assert names(invariants.beyond_bounds(system, over)) == ["bounds"]


def test_a_tool_call_recorded_more_often_than_it_was_reported_is_found(system: System, record: Record) -> None:
    system.books.runs[RUN].reported_calls = 0
    assert names(invariants.calls_shown_twice(system, record)) == ["recorded_twice"]


def answered(record: Record) -> int:
    return next(index for index, event in enumerate(record.log) if isinstance(event.payload, InterruptAnswered))


def test_a_second_answer_is_found(system: System, record: Record) -> None:
    log = [*record.log, record.log[answered(record)]]
    assert names(invariants.answers_not_once(system, replace(record, log=log))) == ["one_answer"]


def test_a_strangers_answer_is_found(system: System, record: Record) -> None:
    log = list(record.log)
    event = log[answered(record)]
    log[answered(record)] = replace(event, payload=replace(event.payload, user_id="mallory"))
    assert names(invariants.answers_not_once(system, replace(record, log=log))) == ["one_answer"]


def test_an_answer_that_was_taken_and_is_not_kept_is_found(system: System, record: Record) -> None:
    other = Answer(RUN, f"{RUN}-q1", "ann", InterruptResponse("something else"))
    system.callers[RUN].accepted.append(other)
    assert names(invariants.answers_not_once(system, record)) == ["one_answer"]


def test_a_question_resolved_twice_is_found(system: System, record: Record) -> None:
    resolved = [event for event in record.shown if event.type == "interrupt.resolved"]
    twice = replace(record, shown=[*record.shown, *resolved])
    assert names(invariants.answers_not_once(system, twice)) == ["one_answer"]


def tamper_order(system: System) -> None:
    system.callers[RUN].seen.reverse()


def tamper_end(system: System) -> None:
    system.callers[RUN].seen.pop()


def tamper_complaint(system: System) -> None:
    system.callers[RUN].complaints.append("event 3 came after event 1")


@pytest.mark.parametrize("tamper", [tamper_order, tamper_end, tamper_complaint])
def test_what_a_watcher_saw_otherwise_is_found(system: System, tamper: Callable[[System], None]) -> None:
    tamper(system)
    assert all_findings(system) == ["event_numbers"]


def test_a_gap_in_the_numbers_is_found(system: System, record: Record) -> None:
    gap = replace(record, shown=[record.shown[0], *record.shown[2:]])
    system.callers[RUN].seen[:] = gap.shown
    assert names(invariants.not_seen_as_shown(system, gap)) == ["event_numbers"]


def test_a_stage_that_started_before_what_it_requires_is_found(system: System, record: Record) -> None:
    last = record.issued[-1]
    assert last.stage == "c"
    blind = msgspec.msgpack.encode(StageView("?", outputs={"a": {}}))
    early = replace(record, issued=[*record.issued[:-1], replace(last, input=blind)])
    assert names(invariants.started_too_early(system, early)) == ["join"]


def test_a_write_of_a_deposed_owner_is_found(system: System) -> None:
    system.disk.deposed_writes.append("event 3 by epoch 1")
    assert all_findings(system) == ["one_owner"]


@pytest.mark.parametrize(
    "change",
    [{"terminal_reason": "internal_error"}, {"outputs": {}}],
    ids=["reason", "outputs"],
)
def test_another_result_than_the_twins_is_found(system: System, record: Record, change: dict[str, object]) -> None:
    other = replace(record, envelope=replace(record.envelope, **change))
    assert names(differential.other_result(system, system, other, "full")) == ["same_result"]
    assert names(differential.other_result(system, system, other, "none")) == []


@pytest.mark.parametrize("counter", [{"agent_hops": 9}, {"iterations": 1}, {"edges": {"a->b": 1}}])
def test_other_counts_than_the_twins_are_found(system: System, record: Record, counter: dict[str, object]) -> None:
    usage = replace(record.envelope.usage, **counter)
    other = replace(record, envelope=replace(record.envelope, usage=usage))
    assert names(differential.other_result(system, system, other, "full")) == ["same_result"]
    assert names(differential.other_result(system, system, other, "reason")) == []


def test_outputs_of_racers_are_not_compared(system: System, record: Record) -> None:
    racing = System(replace(system.scenario, racers=frozenset({"b"})), NO_FAULTS)
    racing.run()
    outputs = {**record.envelope.outputs, "b": {"other": True}}
    other = replace(record, envelope=replace(record.envelope, outputs=outputs))
    assert names(differential.other_result(racing, racing, other, "full")) == []
    assert names(differential.other_result(system, system, other, "full")) == ["same_result"]


def test_how_far_a_run_is_compared(system: System, record: Record) -> None:
    twin = at_rest()
    assert differential.level_of(system, twin, record) == "full"
    twin.books.runs[RUN].refusals = 1
    assert differential.level_of(system, twin, record) == "none", "parallel stages raced for a budget"
    cancelling = replace(ALICE, person=replace(ALICE.person, cancels_ms=1))
    assert differential.level_of(system, system, replace(record, planned=cancelling)) == "none"


def test_a_sequential_run_short_of_budget_is_compared_unless_an_attempt_was_lost() -> None:
    line = PipelineBuilder("simulated").stage("a", default_next="b").stage("b", default_next="c").stage("c")
    system = at_rest(config=line.build())
    record = read(system, ALICE)
    assert record is not None
    system.books.runs[RUN].refusals = 1
    assert differential.level_of(system, system, record) == "full"
    lost = replace(record, log=[*record.log, replace(record.log[-1], payload=RunAdopted())])
    assert differential.level_of(system, system, lost) == "none"


def test_a_run_that_a_bound_ended_before_its_limit_is_found() -> None:
    line = PipelineBuilder("simulated", max_agent_hops=2).stage("a", default_next="b").stage("b", default_next="c")
    twin = at_rest(config=line.stage("c").build())
    record = read(twin, ALICE)
    assert record is not None
    assert record.envelope.terminal_reason == "max_agent_hops_exceeded"
    assert names(differential.ended_too_early(twin, record)) == []
    envelope = twin.envelope(RUN)
    short = replace(envelope, usage=replace(envelope.usage, agent_hops=1))
    assert names(differential.ended_too_early(Pretender(twin, short), record)) == ["bounds"]


class Pretender(System):
    """A system that says of its run what it is told to."""

    def __init__(self, system: System, envelope: Envelope) -> None:
        vars(self).update(vars(system))
        self._pretended = envelope

    def envelope(self, run_id: RunId) -> Envelope:
        assert run_id == RUN
        return self._pretended
