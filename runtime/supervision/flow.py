"""Where a run goes: enter a stage, take an edge, join branches, fan out over items, wait for a person.

Sequential and parallel pipelines go through the same steps; only `advance`, which starts whatever its dependencies
allow, is for parallel ones. Every function takes the `Turn` and leaves it consistent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from runtime import joins
from runtime.bounds import Blocked, Grant, blocked_edge, blocked_hop, is_loop_back
from runtime.envelope import Interrupt, InterruptRequest, TerminalReason
from runtime.ids import StageKey, StageName
from runtime.interrupts import REASON_WITHOUT_WAITING, TIME_TO_LIVE_MS
from runtime.pipeline import END, INTERRUPT_TARGETS, AgentConfig, edge_name
from runtime.routing import next_move
from runtime.supervision.state import Ending, FanOut, Held, InFlight
from runtime.supervision.transitions import Turn

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
    """Execute `target` next; while the run waits, note that it is to be entered once the run goes on."""
    if turn.is_over:
        return
    name = StageName(target)
    if turn.envelope.lifecycle == "waiting":
        turn.held = replace(turn.held, entries=(*turn.held.entries, name))
        return
    if turn.stages.get(target) == "active":
        turn.revisits = (*turn.revisits, name)
        return
    agent = turn.config.stages[target]
    if turn.ending is None and not turn.config.is_parallel and joins.join_state(agent, turn.stages) != "ready":
        end_unsatisfied(turn, [agent])
        return
    blocked = blocked_hop(turn.config, turn.envelope, target)
    if blocked is not None:
        end_by_bound(turn, blocked, None)
        return
    _visit(turn, agent, name)


def _visit(turn: Turn, agent: AgentConfig, name: StageName) -> None:
    usage = replace(turn.envelope.usage, agent_hops=turn.envelope.usage.agent_hops + 1)
    turn.envelope = replace(turn.envelope, usage=usage, current_stage=name)
    if agent.name in turn.stages and turn.config.is_parallel:
        _make_stale(turn, agent.name)
    for loser in joins.losers(turn.config, agent, turn.stages) if turn.config.is_parallel else ():
        turn.drop(loser, "cancelled")
    entry = InFlight(StageKey(turn.envelope.run_id, usage.agent_hops), name, Grant(), turn.at_ms)
    if agent.foreach is None:
        turn.issue(entry)
    else:
        _fan_out(turn, agent, entry)


def _make_stale(turn: Turn, stage: str) -> None:
    """A new visit of a stage undoes what was built on the last one: those stages are to run again."""
    for name in sorted(joins.dependants(turn.config, stage)):
        if turn.stages.get(name) == "active":
            turn.drop(name, "cancelled")
        turn.stages.pop(name, None)


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
    if waits:
        turn.stages.pop(target, None)
    else:
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
        ask(turn, question_in(chosen.target, output), StageName(agent.name))
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
    if turn.envelope.lifecycle != "running" or turn.ending is not None or turn.in_flight:
        return
    stuck = joins.unsatisfied(turn.config, turn.stages)
    if stuck:
        end_unsatisfied(turn, stuck)
    else:
        turn.finish("completed", None)


def end_unsatisfied(turn: Turn, stuck: list[AgentConfig]) -> None:
    """End the run, naming each stage that can never start and what it lacks."""
    lacks = []
    for agent in stuck:
        missing = [name for name in agent.requires if turn.stages.get(name) != "success"]
        lacks.append(f"stage '{agent.name}' lacks {', '.join(repr(name) for name in missing) or 'its turn'}")
    turn.finish("unsatisfiable_dependencies", "; ".join(lacks))


def end_by_bound(turn: Turn, blocked: Blocked, source: str | None) -> None:
    """The run ends here; the final stage, where there is one, still says what was found."""
    final = turn.config.final_stage
    if final is None or source == final or turn.ending is not None:
        turn.finish(blocked.reason, blocked.detail)
        return
    if blocked_hop(turn.config, turn.envelope, final) is not None:
        turn.finish(blocked.reason, blocked.detail)
        return
    turn.drop_all()
    turn.revisits = ()
    turn.held = Held()
    turn.ending = Ending(blocked.reason, blocked.detail, turn.at_ms)
    turn.envelope = replace(turn.envelope, lifecycle="running")
    enter(turn, final)


def ask(turn: Turn, request: InterruptRequest, stage: StageName | None) -> None:
    """Put a question to the caller: the run waits, or ends with it when its caller does not wait."""
    if turn.envelope.lifecycle == "waiting":
        turn.held = replace(turn.held, questions=(*turn.held.questions, (stage, request)))
        return
    number = turn.envelope.interrupts_raised + 1
    life_ms = TIME_TO_LIVE_MS[request.kind]
    interrupt = Interrupt(
        id=f"{turn.envelope.run_id}-q{number}",
        kind=request.kind,
        question=request.question,
        stage=stage,
        message=request.message,
        data=request.data,
        created_at_ms=turn.at_ms,
        expires_at_ms=None if life_ms is None else turn.at_ms + life_ms,
    )
    turn.envelope = replace(turn.envelope, interrupt=interrupt, interrupts_raised=number)
    turn.emit("interrupt.raised", data={"id": interrupt.id, "kind": request.kind, "question": request.question})
    if not turn.envelope.request.wait and request.kind != "checkpoint":
        turn.finish(REASON_WITHOUT_WAITING[request.kind], request.question)
        return
    turn.envelope = replace(turn.envelope, lifecycle="waiting")
    if interrupt.expires_at_ms is not None:
        turn.set_timer(f"interrupt:{interrupt.id}", interrupt.expires_at_ms)


def go_on(turn: Turn, resume_at: str | None) -> None:
    """Leave the waiting state: enter the resume stage, then what was held back, then put the next question, if any."""
    held = turn.held
    turn.held = Held()
    turn.envelope = replace(turn.envelope, lifecycle="running")
    for name in dict.fromkeys([*([resume_at] if resume_at else []), *held.entries]):
        enter(turn, name)
    advance(turn)
    if held.questions and not turn.is_over and turn.ending is None:
        stage, request = held.questions[0]
        ask(turn, request, stage)
        turn.held = replace(turn.held, questions=held.questions[1:])


def question_in(target: str, output: Mapping[str, Any]) -> InterruptRequest:
    """The question that a stage left in its output for a routing target like `clarification`."""
    kind = target if target in INTERRUPT_TARGETS else "clarification"
    question = str(output.get(f"{kind}_question") or output.get("question") or "The run needs your answer to go on.")
    return InterruptRequest(kind=kind, question=question)  # type: ignore[arg-type]


def _fan_out(turn: Turn, agent: AgentConfig, entry: InFlight) -> None:
    """Run the stage once per item, `foreach_concurrency` at a time; no items at all is a result, too."""
    items = _items(turn.envelope.outputs, str(agent.foreach))
    if not isinstance(items, list) or len(items) > MAX_ITEMS:
        found = f"{len(items)} items, limit {MAX_ITEMS}" if isinstance(items, list) else f"a {type(items).__name__}"
        error = f"stage '{agent.name}' runs for each of '{agent.foreach}', which is {found}"
        turn.in_flight[str(entry.key)] = entry
        turn.settle(entry, "error", None, error)
        fail(turn, agent, "internal_error", error)
        return
    if not items:
        turn.mark(agent.name, "success")
        turn.keep_output(agent.key, {"items": []})
        route(turn, agent, {"items": []})
        return
    first = min(agent.foreach_concurrency, len(items))
    turn.fan_outs[agent.name] = FanOut(hop=entry.key.hop, items=tuple(items), next_item=first)
    for index in range(first):
        turn.issue(replace(entry, key=replace(entry.key, item=index)))


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


def fail(turn: Turn, agent: AgentConfig, reason: TerminalReason, error: str) -> None:
    """A stage has failed for good: go on where its error route leads, without it where the joins allow, or end."""
    if agent.error_next is not None:
        turn.mark(agent.name, "handled")
        if agent.error_next != END:
            move(turn, agent.name, agent.error_next, ())
        elif not turn.config.is_parallel:
            turn.finish("completed", f"stage '{agent.name}' failed and its error route ends the run: {error}")
        advance(turn)
        return
    turn.mark(agent.name, "failed")
    if turn.config.is_parallel and joins.failure_is_tolerated(turn.config, agent.name, turn.stages):
        advance(turn)
        return
    waits = turn.config.on_timeout if reason == "tool_failed_recoverably" else turn.config.on_system_error
    if waits == "wait" and turn.envelope.request.wait:
        kind = "timeout" if reason == "tool_failed_recoverably" else "system_error"
        turn.held = replace(turn.held, failure=Ending(reason, error, turn.at_ms))
        question = f"stage '{agent.name}' failed: {error}. Approve to run it again."
        ask(turn, InterruptRequest(kind=kind, question=question), StageName(agent.name))  # type: ignore[arg-type]
        return
    turn.finish(reason, error)
