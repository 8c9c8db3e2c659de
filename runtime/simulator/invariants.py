"""Checks invariants that must hold under all faults, on a system that has come to rest.

Each check yields the violations that it finds. Checks read the disk, the counts of the world, and the events that users
saw; they do not rely on the state of a supervisor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.run.stage_view import decode_view
from runtime.simulator.differential import Finding, ended_too_early, level_of, other_result
from runtime.simulator.run_history import Record, read
from runtime.simulator.simulated_system import System
from runtime.supervision.events import InterruptAnswered, ToolCalled
from runtime.supervision.forking import with_run_id
from runtime.supervision.replay import fold


def findings(system: System, twin: System, compared: Counter[str]) -> Iterator[Finding]:
    """Yield all violations in `system` against its `twin` without faults; `compared` counts runs by level."""
    if system.world.is_stuck:
        yield "run_lost", f"the system does not come to rest: {system.world.steps} steps"
    for deposed in system.disk.deposed_writes:
        yield "one_owner", deposed
    yield from effects_made_twice(system)
    for planned in system.scenario.runs:
        record = read(system, planned)
        if record is None:
            if system.callers[planned.run_id].is_accepted:
                yield "run_lost", f"{planned.run_id} was accepted and nothing of it is on the disk"
            continue
        for check in CHECKS:
            yield from check(system, record)
        level = level_of(system, twin, record)
        compared[level] += 1
        yield from other_result(system, twin, record, level)
        yield from ended_too_early(twin, record)


def effects_made_twice(system: System) -> Iterator[Finding]:
    """Check that effects that must not be repeated happened once, and that each attempt was begun once."""
    for key, times in system.books.effects.items():
        declaration = system.books.declarations[key]
        if times > 1 and declaration != "repeatable":
            yield (
                "effect_twice",
                f"call {key.call} of {key.run_id}/{key.hop}/{key.item} ({declaration}) made {times} times",
            )
    for book in system.books.runs.values():
        for stage, times in book.begun.items():
            if times > 1:
                yield "effect_twice", f"attempt {stage} was begun {times} times"


def not_ended_once(_system: System, record: Record) -> Iterator[Finding]:
    """Check that every accepted run ends, with exactly one reason and one run.finished."""
    envelope, run_id = record.envelope, record.run_id
    if envelope.lifecycle != "terminated":
        yield "run_lost", f"{run_id} is {envelope.lifecycle} and does not go on"
        return
    finished = sum(event.type == "run.finished" for event in record.shown)
    if (record.finishes, finished) != (1, 1) or envelope.terminal_reason is None:
        yield "one_end", f"{run_id} ended {record.finishes} times with {envelope.terminal_reason}"


def beyond_bounds(system: System, record: Record) -> Iterator[Finding]:
    """Check that the real usage and the usage that the run recorded are within every bound."""
    bounds, usage, book = record.envelope.bounds, record.envelope.usage, system.books.runs[record.run_id]
    pairs: list[tuple[str, int, int | None]] = [
        ("model calls", max(book.llm_calls, usage.llm_calls), bounds.max_llm_calls),
        ("tool calls", max(book.tool_calls, usage.tool_calls), bounds.max_tool_calls),
        ("tokens", max(book.tokens, usage.tokens_in + usage.tokens_out), bounds.max_tokens),
        ("hops", max(len(book.hops), usage.agent_hops), bounds.max_agent_hops),
        ("iterations", usage.iterations, bounds.max_iterations),
    ]
    limits = system.scenario.config.edge_limit_of
    pairs += [(f"traversals of {edge}", taken, limits.get(edge)) for edge, taken in usage.edges.items()]
    for name, made, allowed in pairs:
        if allowed is not None and made > allowed:
            yield "bounds", f"{record.run_id}: {made} {name}, limit {allowed}"
    if usage.llm_calls < book.llm_calls:
        yield "bounds", f"{record.run_id}: {book.llm_calls} model calls made, {usage.llm_calls} booked"


def calls_shown_twice(system: System, record: Record) -> Iterator[Finding]:
    """Check that no more tool calls are recorded than agents reported."""
    recorded = sum(isinstance(event.payload, ToolCalled) for event in record.log)
    reported = system.books.runs[record.run_id].reported_calls
    if recorded > reported:
        yield "recorded_twice", f"{record.run_id}: {reported} tool calls reported, {recorded} recorded"


def answers_not_once(system: System, record: Record) -> Iterator[Finding]:
    """Check that an interrupt has at most one answer, from the run's user, and that it is the one that was accepted."""
    recorded: dict[str, InterruptResponse] = {}
    for event in record.log:
        if isinstance(event.payload, InterruptAnswered):
            answer = event.payload
            if answer.interrupt_id in recorded:
                yield "one_answer", f"{answer.interrupt_id} was answered twice"
            if answer.user_id != record.planned.request.user_id:
                yield "one_answer", f"{answer.interrupt_id} was answered by {answer.user_id}"
            recorded[answer.interrupt_id] = answer.response
    for told in system.callers[record.run_id].accepted:
        kept = recorded.get(told.interrupt_id)
        if kept != told.response:
            yield "one_answer", f"{told.interrupt_id}: the answer '{told.response.text}' was taken, but {kept} is kept"
    settled = Counter(event.data["id"] for event in record.shown if event.type == "interrupt.resolved")
    for interrupt_id, times in settled.items():
        if times > 1:
            yield "one_answer", f"{interrupt_id} was resolved {times} times"


def not_seen_as_shown(system: System, record: Record) -> Iterator[Finding]:
    """Check that the watcher saw exactly the events of the run, numbered without gaps."""
    caller = system.callers[record.run_id]
    for complaint in caller.complaints:
        yield "event_numbers", f"{record.run_id}: {complaint}"
    numbers = [event.seq for event in record.shown]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "event_numbers", f"{record.run_id}: numbered {numbers}"
    if caller.seen != record.shown[: len(caller.seen)] or (caller.is_over and len(caller.seen) != len(record.shown)):
        yield "event_numbers", f"{record.run_id}: {len(caller.seen)} events seen differ from {len(record.shown)} shown"


def started_too_early(system: System, record: Record) -> Iterator[Finding]:
    """Check that a stage runs only after the stages that it requires: all of them, or one for a join `any`."""
    for command in record.issued:
        agent = system.scenario.config.stages[command.stage]
        if not agent.requires or agent.name == system.scenario.config.final_stage:
            continue
        there = [name for name in agent.requires if name in decode_view(command.input).outputs]
        if not there or (agent.join_strategy == "all" and len(there) < len(agent.requires)):
            yield "join", f"{command.key}: '{agent.name}' requires {list(agent.requires)}, there is {there}"


def past_lost_in_a_fork(system: System, record: Record) -> Iterator[Finding]:
    """Check that a fork at the last event has the past of its source, whatever was lost, retried or answered in it."""
    fork = RunId("r-fork")
    past = fold(system.config, [with_run_id(event, fork) for event in record.log]).envelope
    for name in ("outputs", "history", "usage", "stages", "lifecycle", "terminal_reason"):
        if getattr(past, name) != getattr(record.envelope, name):
            mine, its = getattr(past, name), getattr(record.envelope, name)
            yield "fork", f"{record.run_id}: {name} in a fork is {mine}, in its source {its}"


CHECKS: tuple[Callable[[System, Record], Iterator[Finding]], ...] = (
    not_ended_once,
    beyond_bounds,
    calls_shown_twice,
    answers_not_once,
    not_seen_as_shown,
    started_too_early,
    past_lost_in_a_fork,
)
