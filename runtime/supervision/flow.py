"""Where a run goes: enter a stage, take an edge, join branches, fan out over items, wait for a person.

Sequential and parallel pipelines go through the same steps; only `advance`, which starts whatever its dependencies
allow, is for parallel ones. Every function takes the `Turn` and leaves it consistent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.pipeline.config import END, INTERRUPT_TARGETS, AgentConfig, edge_name
from runtime.pipeline.interrupt_kinds import TIME_TO_LIVE_MS, InterruptKind
from runtime.primitives.ids import StageKey, StageName
from runtime.run import joins
from runtime.run.bounds import Blocked, Grant, blocked_edge, blocked_hop, is_loop_back
from runtime.run.envelope import Interrupt, InterruptRequest, StageStatus, TerminalReason
from runtime.run.interrupts import REASON_WITHOUT_WAITING
from runtime.run.routing import next_move
from runtime.supervision.state import Ending, FanOut, Held, InFlight, Question
from runtime.supervision.transitions import NO_USAGE, Turn

MAX_ITEMS = 1_000

replace = msgspec.structs.replace


def begin(turn: Turn) -> None:
    """Start the run: the first stage, or every stage of a parallel run that waits for nothing."""
    turn.envelope = replace(turn.envelope, lifecycle="running")
    if turn.config.is_parallel:
        advance(turn)
    else:
        enter(turn, turn.config.first_stage.name)


def enter(turn: Turn, target: str) -> None:
    """Execute `target` next, or as soon as it can be: a run that waits and a stage at work are entered afterwards."""
    if turn.is_over or turn.ending is not None:
        return
    name = StageName(target)
    agent = turn.config.stages[target]
    if turn.envelope.lifecycle != "running":
        turn.held = replace(turn.held, entries=(*turn.held.entries, name))
        return
    if turn.stages.get(target) in joins.BUSY:
        turn.revisits = (*turn.revisits, name)
        return
    if joins.join_state(agent, turn.stages) != "ready":
        if turn.config.is_parallel:
            turn.stages.pop(target, None)  # `advance` starts it when what it requires is there
        else:
            end_unsatisfied(turn, [target])
        return
    if turn.config.is_parallel and joins.is_held_back(agent, turn.config, turn.stages):
        turn.revisits = (*turn.revisits, name)
        return
    blocked = blocked_hop(turn.config, turn.envelope, target)
    if blocked is not None:
        end_by_bound(turn, blocked, None)
        return
    _visit(turn, agent)


def _visit(turn: Turn, agent: AgentConfig) -> None:
    usage = replace(turn.envelope.usage, agent_hops=turn.envelope.usage.agent_hops + 1)
    name = StageName(agent.name)
    turn.envelope = replace(turn.envelope, usage=usage, current_stage=name)
    if turn.config.is_parallel:
        if agent.name in turn.stages:
            _make_stale(turn, agent.name)
        for loser in joins.losers(turn.config, agent, turn.stages):
            _call_off(turn, loser)
    entry = InFlight(StageKey(turn.envelope.run_id, usage.agent_hops), name, Grant(), turn.at_ms)
    if agent.foreach is None:
        turn.issue(entry)
    else:
        _fan_out(turn, agent, entry)


def _make_stale(turn: Turn, stage: str) -> None:
    """A new visit of a stage undoes what was built on the last one: those stages are to run again."""
    for name in sorted(joins.dependants(turn.config, stage)):
        _call_off(turn, name)
        turn.stages.pop(name, None)


def _call_off(turn: Turn, stage: str) -> None:
    """Nobody needs this visit of a stage any more, nor what it wanted to know or was still to be visited for."""
    turn.drop(stage, "cancelled")
    turn.revisits = tuple(name for name in turn.revisits if name != stage)
    turn.held = Held(
        entries=tuple(name for name in turn.held.entries if name != stage),
        questions=tuple(question for question in turn.held.questions if question.stage != stage),
    )


def move(turn: Turn, source: str, target: str, clear: tuple[str, ...]) -> None:
    """Take the edge source → target and enter the target, or end by the bound that forbids it."""
    waits = turn.config.is_parallel and joins.join_state(turn.config.stages[target], turn.stages) != "ready"
    blocked = blocked_edge(turn.config, turn.envelope, source, target)
    if blocked is None and not waits:
        blocked = blocked_hop(turn.config, turn.envelope, target)
    if blocked is not None:
        end_by_bound(turn, blocked, source)
        return
    name = edge_name(source, target)
    usage = turn.envelope.usage
    usage = replace(
        usage,
        edges={**usage.edges, name: usage.edges.get(name, 0) + 1},
        iterations=usage.iterations + is_loop_back(turn.config, source, target),
    )
    turn.envelope = replace(turn.envelope, usage=usage)
    turn.clear(clear)
    enter(turn, target)


def route(turn: Turn, agent: AgentConfig, output: Mapping[str, Any]) -> None:
    """Go where the stage's own output leads. In a parallel run `end` is the end of a branch."""
    chosen = next_move(agent, output)
    if chosen.target == END:
        turn.clear(chosen.clear)
        if not turn.config.is_parallel:
            turn.finish("completed", None)
    elif chosen.target in INTERRUPT_TARGETS:
        turn.clear(chosen.clear)
        ask(turn, Question(StageName(agent.name), question_in(chosen.target, output)))
    else:
        move(turn, agent.name, chosen.target, chosen.clear)
    advance(turn)


def advance(turn: Turn) -> None:
    """Start every stage of a parallel run that may start now; end the run when nothing is left to do."""
    if not turn.config.is_parallel:
        return
    again, turn.revisits = turn.revisits, ()
    for name in again:
        enter(turn, name)
    while turn.envelope.lifecycle == "running" and turn.ending is None:
        ready = joins.startable(turn.config, turn.stages)
        if not ready:
            break
        enter(turn, ready[0])
    if turn.envelope.lifecycle != "running" or turn.ending is not None:
        return
    if turn.in_flight or turn.instant or turn.held.entries or turn.held.questions:
        return
    stuck = [*joins.unsatisfied(turn.config, turn.stages), *turn.revisits]
    if stuck:
        end_unsatisfied(turn, stuck)
    else:
        turn.finish("completed", None)


def end_unsatisfied(turn: Turn, stuck: list[str]) -> None:
    """End the run, naming each stage that can never start and what it lacks."""
    lacks = []
    for name in dict.fromkeys(stuck):
        agent = turn.config.stages[name]
        missing = [other for other in agent.requires if turn.stages.get(other) != "success"]
        missing += [other for other in agent.after if turn.stages.get(other) not in joins.SETTLED]
        lacks.append(f"stage '{name}' lacks {', '.join(repr(other) for other in missing)}")
    turn.finish("unsatisfiable_dependencies", "; ".join(lacks))


def end_by_bound(turn: Turn, blocked: Blocked, source: str | None) -> None:
    """The run ends here; the final stage, where there is one, still says what was found. At work already, it goes on
    alone. A further bound that the final stage runs into changes nothing: the first one is the reason."""
    final = turn.config.final_stage
    if turn.ending is not None:
        turn.finish(turn.ending.reason, turn.ending.detail)
        return
    if final is None or source == final:
        turn.finish(blocked.reason, blocked.detail)
        return
    is_at_work = any(entry.stage == final and not entry.waiting_retry for entry in turn.in_flight.values())
    if not is_at_work and blocked_hop(turn.config, turn.envelope, final) is not None:
        turn.finish(blocked.reason, blocked.detail)
        return
    asking = [question.stage for question in turn.held.questions if question.stage is not None]
    for stage in [*turn.at_work, *asking]:
        if stage != final or not is_at_work:
            turn.drop(stage, "cancelled")
    turn.close_interrupt("cancelled")
    turn.held = Held()
    turn.ending = Ending(blocked.reason, blocked.detail, turn.at_ms)
    turn.envelope = replace(turn.envelope, lifecycle="running")
    if not is_at_work:
        _visit(turn, turn.config.stages[final])


def ask(turn: Turn, question: Question) -> None:
    """Put a question to the caller, after those that are open: the run waits, or ends if its caller does not wait."""
    if question.stage is not None:
        turn.mark(question.stage, "asking")
    turn.held = replace(turn.held, questions=(*turn.held.questions, question))
    if turn.envelope.lifecycle == "running":
        _put_next(turn)


def _put_next(turn: Turn) -> None:
    question = turn.held.questions[0]
    request = question.request
    number = turn.envelope.interrupts_raised + 1
    life_ms = TIME_TO_LIVE_MS[request.kind]
    interrupt = Interrupt(
        id=f"{turn.envelope.run_id}-q{number}",
        kind=request.kind,
        question=request.question,
        stage=question.stage,
        message=request.message,
        data=request.data,
        created_at_ms=turn.at_ms,
        expires_at_ms=None if life_ms is None else turn.at_ms + life_ms,
    )
    turn.envelope = replace(turn.envelope, interrupt=interrupt, interrupts_raised=number)
    shown = msgspec.structs.asdict(request) | {"id": interrupt.id, "expires_at_ms": interrupt.expires_at_ms}
    turn.emit("interrupt.raised", data={name: value for name, value in shown.items() if value not in ("", {}, None)})
    is_pause = question.stage is None
    if not turn.envelope.request.wait and not is_pause:
        turn.finish(REASON_WITHOUT_WAITING[request.kind], request.question)
        return
    turn.envelope = replace(turn.envelope, lifecycle="waiting")
    if interrupt.expires_at_ms is not None:
        turn.set_timer(f"interrupt:{interrupt.id}", interrupt.expires_at_ms)


def asked(turn: Turn) -> Question | None:
    """The held question that the run's interrupt belongs to; None when the stage that asked was called off since.

    A stage holds one question at most, and a pause, which has no stage, is never called off: so the stage tells which.
    """
    interrupt = turn.envelope.interrupt
    if interrupt is None:
        return None
    return next((question for question in turn.held.questions if question.stage == interrupt.stage), None)


def withdraw_pointless_question(turn: Turn) -> None:
    """Close the open question when its stage was called off or has lost its race, and put the next one.

    With none left the run goes on once there is room for it: it held none while it waited.
    """
    while (loser := _asks_in_vain(turn)) is not None:
        _call_off(turn, loser)
    if turn.envelope.lifecycle != "waiting" or asked(turn) is not None:
        return
    turn.close_interrupt("cancelled")
    if turn.held.questions:
        _put_next(turn)
    else:
        turn.envelope = replace(turn.envelope, lifecycle="ready")


def _asks_in_vain(turn: Turn) -> str | None:
    """The stage of the first question, if its race is won: the winner starts as soon as the run goes on.

    A result that was confirmed before that has won as well, and takes effect.
    """
    if turn.envelope.lifecycle not in {"waiting", "ready"} or not turn.config.is_parallel or not turn.held.questions:
        return None
    question, interrupt = turn.held.questions[0], turn.envelope.interrupt
    is_settled = question is asked(turn) and interrupt is not None and interrupt.status != "pending"
    if question.stage is None or (is_settled and question.unapproved is not None):
        return None
    for winner in joins.startable(turn.config, turn.stages):
        if question.stage in joins.losers(turn.config, turn.config.stages[winner], turn.stages):
            return question.stage
    return None


def go_on(turn: Turn, question: Question) -> None:
    """Resume after an answer, or without one, where that kind of question says."""
    if question.stage is not None:
        turn.mark(question.stage, "success" if question.failure is None else "failed")
    resume_at = turn.config.resume_stage(question.request.kind) or question.stage
    if resume_at is not None:
        enter(turn, resume_at)


def stop_waiting(turn: Turn) -> Question | None:
    """Let the run go on; returns the question that was settled, unless its stage was called off meanwhile."""
    settled = asked(turn)
    others = tuple(question for question in turn.held.questions if question is not settled)
    turn.held = replace(turn.held, questions=others)
    turn.envelope = replace(turn.envelope, lifecycle="running")
    return settled


def take_up_held(turn: Turn) -> None:
    """Enter what was held back while the run waited, then put the next question, if there is one."""
    entries = turn.held.entries
    turn.held = replace(turn.held, entries=())
    for name in entries:
        enter(turn, name)
    advance(turn)
    if turn.envelope.lifecycle == "running" and turn.ending is None and turn.held.questions:
        _put_next(turn)


def question_in(target: str, output: Mapping[str, Any]) -> InterruptRequest:
    """The question that a stage left in its output for a routing target like `clarification`."""
    kind = target if target in INTERRUPT_TARGETS else "clarification"
    question = str(output.get(f"{kind}_question") or output.get("question") or "The run needs your answer to go on.")
    data = output.get(f"{kind}_data")
    return InterruptRequest(kind, question, data=data if isinstance(data, dict) else {})  # type: ignore[arg-type]


def _fan_out(turn: Turn, agent: AgentConfig, entry: InFlight) -> None:
    """Run the stage once per item, `foreach_concurrency` at a time.

    A visit without items, or with what are none, is over at once. What follows from it is decided after the turn's
    event: a chain of such visits must not nest.
    """
    items = _items(turn.envelope.outputs, str(agent.foreach))
    if isinstance(items, list) and 0 < len(items) <= MAX_ITEMS:
        first = min(agent.foreach_concurrency, len(items))
        turn.fan_outs[agent.name] = FanOut(hop=entry.key.hop, items=tuple(items), next_item=first)
        for index in range(first):
            turn.issue(replace(entry, key=replace(entry.key, item=index)))
        return
    error = None
    if items != []:
        found = f"{len(items)} items, limit {MAX_ITEMS}" if isinstance(items, list) else f"a {type(items).__name__}"
        error = f"stage '{agent.name}' runs for each of '{agent.foreach}', which is {found}"
    turn.in_flight[str(entry.key)] = entry
    turn.settle(entry, "error" if error else "skipped", NO_USAGE, error)
    turn.mark(agent.name, "active")
    turn.instant.append((agent, entry.key, error))


def issue_next_item(turn: Turn, stage: StageName) -> None:
    """Give the agent of a fan-out its next item, if one is left."""
    fan_out = turn.fan_outs[stage]
    if fan_out.next_item >= len(fan_out.items):
        return
    key = StageKey(turn.envelope.run_id, fan_out.hop, fan_out.next_item)
    turn.fan_outs[stage] = replace(fan_out, next_item=fan_out.next_item + 1)
    turn.issue(InFlight(key, stage, Grant(), turn.at_ms))


def _items(outputs: Mapping[str, Any], path: str) -> Any:
    value: Any = outputs
    for part in path.split(".")[1:]:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def fail(turn: Turn, agent: AgentConfig, reason: TerminalReason, error: str, is_timeout: bool = False) -> None:
    """A stage has failed for good: go on where its error route leads, without it where the joins allow, or end."""
    status: StageStatus = "failed" if agent.error_next is None else "handled"
    turn.mark(agent.name, status)
    if turn.ending is not None:
        turn.finish(turn.ending.reason, turn.ending.detail)
    elif agent.error_next is not None:
        _take_error_route(turn, agent, agent.error_next, error)
    elif _goes_on_without(turn, agent):
        advance(turn)
    else:
        _wait_or_end(turn, agent, Ending(reason, error, turn.at_ms), is_timeout)


def _take_error_route(turn: Turn, agent: AgentConfig, target: str, error: str) -> None:
    if target != END:
        move(turn, agent.name, target, ())
    elif not turn.config.is_parallel:
        turn.finish("completed", f"stage '{agent.name}' failed and its error route ends the run: {error}")
    advance(turn)


def _goes_on_without(turn: Turn, agent: AgentConfig) -> bool:
    """True when the run can do without the failed stage; what hangs on it alone is called off."""
    lost = joins.lost_with(turn.config, agent.name, turn.stages) if turn.config.is_parallel else None
    for name in lost or ():
        _call_off(turn, name)
    return lost is not None


def _wait_or_end(turn: Turn, agent: AgentConfig, failure: Ending, is_timeout: bool) -> None:
    what_then = turn.config.on_timeout if is_timeout else turn.config.on_system_error
    if what_then == "end" or not turn.envelope.request.wait:
        turn.finish(failure.reason, failure.detail)
        return
    kind: InterruptKind = "timeout" if is_timeout else "system_error"
    request = InterruptRequest(kind, f"stage '{agent.name}' failed: {failure.detail}. Approve to run it again.")
    ask(turn, Question(StageName(agent.name), request, failure=failure))
