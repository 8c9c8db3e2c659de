"""`decide` under random pipelines and random, late and doubled events: what must hold whatever happens."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, cast

import msgspec
import pytest
from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.pipeline.config import END, INTERRUPT_TARGETS, PipelineConfig
from runtime.pipeline.interrupt_kinds import TIME_TO_LIVE_MS, InterruptKind
from runtime.pipeline.run_terms import RunMode
from runtime.primitives.ids import GoalId, RunId, StageKey
from runtime.run.envelope import (
    BOUND_REASONS,
    SCHEMA_VERSION,
    InterruptRequest,
    InterruptResponse,
    Request,
    decode_envelope,
    encode_envelope,
)
from runtime.run.goals import Goal, GoalsPatch
from runtime.run.joins import join_state, losers, startable
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import decode_view
from runtime.supervision import events as happening
from runtime.supervision.client_data import CLIENT_DATA
from runtime.supervision.commands import ClientEventType, Finish, GiveGrant
from runtime.supervision.decide import decide
from runtime.supervision.state import Decision, InFlight, RunState, new_state
from runtime.testing import START_MS, Bench, replay, wire_form

NAMES = ("a", "b", "c", "d", "e", "f")
MODES: tuple[RunMode, ...] = ("sequential", "parallel")
KINDS: tuple[happening.FailureKind, ...] = ("tool", "model", "internal", "timeout", "budget")
BOUNDS: tuple[happening.Bound | None, ...] = (None, "llm_calls", "tokens")
QUESTIONS: tuple[InterruptKind, ...] = ("clarification", "confirmation", "agent_review", "checkpoint", "timeout")
VERDICTS = (
    *(PolicyVerdict("approved"),) * 6,
    PolicyVerdict("requires_confirmation", "sure?"),
    PolicyVerdict("denied", "no"),
)
ACTIONS = (
    *("succeed",) * 12,
    *("fail",) * 2,
    *("answer",) * 3,
    *("fire", "lose", "start", "tool", "again", "late", "interrupt", "strange", "pause", "adopt", "budget", "judged"),
    *("admit", "quota"),
)

ASKING_ACTIONS = (*ACTIONS, *("interrupt", "judged") * 4, *("fail",) * 6)

seeds = st.integers(0, 2**32 - 1)
"""A seed makes a pipeline and its events: a hundred times as many of them as Hypothesis would draw in the same time."""


def random_pipeline(dice: random.Random) -> PipelineConfig:
    """A pipeline of one to six stages with any routing, joins, fan-outs, loops and bounds; most are sound."""
    if dice.random() < 0.1:
        return race_above_joins(dice)
    names = NAMES[: dice.randint(1, len(NAMES))]
    is_parallel = dice.random() < 0.65
    targets = [*names, *names, *names, *([END] * 4), *INTERRUPT_TARGETS]
    agents = [random_agent(dice, names, number, targets, is_parallel) for number in range(len(names))]
    dice.shuffle(agents)
    pairs = {(dice.choice(names), dice.choice(names)) for _ in range(dice.choice([0, 1, 3]))}
    limits = [{"from": source, "to": target, "max_count": dice.randint(0, 3)} for source, target in sorted(pairs)]
    data = {
        "name": "random",
        "default_run_mode": "parallel" if is_parallel else "sequential",
        "agents": agents,
        "edge_limits": limits,
        "final_stage": dice.choice([None, *names]),
        "clarification_resume_stage": dice.choice([None, *names]),
        "agent_review_resume_stage": dice.choice([None, *names]),
        "interrupt_expiry": {kind: dice.choice(["proceed", "end"]) for kind in QUESTIONS if dice.random() < 0.4},
        "on_timeout": dice.choice(["end", "wait"]),
        "on_system_error": dice.choice(["end", "wait"]),
        "loop_detection": dice.choice([{}, {}, {"identical_action": 3}, True]),
        "max_iterations": dice.choice([0, 1, 5, 20]),
        "max_agent_hops": dice.choice([*range(8), *([20] * 9), 40, 60]),
        "max_llm_calls": dice.choice([0, 1, 5, 40]),
        "max_tool_calls": dice.randint(0, 40),
        "max_tokens": dice.choice([None, None, 0, 30, 300]),
        "deadline_s": dice.choice([None, None, None, 5, 60, 7200]),
    }
    return PipelineConfig.model_validate(data)


def race_above_joins(dice: random.Random) -> PipelineConfig:
    """A join of any above one or two joins of all, whose stages ask, fail and are judged; one stage stands alone."""
    leaves = list(NAMES[: dice.randint(3, 5)])
    agents: list[dict[str, Any]] = [
        {"name": name, "has_policies": dice.random() < 0.4, "default_next": dice.choice([None, None, None, "extra"])}
        for name in [*leaves, "alone"]
    ]
    agents.append({"name": "extra"})
    if dice.random() < 0.4:
        agents.append({"name": "each", "requires": [leaves[0]], "foreach": f"outputs.{leaves[0]}.list"})
        leaves.append("each")
    joined = [dice.sample(leaves, dice.randint(2, 3)) for _ in range(dice.randint(1, 2))]
    agents += [{"name": f"all{number}", "requires": names} for number, names in enumerate(joined)]
    quick = [name for name in leaves if not any(name in names for names in joined)]
    over = [*(f"all{number}" for number in range(len(joined))), *quick]
    agents.append({"name": "any", "requires": over, "join_strategy": "any"})
    data = {
        "name": "race_above_joins",
        "default_run_mode": "parallel",
        "agents": [{**agent, "stage_order": number} for number, agent in enumerate(agents)],
        "final_stage": dice.choice([None, "any"]),
        "clarification_resume_stage": dice.choice([None, None, "extra"]),
        "interrupt_expiry": {kind: "proceed" for kind in QUESTIONS if dice.random() < 0.4},
        "on_system_error": dice.choice(["end", "wait"]),
        "deadline_s": dice.choice([None, None, 60]),
        "max_agent_hops": 40,
    }
    return PipelineConfig.model_validate(data)


def random_agent(
    dice: random.Random, names: tuple[str, ...], number: int, targets: list[str], is_parallel: bool
) -> dict[str, Any]:
    def some(share: float) -> list[str]:
        return [name for name in names[:number] if dice.random() < share]

    requires = some(0.5) if is_parallel and dice.random() < 0.8 else some(0.05)
    wish = 0.5 if requires else 0.05 if is_parallel else 0.2
    rules = [
        {"condition": "r", "value": dice.randint(0, 4), "target": dice.choice(targets), "clear": some(0.2)}
        for _ in range(dice.choice([0, 0, 1, 2]))
    ]
    return {
        "name": names[number],
        "stage_order": number,
        "requires": requires,
        "after": some(0.2),
        "join_strategy": dice.choice(["all", "all", "any"]),
        "foreach": f"outputs.{dice.choice(requires or names)}.list" if dice.random() < wish else None,
        "foreach_concurrency": dice.randint(1, 3),
        "has_policies": dice.random() < 0.15,
        "has_llm": dice.random() < 0.5,
        "has_tools": dice.random() < 0.5,
        "max_tokens": dice.choice([None, 3, 9]),
        "routing_rules": rules,
        "default_next": dice.choice([*([None] * (20 if is_parallel else 1)), *targets]),
        "error_next": dice.choice([*([None] * 9), END, *names]),
        "max_retries": dice.choice([0, 0, 1, 2]),
        "timeout_s": dice.choice([None, 1, 20]),
        "required_output_fields": dice.choice([[], [], [], ["r"]]),
    }


def random_request(dice: random.Random) -> happening.RunRequested:
    return happening.RunRequested(
        Request("random", "?", wait=dice.random() < 0.8, run_mode=dice.choice([None, None, *MODES])),
        queued=dice.random() < 0.2,
        schema_version=SCHEMA_VERSION,
        calls_models=dice.random() < 0.7,
    )


def random_payload(bench: Bench, dice: random.Random, actions: tuple[str, ...] = ACTIONS) -> happening.Payload | None:
    """Something that may happen now, at random; None where it needs what is not there."""
    name = dice.choice(actions)
    if name == "strange":
        stranger = StageKey(RunId("r-other"), dice.randint(0, 3), 0, 1)
        rest = (
            happening.TimerFired("lunch"),
            happening.ActorLost("nobody"),
            happening.RunAdmitted(),
            happening.BudgetRequested(stranger, 1),
        )
        return (
            happening.CancelRequested("")
            if dice.random() < 0.05
            else dice.choice((happening.StageStarted(stranger), *rest))
        )
    if name == "again":
        return dice.choice(bench.log).payload
    if name == "pause":
        return happening.PauseRequested()
    if name == "adopt":
        return happening.RunAdopted(queued=dice.random() < 0.3)
    if name == "admit":
        return happening.RunAdmitted()
    if name == "quota":
        return happening.QuotaExhausted(dice.choice(("llm_calls", "tokens")), "spent")
    if name == "answer":
        return random_answer(bench, dice)
    if name == "fire":
        due = {timer: at for timer, at in bench.state.timers.items() if timer != "deadline" or dice.random() < 0.2}
        if not due:
            return None
        timer = min(due, key=lambda name: due[name]) if dice.random() < 0.5 else dice.choice(sorted(due))
        bench.now_ms = max(bench.now_ms, due[timer])
        return happening.TimerFired(timer, queued=dice.random() < 0.3)
    entries = list(bench.state.in_flight.values())
    return random_report(bench, name, dice.choice(entries), dice) if entries else None


def random_answer(bench: Bench, dice: random.Random) -> happening.Payload | None:
    asked = bench.envelope.interrupt
    if asked is None:
        return None
    decision: Any = dice.choice([*["approve"] * 8, "modify", "reject"])
    response = InterruptResponse("x", dice.random() < 0.9, decision, {"n": 1})
    user_id = "eve" if dice.random() < 0.1 else "local"
    interrupt_id = asked.id if dice.random() < 0.95 else "r-bench-q9"
    return happening.InterruptAnswered(interrupt_id, user_id, response, queued=dice.random() < 0.3)


def random_report(bench: Bench, name: str, entry: InFlight, dice: random.Random) -> happening.Payload:
    key = entry.key
    if name == "late":
        key = msgspec.structs.replace(
            key, attempt=max(0, key.attempt - dice.randint(0, 2)), hop=max(0, key.hop - dice.randint(0, 2))
        )
    bench.now_ms += dice.choice([0, 0, 137, 1500])
    usage = random_usage(entry, dice) if key == entry.key else happening.StageUsage()
    if name == "fail":
        return happening.StageFailed(key, dice.choice(KINDS), "broken", dice.choice(BOUNDS), dice.random() < 0.5, usage)
    if name == "lose":
        held = [other.key for other in bench.state.in_flight.values() if other.stage == entry.stage]
        return happening.ActorLost(entry.stage, tuple(held[: dice.randint(0, len(held))]))
    if name == "start":
        return happening.StageStarted(key)
    if name == "tool":
        return happening.ToolCalled(key, "look", dice.choice(["denied", "ok"]))
    if name == "budget":
        return happening.BudgetRequested(key, dice.randint(0, 4), dice.randint(0, 9), dice.randint(0, 20))
    goals = GoalsPatch(add=(Goal(GoalId(f"g{dice.randint(0, 3)}"), "x"),)) if dice.random() < 0.2 else None
    asked = InterruptRequest(dice.choice(QUESTIONS), "?") if name == "interrupt" else None
    output = {"r": dice.randint(0, 4), "list": [7] * dice.choice([0, 1, 2, 2, 5])} if dice.random() < 0.95 else {}
    verdict = dice.choice(VERDICTS) if bench.config.stages[entry.stage].has_policies else None
    return happening.StageSucceeded(key, output, goals, asked, usage, verdict)


def random_usage(entry: InFlight, dice: random.Random) -> happening.StageUsage:
    """What an attempt may have spent of its grant; one report in twenty is a lie."""
    grant = entry.grant
    if dice.random() < 0.05:
        return happening.StageUsage(*(dice.choice([-(2**63), -1, 0, 7, 2**64 - 1]) for _ in range(4)))
    tokens = 9 if grant.tokens is None else grant.tokens
    return happening.StageUsage(
        dice.randint(0, grant.llm_calls), dice.randint(0, grant.tool_calls), tokens_in=dice.randint(0, tokens)
    )


def check_step(bench: Bench, payload: happening.Payload) -> Decision:
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
    config = bench.config.in_run_mode(bench.envelope.request.run_mode)
    check_shape(config, bench.state)
    check_timers(bench.state)
    check_joins(config, bench.state)
    check_open_question(config, bench.state)
    assert STATE_DECODER.decode(msgspec.msgpack.encode(bench.state)) == bench.state
    return decision


STATE_DECODER = msgspec.msgpack.Decoder(RunState)


def check_counters(bench: Bench) -> None:
    bounds, usage, config = bench.envelope.bounds, bench.envelope.usage, bench.config
    assert min(usage.llm_calls, usage.tool_calls, usage.tokens_in, usage.tokens_out) >= 0
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
        assert not state.held.entries
    goes_on_later = envelope.lifecycle == "ready" and envelope.usage.agent_hops > 0
    if over or (envelope.lifecycle in {"new", "ready"} and not goes_on_later):
        assert (state.in_flight, state.fan_outs, state.revisits) == ({}, {}, ())
        assert not state.held.entries
    assert bool(state.held.questions) == (envelope.lifecycle == "waiting") or goes_on_later
    if goes_on_later:
        assert envelope.interrupt is not None
        assert envelope.interrupt.status in {"resolved", "expired", "cancelled"}
    if envelope.lifecycle == "waiting":
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


def check_open_question(config: PipelineConfig, state: RunState) -> None:
    """The open question is the first that is held, and whoever asked it is still to be answered."""
    interrupt = state.envelope.interrupt
    if state.envelope.lifecycle != "waiting":
        return
    assert interrupt is not None
    assert interrupt.status == "pending"
    first = state.held.questions[0]
    asked = (interrupt.stage, interrupt.kind, interrupt.question)
    assert asked == (first.stage, first.request.kind, first.request.question), "another stage's question is open"
    if first.stage is None:
        return
    assert state.envelope.stages[first.stage] == "asking", "the stage that asked was called off"
    for winner in startable(config, state.envelope.stages) if config.is_parallel else ():
        assert first.stage not in losers(config, config.stages[winner], state.envelope.stages), "its race is won"


def check_timers(state: RunState) -> None:
    expected = {f"{'retry' if entry.waiting_retry else 'timeout'}:{entry.key}" for entry in state.in_flight.values()}
    envelope = state.envelope
    asked = envelope.interrupt if envelope.lifecycle == "waiting" else None
    if asked is not None and TIME_TO_LIVE_MS[asked.kind] is not None:
        expected.add(f"interrupt:{asked.id}")
    assert set(state.timers) - {"deadline", "soft_deadline"} == expected, "a timer too many, or one is missing"
    if envelope.lifecycle == "terminated":
        assert not state.timers


def check_joins(config: PipelineConfig, state: RunState) -> None:
    """Whatever is at work has what it requires."""
    for entry in state.in_flight.values():
        if state.ending is None or entry.stage != config.final_stage:
            assert join_state(config.stages[entry.stage], state.envelope.stages) == "ready", entry.stage


def drive(seed: int) -> Bench:
    """A random run through random events, and then with successes to its end."""
    dice = random.Random(seed)
    bench = Bench(random_pipeline(dice))
    check_step(bench, random_request(dice))
    for _ in range(dice.choice([5, 20, 60])):
        payload = random_payload(bench, dice)
        if payload is not None:
            check_step(bench, payload)
    for number in range(600):
        if bench.envelope.lifecycle == "terminated":
            return bench
        check_step(bench, next_payload(bench, number))
    raise AssertionError("the run does not end")


def next_payload(bench: Bench, number: int) -> happening.Payload:
    if bench.envelope.lifecycle in {"ready", "blocked"}:
        return happening.RunAdmitted()
    entries = list(bench.state.in_flight.values())
    asked = bench.envelope.interrupt
    if asked is not None and bench.envelope.lifecycle == "waiting" and (not entries or number % 3 == 0):
        if asked.expires_at_ms is not None and bench.now_ms >= asked.expires_at_ms:
            return happening.TimerFired(f"interrupt:{asked.id}")
        return happening.InterruptAnswered(asked.id, "local", InterruptResponse(approved=True, decision="approve"))
    entry = entries[number % len(entries)]
    if entry.waiting_retry:
        return happening.TimerFired(f"retry:{entry.key}")
    verdict = PolicyVerdict("approved")
    return happening.StageSucceeded(entry.key, {"r": 1, "list": [1, 2]}, policy=verdict)


@pytest.mark.long
@settings(max_examples=600)
@given(seeds)
def test_every_run_ends_with_exactly_one_reason_and_no_counter_passes_its_bound(seed: int) -> None:
    bench = drive(seed)
    finishes = [command for command in bench.commands if isinstance(command, Finish)]
    assert [finish.reason for finish in finishes] == [bench.reason]
    assert bench.commands[-1] == finishes[0]
    note(f"ended: {bench.reason}")
    was_admitted = any(isinstance(event.payload, happening.RunAdmitted) for event in bench.log)
    was_begun = was_admitted or bench.log[0].payload.queued is False  # type: ignore[union-attr]
    final = bench.config.final_stage
    if bench.reason in BOUND_REASONS and final and bench.envelope.bounds.max_agent_hops and was_begun:
        assert any(record.stage == final for record in bench.envelope.history), "no answer at the limit"


@pytest.mark.long
@settings(max_examples=300)
@given(seeds)
def test_an_open_question_is_the_first_that_is_held_and_its_answer_concerns_no_other_stage(seed: int) -> None:
    dice = random.Random(seed)
    bench = Bench(race_above_joins(dice))
    request = Request("race_above_joins", "?", wait=True)
    check_step(bench, happening.RunRequested(request, schema_version=SCHEMA_VERSION))
    for _ in range(60):
        payload = random_payload(bench, dice, ASKING_ACTIONS)
        if payload is None:
            continue
        before = bench.state
        decision = check_step(bench, payload)
        if decision.ignored is None:
            check_consent(before, bench.state, payload)


def check_consent(before: RunState, after: RunState, payload: happening.Payload) -> None:
    """No result that wants a person's word takes effect but by a yes to its own question."""
    asked = before.envelope.interrupt
    for question in before.held.questions:
        took_effect = after.envelope.stages.get(str(question.stage)) == "success"
        if question.unapproved is None or not took_effect:
            continue
        assert asked is not None
        assert asked.stage == question.stage, "the answer to another stage's question confirmed the result"
        said = payload.response if isinstance(payload, happening.InterruptAnswered) else asked.response
        assert said is not None
        assert said.approved, "nobody confirmed the result"


@settings(max_examples=20)
@given(seeds)
def test_client_events_carry_what_the_reference_says_of_their_type(seed: int) -> None:
    for event in drive(seed).client_events:
        form = CLIENT_DATA[cast(ClientEventType, event.type)]
        msgspec.convert(event.data, form)
        assert set(event.data) <= set(form.__annotations__)


@settings(max_examples=200)
@given(seeds)
def test_client_events_are_numbered_from_one_without_gaps_and_end_with_the_end(seed: int) -> None:
    bench = drive(seed)
    events = bench.client_events
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[0].type == "run.accepted"
    assert [event.type for event in events].count("run.finished") == 1
    assert events[-1].type == "run.finished"
    raised = [event.data["id"] for event in events if event.type == "interrupt.raised"]
    resolved = [event.data["id"] for event in events if event.type == "interrupt.resolved"]
    assert raised == [f"r-bench-q{number + 1}" for number in range(len(raised))]
    assert resolved == raised[: len(resolved)]
    assert len(raised) - len(resolved) <= (0 if bench.envelope.request.wait else 1)


@settings(max_examples=100)
@given(seeds)
def test_a_recorded_log_replays_to_the_same_states_and_the_same_commands(seed: int) -> None:
    bench = drive(seed)
    config = bench.config
    again = replay(config, [happening.decode_event(happening.encode_event(event)) for event in bench.log])
    assert [decision.ignored for decision in again] == [None] * len(bench.log)
    assert [command for decision in again for command in decision.commands] == bench.commands
    assert again[-1].state == bench.state
    state = new_state(bench.run_id)
    for event, expected in zip(bench.log, again, strict=True):
        state = decide(config, state, event).state
        assert wire_form(state) == wire_form(expected.state), "the state is not the fold of its log"


@given(seeds)
def test_the_envelope_survives_the_wire_and_stages_can_read_their_views(seed: int) -> None:
    bench = drive(seed)
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
    st.builds(happening.StageStarted, keys),
    st.builds(
        happening.StageSucceeded,
        keys,
        st.dictionaries(st.sampled_from(["r", "question", "list"]), values),
        interrupt=st.none() | questions,
        usage=st.builds(happening.StageUsage, *([st.integers(-(2**63), 2**64 - 1)] * 4)),
        policy=st.none() | st.sampled_from(VERDICTS),
    ),
    st.builds(
        happening.StageFailed, keys, st.sampled_from(KINDS), st.text(max_size=3), st.sampled_from(BOUNDS), st.booleans()
    ),
    st.builds(
        happening.TimerFired, keys.map(lambda key: f"timeout:{key}") | st.sampled_from(["deadline", "retry:", ":", "x"])
    ),
    st.builds(happening.CancelRequested, st.text(max_size=3)),
    st.builds(happening.ActorLost, st.sampled_from([*NAMES, "nobody"]), st.lists(keys, max_size=2).map(tuple)),
    st.builds(happening.ToolCalled, keys, st.text(max_size=3), st.text(max_size=3)),
    st.builds(happening.BudgetRequested, keys, *([st.integers(-3, 99)] * 3)),
    st.builds(
        happening.InterruptAnswered,
        st.sampled_from(["r-bench-q1", "r-bench-q2", ""]),
        st.sampled_from(["local", "eve"]),
        st.builds(InterruptResponse, approved=st.none() | st.booleans()),
    ),
    st.builds(happening.PauseRequested, st.text(max_size=3)),
    st.just(happening.RunAdmitted()),
    st.builds(
        happening.RunAdopted,
        queued=st.booleans(),
        shift_ms=st.integers(-(10**12), 10**12),
        calls_models=st.booleans(),
    ),
    st.builds(happening.QuotaExhausted, st.sampled_from(["llm_calls", "tokens"]), st.text(max_size=3)),
    st.builds(
        happening.RunRequested,
        st.builds(Request, st.just("random"), st.just("?"), wait=st.booleans()),
        queued=st.booleans(),
        schema_version=st.just(SCHEMA_VERSION),
    ),
)


@settings(max_examples=200)
@given(seeds, st.lists(wild_payloads, max_size=16), st.booleans(), st.integers(-(10**12), 10**12))
def test_decide_takes_any_event_at_any_time_without_raising(
    seed: int, payloads: list[happening.Payload], was_requested: bool, jump_ms: int
) -> None:
    dice = random.Random(seed)
    bench = Bench(random_pipeline(dice))
    if was_requested:
        check_step(bench, random_request(dice))
    for number, payload in enumerate(payloads):
        if number == 3:
            bench.now_ms += jump_ms
        check_step(bench, payload)


@given(wild_payloads, st.integers(), st.integers(-(2**63), 2**63 - 1))
def test_an_event_survives_the_wire(payload: happening.Payload, seq: int, at_ms: int) -> None:
    event = happening.Event(RunId("r-1"), seq % 2**63, at_ms, payload)
    assert happening.decode_event(happening.encode_event(event)) == event


@st.composite
def graphs(draw: st.DrawFn) -> PipelineConfig:
    """A sound parallel pipeline without routing: joins of all, some of its stages once per item."""
    names = NAMES[: draw(st.integers(2, len(NAMES)))]
    agents: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        earlier = names[:number]
        requires = draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True)) if earlier else []
        agent: dict[str, Any] = {"name": name, "stage_order": number, "requires": requires}
        fans_out: bool = draw(st.booleans())
        if requires and fans_out:
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
        check_step(bench, happening.RunRequested(Request("graph", "?")))
        while bench.envelope.lifecycle == "running":
            entry = source.choice(list(bench.state.in_flight.values()))
            command = next(command for command in bench.issued if command.key == entry.key)
            view = decode_view(command.input)
            of_required = [view.outputs[name] for name in config.stages[entry.stage].requires]
            seen = [str(entry.stage), view.item, view.item_index, of_required]
            patch = GoalsPatch(add=(Goal(GoalId(f"{entry.stage}{entry.key.item}"), "x"),))
            made = {"items": [1, 2], "seen": msgspec.json.encode(seen).decode()}
            check_step(bench, happening.StageSucceeded(entry.key, made, patch))
        assert bench.reason == "completed"
        return msgspec.msgpack.encode(bench.envelope.outputs)

    assert outputs_of(one) == outputs_of(other)


@settings(max_examples=300)
@given(seeds)
def test_a_run_of_joins_completes_exactly_when_nothing_that_it_needs_has_failed(seed: int) -> None:
    dice = random.Random(seed)
    names = NAMES[: dice.randint(2, len(NAMES))]
    agents = []
    for number, name in enumerate(names):
        requires = [other for other in names[:number] if dice.random() < 0.5]
        agents.append({"name": name, "stage_order": number, "requires": requires, "join_strategy": dice.choice(JOINS)})
    config = PipelineConfig.model_validate({"name": "joins", "default_run_mode": "parallel", "agents": agents})
    failing = {name for name in names if dice.random() < 0.3}
    bench = Bench(config)
    check_step(bench, happening.RunRequested(Request("joins", "?")))
    while bench.envelope.lifecycle == "running":
        entry = dice.choice(list(bench.state.in_flight.values()))
        fails = entry.stage in failing
        check_step(
            bench, happening.StageFailed(entry.key, "tool", "x") if fails else happening.StageSucceeded(entry.key, {})
        )
    statuses = bench.envelope.stages
    needed = {name for name in names if not any(name in agent.requires for agent in config.agents)}
    possible: dict[str, bool] = {}
    for agent in config.agents:
        there = [possible[name] for name in agent.requires]
        can_start = not there or (any(there) if agent.join_strategy == "any" else all(there))
        possible[agent.name] = can_start and statuses.get(agent.name) != "failed"
    note(f"ended: {bench.reason}")
    if all(possible[name] for name in needed):
        assert bench.reason == "completed"
        assert all(statuses[name] == "success" for name in needed)
        assert set(statuses) == set(names), "a stage was forgotten"
    else:
        assert bench.reason == "tool_failed_fatally"


JOINS = ("all", "any")


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
    check_step(bench, happening.RunRequested(Request("race", "?")))
    given_calls = sum(command.grant.llm_calls for command in bench.issued)
    for number, more, spent, ask_tokens in wanted:
        entries = list(bench.state.in_flight.values())
        if not entries:
            break
        entry = entries[number % len(entries)]
        if spent == 9:
            usage = random_usage(entry, random.Random(more))
            given_calls -= entry.grant.llm_calls - usage.llm_calls
            check_step(bench, happening.StageSucceeded(entry.key, {}, usage=usage))
            continue
        decision = check_step(bench, happening.BudgetRequested(entry.key, more, ask_tokens, ask_tokens))
        (command,) = decision.commands
        assert isinstance(command, GiveGrant)
        left = calls - given_calls
        assert command.grant.llm_calls == min(more, left), "refused although something was left, or given too much"
        given_calls += command.grant.llm_calls
        assert given_calls <= calls
