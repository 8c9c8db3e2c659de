"""`decide` under random pipelines and random, late and doubled events: what must hold whatever happens."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import msgspec
from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.envelope import (
    BOUND_REASONS,
    InterruptKind,
    InterruptRequest,
    InterruptResponse,
    Request,
    decode_envelope,
    encode_envelope,
)
from runtime.goals import Goal, GoalsPatch
from runtime.ids import GoalId, RunId, StageKey
from runtime.interrupts import TIME_TO_LIVE_MS
from runtime.joins import join_state
from runtime.pipeline import END, INTERRUPT_TARGETS, PipelineConfig
from runtime.supervision.commands import Finish, GiveGrant, decode_view
from runtime.supervision.decide import decide
from runtime.supervision.events import (
    ActorLost,
    Bound,
    BudgetRequested,
    CancelRequested,
    Event,
    FailureKind,
    InterruptAnswered,
    PauseRequested,
    Payload,
    PolicyVerdict,
    RunAdmitted,
    RunAdopted,
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
from runtime.supervision.state import Decision, InFlight, RunState, new_state
from runtime.testing import START_MS, Bench, replay, wire_form

NAMES = ("a", "b", "c", "d", "e", "f")
KINDS: tuple[FailureKind, ...] = ("tool", "model", "internal", "timeout", "budget")
BOUNDS: tuple[Bound | None, ...] = (None, "llm_calls", "tokens")
QUESTIONS: tuple[InterruptKind, ...] = ("clarification", "confirmation", "agent_review", "checkpoint", "timeout")
VERDICTS = (
    PolicyVerdict("approved"),
    PolicyVerdict("approved"),
    PolicyVerdict("requires_confirmation", "sure?"),
    PolicyVerdict("denied", "no"),
)
ACTIONS = (
    *("succeed",) * 6,
    *("fail",) * 2,
    *("answer",) * 3,
    *("fire", "lose", "start", "tool", "again", "late", "interrupt", "strange", "pause", "adopt", "budget", "judged"),
)

Action = tuple[str, int, int]
actions = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9), st.integers(0, 9)), max_size=40)
small = st.integers(0, 4)


@st.composite
def pipelines(draw: st.DrawFn, run_modes: tuple[str, ...] = ("sequential", "parallel")) -> PipelineConfig:
    """A pipeline of one to six stages with any routing, joins, fan-outs, loops and bounds, sound or not."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    orders = draw(st.permutations(range(len(names))))
    mode = draw(st.sampled_from(run_modes))
    stage = st.sampled_from(names)
    target = st.sampled_from([*names, *names, END, *INTERRUPT_TARGETS])
    some = st.lists(stage, max_size=3, unique=True) if mode == "parallel" else st.lists(stage, max_size=1)
    rule = st.fixed_dictionaries(
        {"condition": st.just("r"), "value": small, "target": target, "clear": st.lists(stage, max_size=2)}
    )
    sparse = st.booleans().flatmap(lambda is_given: some if is_given else st.just([]))
    agents = [
        {
            "name": name,
            "stage_order": order,
            "requires": [other for other in draw(sparse) if other != name],
            "after": [other for other in draw(sparse) if other != name],
            "join_strategy": draw(st.sampled_from(["all", "any"])),
            "foreach": draw(st.sampled_from([None, None, None, f"outputs.{draw(stage)}.list"])),
            "foreach_concurrency": draw(st.integers(1, 3)),
            "has_policies": draw(st.sampled_from([False, False, False, True])),
            "has_llm": draw(st.booleans()),
            "has_tools": draw(st.booleans()),
            "max_tokens": draw(st.none() | st.integers(1, 9)),
            "routing_rules": draw(st.lists(rule, max_size=3)),
            "default_next": draw(st.none() | target),
            "error_next": draw(st.none() | stage | st.just(END)),
            "max_retries": draw(st.integers(0, 2)),
            "timeout_s": draw(st.none() | st.integers(1, 20)),
            "required_output_fields": draw(st.sampled_from([[], [], ["r"]])),
        }
        for name, order in zip(names, orders, strict=True)
    ]
    limit = st.fixed_dictionaries({"from": stage, "to": stage, "max_count": st.integers(0, 3)})
    outcome = st.sampled_from(["end", "wait"])
    return PipelineConfig.model_validate(
        {
            "name": "random",
            "default_run_mode": mode,
            "agents": agents,
            "edge_limits": draw(st.lists(limit, max_size=4, unique_by=lambda entry: (entry["from"], entry["to"]))),
            "final_stage": draw(st.none() | stage),
            "clarification_resume_stage": draw(st.none() | stage),
            "agent_review_resume_stage": draw(st.none() | stage),
            "interrupt_expiry": draw(st.dictionaries(st.sampled_from(QUESTIONS), st.sampled_from(["proceed", "end"]))),
            "on_timeout": draw(outcome),
            "on_system_error": draw(outcome),
            "loop_detection": draw(st.sampled_from([{}, {}, {"identical_action": 2}])),
            "max_iterations": draw(small),
            "max_agent_hops": draw(st.integers(0, 12)),
            "max_llm_calls": draw(small),
            "max_tool_calls": draw(st.integers(0, 20)),
            "max_tokens": draw(st.none() | st.integers(0, 30)),
            "deadline_s": draw(st.none() | st.integers(1, 60)),
        }
    )


requests = st.builds(
    RunRequested, st.builds(Request, st.just("random"), st.just("?"), wait=st.booleans()), queued=st.booleans()
)


def payload_of(bench: Bench, action: Action) -> Payload | None:
    """The event that an action stands for now; None where it needs a stage in flight and there is none."""
    name, first, second = action
    if name == "strange":
        return strange(first, second)
    if name == "again":
        return bench.log[first % len(bench.log)].payload
    if name == "pause":
        return PauseRequested()
    if name == "adopt":
        return RunAdopted()
    if name == "answer":
        return answer(bench, first, second)
    if name == "fire":
        timers = sorted(bench.state.timers.items(), key=lambda item: item[1])
        if not timers:
            return None
        timer, due_ms = timers[first % len(timers)]
        bench.now_ms = max(bench.now_ms, due_ms)
        return TimerFired(timer)
    entries = list(bench.state.in_flight.values())
    return of_stage(bench, name, entries[(first + second) % len(entries)], first, second) if entries else None


def strange(first: int, second: int) -> Payload:
    stranger = StageKey(RunId("r-other"), first, 0, second)
    rest = (TimerFired("lunch"), TimerFired(""), ActorLost("nobody"), RunAdmitted(), BudgetRequested(stranger, 1))
    return (CancelRequested(""), StageStarted(stranger), *rest)[min(first, 6) if second == 0 else 1 + first % 6]


def answer(bench: Bench, first: int, second: int) -> Payload | None:
    asked = bench.envelope.interrupt
    if asked is None:
        return None
    response = InterruptResponse("x", first % 4 != 0, ("approve", "modify", "reject")[second % 3], {"n": first})
    return InterruptAnswered(asked.id if first else "r-bench-q9", "eve" if second == 9 else "local", response)


def of_stage(bench: Bench, name: str, entry: InFlight, first: int, second: int) -> Payload:
    key = entry.key
    if name == "late":
        key = msgspec.structs.replace(
            key, attempt=max(0, key.attempt - 1 - first % 2), hop=max(0, key.hop - second % 2)
        )
    bench.now_ms += 137 * first
    if name == "fail":
        usage = usage_within(entry, first, second)
        return StageFailed(key, KINDS[first % 5], "broken", BOUNDS[second % 3], bool(second % 2), usage)
    if name == "lose":
        return ActorLost(entry.stage)
    if name == "start":
        return StageStarted(key)
    if name == "tool":
        return ToolCalled(key, "look", "denied" if first == 0 else "ok")
    if name == "budget":
        return BudgetRequested(key, first % 4, second, first + second)
    return success(bench, entry, first, second, question=name == "interrupt", key=key)


def usage_within(entry: InFlight, first: int, second: int) -> StageUsage:
    grant = entry.grant
    return StageUsage(
        llm_calls=min(first, grant.llm_calls),
        tool_calls=min(second, grant.tool_calls),
        tokens_in=second if grant.tokens is None else min(second, grant.tokens),
    )


def success(
    bench: Bench, entry: InFlight, first: int, second: int, question: bool = False, key: StageKey | None = None
) -> StageSucceeded:
    asked = InterruptRequest(QUESTIONS[first % len(QUESTIONS)], "?") if question else None
    goal = GoalsPatch(add=(Goal(GoalId(f"g{first}"), "x"),), drop=(GoalId(f"g{second}"),)) if first % 3 == 0 else None
    output = {"r": second % 5, "list": [first, second][: first % 3]} if second else {}
    verdict = VERDICTS[(first + second) % 4] if bench.config.stages[entry.stage].has_policies else None
    return StageSucceeded(key or entry.key, output, goal, asked, usage_within(entry, first, second), verdict)


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
    check_shape(bench.config, bench.state)
    check_timers(bench.state)
    check_joins(bench.config, bench.state)
    assert STATE_DECODER.decode(msgspec.msgpack.encode(bench.state)) == bench.state
    return decision


STATE_DECODER = msgspec.msgpack.Decoder(RunState)


def check_counters(bench: Bench) -> None:
    bounds, usage, config = bench.envelope.bounds, bench.envelope.usage, bench.config
    grants = [entry.grant for entry in bench.state.in_flight.values()]
    assert usage.agent_hops <= bounds.max_agent_hops
    assert usage.iterations <= bounds.max_iterations
    assert usage.llm_calls + sum(grant.llm_calls for grant in grants) <= bounds.max_llm_calls
    assert usage.tool_calls + sum(grant.tool_calls for grant in grants) <= bounds.max_tool_calls
    if bounds.max_tokens is not None:
        reserved = sum(grant.tokens or 0 for grant in grants)
        assert usage.tokens_in + usage.tokens_out + reserved <= bounds.max_tokens
    assert all(usage.edges.get(edge, 0) <= limit for edge, limit in config.edge_limit_of.items())
    assert usage.iterations <= sum(usage.edges.values())
    hops = {(command.key.hop, str(command.stage)) for command in bench.issued}
    hops |= {(record.hop, str(record.stage)) for record in bench.envelope.history}
    assert sorted(hop for hop, _ in hops) == list(range(1, usage.agent_hops + 1))
    if config.final_stage is not None:
        others = [hop for hop, stage in hops if stage != config.final_stage]
        assert len(others) <= max(0, bounds.max_agent_hops - 1)


def check_shape(config: PipelineConfig, state: RunState) -> None:
    envelope = state.envelope
    over = envelope.lifecycle == "terminated"
    assert over == (envelope.terminal_reason is not None) == (envelope.finished_at_ms is not None)
    if envelope.lifecycle == "running":
        assert state.in_flight, "the run is stuck: nothing is in flight, and it neither waits nor is over"
    if over or envelope.lifecycle in {"new", "ready"}:
        assert (state.in_flight, state.fan_outs, state.revisits) == ({}, {}, ())
        assert not state.held.entries
    assert bool(state.held.questions) == (envelope.lifecycle == "waiting")
    if envelope.lifecycle == "waiting":
        assert envelope.interrupt is not None
        assert envelope.interrupt.status == "pending"
        assert envelope.interrupt.question == state.held.questions[0].request.question
        assert state.ending is None
    if not over:
        asking = {str(question.stage) for question in state.held.questions if question.stage}
        assert {stage for stage, status in envelope.stages.items() if status == "asking"} == asking
    active = {stage for stage, status in envelope.stages.items() if status == "active"}
    assert active == {str(entry.stage) for entry in state.in_flight.values()}
    assert all(key == str(entry.key) for key, entry in state.in_flight.items())
    if not config.is_parallel:
        assert len(active) <= 1
    for stage, count in Counter(str(entry.stage) for entry in state.in_flight.values()).items():
        fan_out = state.fan_outs.get(stage)
        if fan_out is None:
            assert count == 1
        else:
            left = len(fan_out.items) - len(fan_out.results)
            assert count == min(config.stages[stage].foreach_concurrency, left), "not as many items at once as allowed"
    assert set(state.fan_outs) <= active
    attempts = Counter((record.hop, record.item, record.attempt) for record in envelope.history)
    assert all(count == 1 for count in attempts.values()), "an attempt ended twice"


def check_timers(state: RunState) -> None:
    expected = {f"{'retry' if entry.waiting_retry else 'timeout'}:{entry.key}" for entry in state.in_flight.values()}
    envelope = state.envelope
    if envelope.lifecycle == "waiting" and envelope.interrupt is not None:
        if TIME_TO_LIVE_MS[envelope.interrupt.kind] is not None:
            expected.add(f"interrupt:{envelope.interrupt.id}")
    assert set(state.timers) - {"deadline"} == expected, "a timer too many, or one is missing"
    if envelope.lifecycle == "terminated":
        assert not state.timers


def check_joins(config: PipelineConfig, state: RunState) -> None:
    """Whatever is at work has what it requires."""
    for entry in state.in_flight.values():
        if state.ending is None or entry.stage != config.final_stage:
            assert join_state(config.stages[entry.stage], state.envelope.stages) == "ready", entry.stage


def drive(config: PipelineConfig, found: list[Action], request: RunRequested) -> Bench:
    """A run through `found`, and then with successes to its end."""
    bench = Bench(config)
    check_step(bench, request)
    for action in found:
        payload = payload_of(bench, action)
        if payload is not None:
            check_step(bench, payload)
    for number in range(400):
        if bench.envelope.lifecycle == "terminated":
            return bench
        check_step(bench, next_payload(bench, number))
    raise AssertionError("the run does not end")


def next_payload(bench: Bench, number: int) -> Payload:
    if bench.envelope.lifecycle == "ready":
        return RunAdmitted()
    entries = list(bench.state.in_flight.values())
    if bench.envelope.lifecycle == "waiting" and (not entries or number % 3 == 0):
        assert bench.envelope.interrupt is not None
        response = InterruptResponse(approved=True, decision="approve")
        return InterruptAnswered(bench.envelope.interrupt.id, "local", response)
    entry = entries[number % len(entries)]
    if entry.waiting_retry:
        return TimerFired(f"retry:{entry.key}")
    verdict = PolicyVerdict("approved")
    return StageSucceeded(entry.key, {"r": 1, "list": [1, 2]}, policy=verdict)


@settings(max_examples=400)
@given(pipelines(), actions, requests)
def test_every_run_ends_with_exactly_one_reason_and_no_counter_passes_its_bound(
    config: PipelineConfig, found: list[Action], request: RunRequested
) -> None:
    bench = drive(config, found, request)
    finishes = [command for command in bench.commands if isinstance(command, Finish)]
    assert [finish.reason for finish in finishes] == [bench.envelope.terminal_reason]
    assert bench.commands[-1] == finishes[0]
    note(f"ended: {bench.envelope.terminal_reason}")
    note(f"mode: {config.default_run_mode}")
    note(f"questions: {bench.envelope.interrupts_raised}")
    note(f"branches: {max((len(set(bench.at_work)),), default=0)}")
    if bench.reason in BOUND_REASONS and config.final_stage and bench.envelope.bounds.max_agent_hops:
        was_admitted = not request.queued or any(isinstance(event.payload, RunAdmitted) for event in bench.log)
        assert not was_admitted or any(record.stage == config.final_stage for record in bench.envelope.history)


@settings(max_examples=150)
@given(pipelines(), actions, requests)
def test_client_events_are_numbered_from_one_without_gaps_and_end_with_the_end(
    config: PipelineConfig, found: list[Action], request: RunRequested
) -> None:
    events = drive(config, found, request).client_events
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[0].type == "run.accepted"
    assert [event.type for event in events].count("run.finished") == 1
    assert events[-1].type == "run.finished"
    raised = [event.data["id"] for event in events if event.type == "interrupt.raised"]
    resolved = [event.data["id"] for event in events if event.type == "interrupt.resolved"]
    assert len(set(raised)) == len(raised)
    assert resolved == raised[: len(resolved)]
    assert len(raised) - len(resolved) <= (0 if request.request.wait else 1)


@settings(max_examples=80)
@given(pipelines(), actions, requests)
def test_a_recorded_log_replays_to_the_same_states_and_the_same_commands(
    config: PipelineConfig, found: list[Action], request: RunRequested
) -> None:
    bench = drive(config, found, request)
    again = replay(config, [decode_event(encode_event(event)) for event in bench.log])
    assert [decision.ignored for decision in again] == [None] * len(bench.log)
    assert [command for decision in again for command in decision.commands] == bench.commands
    assert again[-1].state == bench.state
    state = new_state(bench.run_id)
    for event, expected in zip(bench.log, again, strict=True):
        state = decide(config, state, event).state
        assert wire_form(state) == wire_form(expected.state), "the state is not the fold of its log"


@given(pipelines(), actions, requests)
def test_the_envelope_survives_the_wire_and_stages_can_read_their_views(
    config: PipelineConfig, found: list[Action], request: RunRequested
) -> None:
    bench = drive(config, found, request)
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
questions = st.builds(InterruptRequest, st.sampled_from(QUESTIONS), st.text(max_size=3))
wild_payloads = st.one_of(
    st.builds(StageStarted, keys),
    st.builds(
        StageSucceeded,
        keys,
        st.dictionaries(st.sampled_from(["r", "question", "list"]), values),
        interrupt=st.none() | questions,
        policy=st.none() | st.sampled_from(VERDICTS),
    ),
    st.builds(StageFailed, keys, st.sampled_from(KINDS), st.text(max_size=3), st.sampled_from(BOUNDS), st.booleans()),
    st.builds(TimerFired, keys.map(lambda key: f"timeout:{key}") | st.sampled_from(["deadline", "retry:", ":", "x"])),
    st.builds(CancelRequested, st.text(max_size=3)),
    st.builds(ActorLost, st.sampled_from([*NAMES, "nobody"])),
    st.builds(ToolCalled, keys, st.text(max_size=3), st.text(max_size=3)),
    st.builds(BudgetRequested, keys, *([st.integers(-3, 99)] * 3)),
    st.builds(
        InterruptAnswered,
        st.sampled_from(["r-bench-q1", "r-bench-q2", ""]),
        st.sampled_from(["local", "eve"]),
        st.builds(InterruptResponse, approved=st.none() | st.booleans()),
    ),
    st.builds(PauseRequested, st.text(max_size=3)),
    st.just(RunAdmitted()),
    st.just(RunAdopted()),
    requests,
)


@settings(max_examples=300)
@given(pipelines(), st.lists(wild_payloads, max_size=16), st.none() | requests, st.integers(-(10**12), 10**12))
def test_decide_takes_any_event_at_any_time_without_raising(
    config: PipelineConfig, payloads: list[Payload], request: RunRequested | None, jump_ms: int
) -> None:
    bench = Bench(config)
    if request is not None:
        check_step(bench, request)
    for number, payload in enumerate(payloads):
        if number == 3:
            bench.now_ms += jump_ms
        check_step(bench, payload)


@given(wild_payloads, st.integers(), st.integers(-(2**63), 2**63 - 1))
def test_an_event_survives_the_wire(payload: Payload, seq: int, at_ms: int) -> None:
    event = Event(RunId("r-1"), seq % 2**63, at_ms, payload)
    assert decode_event(encode_event(event)) == event


@st.composite
def graphs(draw: st.DrawFn) -> PipelineConfig:
    """A sound parallel pipeline without routing: joins of all, some of its stages once per item."""
    names = NAMES[: draw(st.integers(2, len(NAMES)))]
    agents: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        earlier = names[:number]
        requires = draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True)) if earlier else []
        agent: dict[str, Any] = {"name": name, "stage_order": number, "requires": requires}
        if requires and draw(st.booleans()):
            agent |= {"foreach": f"outputs.{requires[0]}.items", "foreach_concurrency": draw(st.integers(1, 3))}
        agents.append(agent)
    order = draw(st.permutations(agents))
    return PipelineConfig.model_validate({"name": "graph", "default_run_mode": "parallel", "agents": order})


@given(graphs(), st.randoms(use_true_random=False), st.randoms(use_true_random=False))
def test_the_order_in_which_stages_and_items_end_changes_no_output(
    config: PipelineConfig, one: random.Random, other: random.Random
) -> None:
    def outputs_of(source: random.Random) -> bytes:
        bench = Bench(config)
        check_step(bench, RunRequested(Request("graph", "?")))
        while bench.envelope.lifecycle == "running":
            entry = source.choice(list(bench.state.in_flight.values()))
            command = next(command for command in bench.issued if command.key == entry.key)
            view = decode_view(command.input)
            of_required = [view.outputs[name] for name in config.stages[entry.stage].requires]
            seen = [str(entry.stage), view.item, view.item_index, of_required]
            patch = GoalsPatch(add=(Goal(GoalId(f"{entry.stage}{entry.key.item}"), "x"),))
            made = {"items": [1, 2], "seen": msgspec.json.encode(seen).decode()}
            check_step(bench, StageSucceeded(entry.key, made, patch))
        assert bench.reason == "completed"
        return msgspec.msgpack.encode(bench.envelope.outputs)

    assert outputs_of(one) == outputs_of(other)


def racing_branches(config_calls: int, tokens: int) -> PipelineConfig:
    agents = [
        {"name": name, "stage_order": number, "has_llm": True, "has_tools": True}
        for number, name in enumerate("abcdefgh")
    ]
    return PipelineConfig.model_validate(
        {
            "name": "race",
            "default_run_mode": "parallel",
            "agents": agents,
            "max_llm_calls": config_calls,
            "max_tokens": tokens,
            "max_tool_calls": tokens,
        }
    )


asks = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(0, 9), st.integers(0, 9)), max_size=60)


@settings(max_examples=200)
@given(st.integers(0, 20), st.integers(0, 60), asks)
def test_eight_branches_that_race_for_budget_never_get_more_than_the_run_has(
    calls: int, tokens: int, wanted: list[tuple[int, int, int, int]]
) -> None:
    bench = Bench(racing_branches(calls, tokens))
    check_step(bench, RunRequested(Request("race", "?")))
    given_calls = sum(command.grant.llm_calls for command in bench.issued)
    for number, more, spent, ask_tokens in wanted:
        entries = list(bench.state.in_flight.values())
        if not entries:
            break
        entry = entries[number % len(entries)]
        if spent == 9:
            usage = usage_within(entry, more, ask_tokens)
            given_calls -= entry.grant.llm_calls - usage.llm_calls
            check_step(bench, StageSucceeded(entry.key, {}, usage=usage))
            continue
        decision = check_step(bench, BudgetRequested(entry.key, more, ask_tokens, ask_tokens))
        (command,) = decision.commands
        assert isinstance(command, GiveGrant)
        left = calls - given_calls
        assert command.grant.llm_calls == min(more, left), "refused although something was left, or given too much"
        given_calls += command.grant.llm_calls
        assert given_calls <= calls
