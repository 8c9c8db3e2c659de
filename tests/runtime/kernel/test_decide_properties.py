"""`decide` under random pipelines and random, late and doubled events: what must hold whatever happens."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.envelope import BOUND_REASONS, InterruptRequest, decode_envelope, encode_envelope
from runtime.goals import Goal, GoalsPatch
from runtime.ids import GoalId, RunId, StageKey
from runtime.pipeline import END, INTERRUPT_TARGETS, PipelineConfig
from runtime.supervision.commands import Finish, decode_view
from runtime.supervision.decide import decide
from runtime.supervision.events import (
    ActorLost,
    Bound,
    CancelRequested,
    Event,
    FailureKind,
    Payload,
    RunRequested,
    StageFailed,
    StageStarted,
    StageSucceeded,
    StageUsage,
    TimerFired,
    ToolCalled,
    decode_event,
    encode_event,
)
from runtime.supervision.state import Decision, RunState, new_state
from runtime.testing import START_MS, Bench, replay, wire_form

NAMES = ("a", "b", "c", "d")
KINDS: tuple[FailureKind, ...] = ("tool", "model", "internal", "timeout", "budget")
BOUNDS: tuple[Bound | None, ...] = (None, "llm_calls", "tokens")
ACTIONS = ("succeed",) * 4 + ("fail",) * 2 + ("fire", "lose", "start", "tool", "again", "late", "interrupt", "strange")

Action = tuple[str, int, int]
actions = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9), st.integers(0, 9)), max_size=40)
small = st.integers(0, 4)


@st.composite
def pipelines(draw: st.DrawFn) -> PipelineConfig:
    """A pipeline of one to four stages with any routing, loops and bounds."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    orders = draw(st.permutations(range(len(names))))
    stage = st.sampled_from(names)
    target = st.sampled_from([*names, *names, END, *INTERRUPT_TARGETS])
    rule = st.fixed_dictionaries(
        {"condition": st.just("r"), "value": small, "target": target, "clear": st.lists(stage, max_size=2)}
    )
    agents = [
        {
            "name": name,
            "stage_order": order,
            "routing_rules": draw(st.lists(rule, max_size=3)),
            "default_next": draw(st.none() | target),
            "error_next": draw(st.none() | stage | st.just(END)),
            "max_retries": draw(st.integers(0, 2)),
            "timeout_s": draw(st.none() | st.integers(1, 20)),
            "required_output_fields": draw(st.sampled_from([[], ["r"]])),
        }
        for name, order in zip(names, orders, strict=True)
    ]
    limit = st.fixed_dictionaries({"from": stage, "to": stage, "max_count": st.integers(0, 3)})
    return PipelineConfig.model_validate(
        {
            "name": "random",
            "agents": agents,
            "edge_limits": draw(st.lists(limit, max_size=4, unique_by=lambda entry: (entry["from"], entry["to"]))),
            "final_stage": draw(st.none() | stage),
            "max_iterations": draw(small),
            "max_agent_hops": draw(st.integers(0, 8)),
            "max_llm_calls": draw(small),
            "max_tool_calls": draw(small),
            "max_tokens": draw(st.none() | st.integers(0, 30)),
            "deadline_s": draw(st.none() | st.integers(1, 60)),
        }
    )


def payload_of(bench: Bench, action: Action) -> Payload | None:
    """The event that an action stands for now; None where it needs a stage in flight and there is none."""
    name, first, second = action
    if name == "strange":
        stranger = StageKey(RunId("r-other"), first, 0, second)
        return (StageStarted(stranger), TimerFired("lunch"), TimerFired(""), ActorLost("nobody"), CancelRequested(""))[
            min(first, 4) if second == 0 else first % 4
        ]
    if name == "again":
        return bench.log[first % len(bench.log)].payload
    entry = next(iter(bench.state.in_flight.values()), None)
    if name == "fire":
        timers = sorted(bench.state.timers.items(), key=lambda item: item[1])
        if not timers:
            return None
        timer, due_ms = timers[first % len(timers)]
        bench.now_ms = max(bench.now_ms, due_ms)
        return TimerFired(timer)
    if entry is None:
        return None
    key = entry.key
    if name == "late":
        key = msgspec.structs.replace(
            key, attempt=max(0, key.attempt - 1 - first % 2), hop=max(0, key.hop - second % 2)
        )
    grant = entry.grant
    usage = StageUsage(
        llm_calls=min(first, grant.llm_calls),
        tool_calls=min(second, grant.tool_calls),
        tokens_in=second if grant.tokens is None else min(second, grant.tokens),
    )
    bench.now_ms += 137 * first
    if name == "fail":
        return StageFailed(key, KINDS[first % 5], "broken", BOUNDS[second % 3], bool(second % 2), usage)
    if name == "lose":
        return ActorLost(entry.stage)
    if name == "start":
        return StageStarted(key)
    if name == "tool":
        return ToolCalled(key, "look", "denied" if first == 0 else "ok")
    asked = InterruptRequest("confirmation", "?") if name == "interrupt" else None
    goal = GoalsPatch(add=(Goal(GoalId(f"g{first}"), "x"),), drop=(GoalId(f"g{second}"),)) if first % 3 == 0 else None
    return StageSucceeded(key, {"r": second % 5} if second else {}, goal, asked, usage)


def check_step(bench: Bench, payload: Payload) -> Decision:
    """One event, with what must hold of every single decision."""
    before = bench.state
    frozen = msgspec.msgpack.encode(before)
    decision = bench.happen(payload)
    assert msgspec.msgpack.encode(before) == frozen, "the state that a decision started from was changed"
    if decision.ignored is not None:
        assert decision.state is before
        assert decision.commands == ()
    if before.envelope.lifecycle == "terminated":
        assert decision.ignored is not None
    check_counters(bench)
    check_shape(bench.state)
    return decision


def check_counters(bench: Bench) -> None:
    bounds, usage, config = bench.envelope.bounds, bench.envelope.usage, bench.config
    assert usage.agent_hops <= bounds.max_agent_hops
    assert usage.iterations <= bounds.max_iterations
    assert usage.llm_calls <= bounds.max_llm_calls
    assert usage.tool_calls <= bounds.max_tool_calls
    assert bounds.max_tokens is None or usage.tokens_in + usage.tokens_out <= bounds.max_tokens
    assert all(usage.edges.get(edge, 0) <= limit for edge, limit in config.edge_limit_of.items())
    assert usage.iterations <= sum(usage.edges.values()) <= max(0, usage.agent_hops - 1)
    hops = {(command.key.hop, str(command.stage)) for command in bench.issued}
    assert sorted(hop for hop, _ in hops) == list(range(1, usage.agent_hops + 1))
    if config.final_stage is not None:
        others = [hop for hop, stage in hops if stage != config.final_stage]
        assert len(others) <= max(0, bounds.max_agent_hops - 1)


def check_shape(state: RunState) -> None:
    envelope = state.envelope
    over = envelope.lifecycle == "terminated"
    assert over == (envelope.terminal_reason is not None) == (envelope.finished_at_ms is not None)
    assert len(state.in_flight) == (1 if envelope.lifecycle == "running" else 0)
    assert all(key == str(entry.key) for key, entry in state.in_flight.items())
    for entry in state.in_flight.values():
        awaited = f"{'retry' if entry.waiting_retry else 'timeout'}:{entry.key}"
        assert set(state.timers) - {"deadline"} == {awaited}, "a stage in flight has exactly one timer of its own"
    if over:
        assert not state.timers
    attempts = [(record.hop, record.attempt) for record in envelope.history]
    assert len(set(attempts)) == len(attempts), "an attempt ended twice"


def drive(config: PipelineConfig, found: list[Action]) -> Bench:
    """A run through `found`, and then with successes to its end."""
    bench = Bench(config)
    check_step(bench, RunRequested(bench_request(config)))
    for action in found:
        payload = payload_of(bench, action)
        if payload is not None:
            check_step(bench, payload)
    for _ in range(200):
        if bench.envelope.lifecycle == "terminated":
            return bench
        entry = bench.flying
        if entry.waiting_retry:
            check_step(bench, TimerFired(f"retry:{entry.key}"))
        else:
            check_step(bench, StageSucceeded(entry.key, {"r": 1}))
    raise AssertionError("the run does not end")


def bench_request(config: PipelineConfig) -> Any:
    return Bench(config).request().state.envelope.request


@settings(max_examples=250)
@given(pipelines(), actions)
def test_every_run_ends_with_exactly_one_reason_and_no_counter_passes_its_bound(
    config: PipelineConfig, found: list[Action]
) -> None:
    bench = drive(config, found)
    finishes = [command for command in bench.commands if isinstance(command, Finish)]
    assert [finish.reason for finish in finishes] == [bench.envelope.terminal_reason]
    assert bench.commands[-1] == finishes[0]
    note(f"ended: {bench.envelope.terminal_reason}")
    if bench.envelope.terminal_reason in BOUND_REASONS and config.final_stage and bench.envelope.bounds.max_agent_hops:
        assert config.final_stage in bench.visited, "a bound ended the run without the answer at the limit"


@given(pipelines(), actions)
def test_client_events_are_numbered_from_one_without_gaps_and_end_with_the_end(
    config: PipelineConfig, found: list[Action]
) -> None:
    events = drive(config, found).client_events
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[0].type == "run.accepted"
    assert [event.type for event in events].count("run.finished") == 1
    assert events[-1].type == "run.finished"
    started = [(event.hop, event.data["attempt"]) for event in events if event.type == "stage.started"]
    assert len(set(started)) == len(started)


@settings(max_examples=60)
@given(pipelines(), actions)
def test_a_recorded_log_replays_to_the_same_states_and_the_same_commands(
    config: PipelineConfig, found: list[Action]
) -> None:
    bench = drive(config, found)
    again = replay(config, [decode_event(encode_event(event)) for event in bench.log])
    assert [decision.ignored for decision in again] == [None] * len(bench.log)
    assert [command for decision in again for command in decision.commands] == bench.commands
    assert again[-1].state == bench.state
    state = new_state(bench.run_id)
    for event, expected in zip(bench.log, again, strict=True):
        state = decide(config, state, event).state
        assert wire_form(state) == wire_form(expected.state), "the state is not the fold of its log"


@given(pipelines(), actions)
def test_the_envelope_survives_the_wire_and_stages_can_read_their_views(
    config: PipelineConfig, found: list[Action]
) -> None:
    bench = drive(config, found)
    assert decode_envelope(encode_envelope(bench.envelope)) == bench.envelope
    for command in bench.issued:
        view = decode_view(command.input)
        assert view.hop == command.key.hop
        assert command.deadline_ms >= START_MS


keys = st.builds(StageKey, st.sampled_from([RunId("r-bench"), RunId("x")]), *([st.integers(-1, 3)] * 3))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
wild_payloads = st.one_of(
    st.builds(StageStarted, keys),
    st.builds(StageSucceeded, keys, st.dictionaries(st.sampled_from(["r", "question"]), values)),
    st.builds(StageFailed, keys, st.sampled_from(KINDS), st.text(max_size=3), st.sampled_from(BOUNDS), st.booleans()),
    st.builds(TimerFired, keys.map(lambda key: f"timeout:{key}") | st.sampled_from(["deadline", "retry:", ":", "x"])),
    st.builds(CancelRequested, st.text(max_size=3)),
    st.builds(ActorLost, st.sampled_from([*NAMES, "nobody"])),
    st.builds(ToolCalled, keys, st.text(max_size=3), st.text(max_size=3)),
)


@settings(max_examples=200)
@given(pipelines(), st.lists(wild_payloads, max_size=12), st.booleans(), st.integers(-(10**12), 10**12))
def test_decide_takes_any_event_at_any_time_without_raising(
    config: PipelineConfig, payloads: list[Payload], requested: bool, jump_ms: int
) -> None:
    bench = Bench(config)
    if requested:
        check_step(bench, RunRequested(bench_request(config)))
    for number, payload in enumerate(payloads):
        if number == 3:
            bench.now_ms += jump_ms
        check_step(bench, payload)


@given(wild_payloads, st.integers(), st.integers(-(2**63), 2**63 - 1))
def test_an_event_survives_the_wire(payload: Payload, seq: int, at_ms: int) -> None:
    event = Event(RunId("r-1"), seq % 2**63, at_ms, payload)
    assert decode_event(encode_event(event)) == event
