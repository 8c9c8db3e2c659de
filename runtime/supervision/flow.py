"""Moves a run through its pipeline: stages, edges, joins, fan-outs and questions to a person.

Sequential and parallel pipelines share these steps; only `advance`, which starts every stage whose dependencies allow
it, is for parallel ones. Every function takes the `Transition` and leaves it consistent.
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
from runtime.run.interrupts import REASON_WITHOUT_WAITING, question_in
from runtime.run.routing import next_move
from runtime.supervision.state import Ending, FanOut, Held, InFlight, Question
from runtime.supervision.transitions import NO_USAGE, Transition

MAX_ITEMS = 1_000

replace = msgspec.structs.replace


def begin(transition: Transition) -> None:
    """Start the run: the first stage, or every stage of a parallel run that has nothing to wait for."""
    transition.envelope = replace(transition.envelope, lifecycle="running")
    if transition.config.is_parallel:
        advance(transition)
    else:
        enter(transition, transition.config.first_stage.name)


def enter(transition: Transition, target: str) -> None:
    """Execute `target` next, or as soon as possible: a waiting run and a stage at work are entered afterwards."""
    if transition.is_over or transition.ending is not None:
        return
    name = StageName(target)
    agent = transition.config.stages[target]
    if transition.envelope.lifecycle != "running":
        transition.held = replace(transition.held, entries=(*transition.held.entries, name))
        return
    if transition.stages.get(target) in joins.BUSY:
        transition.revisits = (*transition.revisits, name)
        return
    if joins.join_state(agent, transition.stages) != "ready":
        if transition.config.is_parallel:
            transition.stages.pop(target, None)  # `advance` starts it when what it requires is there
        else:
            end_unsatisfied(transition, [target])
        return
    if transition.config.is_parallel and joins.is_held_back(agent, transition.config, transition.stages):
        transition.revisits = (*transition.revisits, name)
        return
    blocked = blocked_hop(transition.config, transition.envelope, target)
    if blocked is not None:
        end_by_bound(transition, blocked, None)
        return
    _visit(transition, agent)


def _visit(transition: Transition, agent: AgentConfig) -> None:
    usage = replace(transition.envelope.usage, agent_hops=transition.envelope.usage.agent_hops + 1)
    name = StageName(agent.name)
    transition.envelope = replace(transition.envelope, usage=usage, current_stage=name)
    if transition.config.is_parallel:
        if agent.name in transition.stages:
            _make_stale(transition, agent.name)
        for loser in joins.losers(transition.config, agent, transition.stages):
            _cancel_visit(transition, loser)
    entry = InFlight(StageKey(transition.envelope.run_id, usage.agent_hops), name, Grant(), transition.at_ms)
    if agent.foreach is None:
        transition.issue(entry)
    else:
        _fan_out(transition, agent, entry)


def _make_stale(transition: Transition, stage: str) -> None:
    """Undo the stages built on the last visit of a stage; they are to run again."""
    for name in sorted(joins.dependants(transition.config, stage)):
        _cancel_visit(transition, name)
        transition.stages.pop(name, None)


def _cancel_visit(transition: Transition, stage: str) -> None:
    """Cancel a visit that is no longer needed, with its question and its planned revisits."""
    transition.drop(stage, "cancelled")
    transition.revisits = tuple(name for name in transition.revisits if name != stage)
    transition.held = Held(
        entries=tuple(name for name in transition.held.entries if name != stage),
        questions=tuple(question for question in transition.held.questions if question.stage != stage),
    )


def move(transition: Transition, source: str, target: str, clear: tuple[str, ...]) -> None:
    """Take the edge source → target and enter the target, or end by the bound that forbids it."""
    waits = (
        transition.config.is_parallel
        and joins.join_state(transition.config.stages[target], transition.stages) != "ready"
    )
    blocked = blocked_edge(transition.config, transition.envelope, source, target)
    if blocked is None and not waits:
        blocked = blocked_hop(transition.config, transition.envelope, target)
    if blocked is not None:
        end_by_bound(transition, blocked, source)
        return
    name = edge_name(source, target)
    usage = transition.envelope.usage
    usage = replace(
        usage,
        edges={**usage.edges, name: usage.edges.get(name, 0) + 1},
        iterations=usage.iterations + is_loop_back(transition.config, source, target),
    )
    transition.envelope = replace(transition.envelope, usage=usage)
    transition.clear(clear)
    enter(transition, target)


def route(transition: Transition, agent: AgentConfig, output: Mapping[str, Any]) -> None:
    """Follow the route that the stage's output selects. In a parallel run `end` ends one branch."""
    chosen = next_move(agent, output)
    if chosen.target == END:
        transition.clear(chosen.clear)
        if not transition.config.is_parallel:
            transition.finish("completed", None)
    elif chosen.target in INTERRUPT_TARGETS:
        transition.clear(chosen.clear)
        ask(transition, Question(StageName(agent.name), question_in(chosen.target, output)))
    else:
        move(transition, agent.name, chosen.target, chosen.clear)
    advance(transition)


def advance(transition: Transition) -> None:
    """Start every stage of a parallel run that may start now; end the run when nothing is left to do."""
    if not transition.config.is_parallel:
        return
    again, transition.revisits = transition.revisits, ()
    for name in again:
        enter(transition, name)
    while transition.envelope.lifecycle == "running" and transition.ending is None:
        ready = joins.startable(transition.config, transition.stages)
        if not ready:
            break
        enter(transition, ready[0])
    if transition.envelope.lifecycle != "running" or transition.ending is not None:
        return
    if transition.in_flight or transition.instant or transition.held.entries or transition.held.questions:
        return
    stuck = [*joins.unsatisfied(transition.config, transition.stages), *transition.revisits]
    if stuck:
        end_unsatisfied(transition, stuck)
    else:
        transition.finish("completed", None)


def end_unsatisfied(transition: Transition, stuck: list[str]) -> None:
    """End the run, naming each stage that can never start and the stages that it lacks."""
    lacks = []
    for name in dict.fromkeys(stuck):
        agent = transition.config.stages[name]
        missing = [other for other in agent.requires if transition.stages.get(other) != "success"]
        missing += [other for other in agent.after if transition.stages.get(other) not in joins.SETTLED]
        lacks.append(f"stage '{name}' lacks {', '.join(repr(other) for other in missing)}")
    transition.finish("unsatisfiable_dependencies", "; ".join(lacks))


def end_by_bound(transition: Transition, blocked: Blocked, source: str | None) -> None:
    """End the run by a bound; the final stage, where there is one, still reports what was found.

    When it is at work already, it continues alone. A further bound that the final stage hits changes nothing: the first
    one is the reason.
    """
    final = transition.config.final_stage
    if transition.ending is not None:
        transition.finish(transition.ending.reason, transition.ending.detail)
        return
    if final is None or source == final:
        transition.finish(blocked.reason, blocked.detail)
        return
    is_at_work = any(entry.stage == final and not entry.waiting_retry for entry in transition.in_flight.values())
    if not is_at_work and blocked_hop(transition.config, transition.envelope, final) is not None:
        transition.finish(blocked.reason, blocked.detail)
        return
    asking = [question.stage for question in transition.held.questions if question.stage is not None]
    for stage in [*transition.at_work, *asking]:
        if stage != final or not is_at_work:
            transition.drop(stage, "cancelled")
    transition.close_interrupt("cancelled")
    transition.held = Held()
    transition.ending = Ending(blocked.reason, blocked.detail, transition.at_ms)
    transition.envelope = replace(transition.envelope, lifecycle="running")
    if not is_at_work:
        _visit(transition, transition.config.stages[final])


def ask(transition: Transition, question: Question) -> None:
    """Queue a question to the caller: the run waits, or ends if its caller does not wait."""
    if question.stage is not None:
        transition.mark(question.stage, "asking")
    transition.held = replace(transition.held, questions=(*transition.held.questions, question))
    if transition.envelope.lifecycle == "running":
        _raise_next(transition)


def _raise_next(transition: Transition) -> None:
    question = transition.held.questions[0]
    request = question.request
    number = transition.envelope.interrupts_raised + 1
    life_ms = TIME_TO_LIVE_MS[request.kind]
    interrupt = Interrupt(
        id=f"{transition.envelope.run_id}-q{number}",
        kind=request.kind,
        question=request.question,
        stage=question.stage,
        message=request.message,
        data=request.data,
        created_at_ms=transition.at_ms,
        expires_at_ms=None if life_ms is None else transition.at_ms + life_ms,
    )
    transition.envelope = replace(transition.envelope, interrupt=interrupt, interrupts_raised=number)
    transition.show_interrupt()
    is_pause = question.stage is None
    if not transition.envelope.request.wait and not is_pause:
        transition.finish(REASON_WITHOUT_WAITING[request.kind], request.question)
        return
    transition.envelope = replace(transition.envelope, lifecycle="waiting")
    if interrupt.expires_at_ms is not None:
        transition.set_timer(f"interrupt:{interrupt.id}", interrupt.expires_at_ms)


def open_question(transition: Transition) -> Question | None:
    """Return the held question of the run's interrupt; None when the stage that asked was cancelled since.

    A stage holds at most one question, and a pause, which has no stage, is never cancelled: so the stage identifies it.
    """
    interrupt = transition.envelope.interrupt
    if interrupt is None:
        return None
    return next((question for question in transition.held.questions if question.stage == interrupt.stage), None)


def withdraw_moot_question(transition: Transition) -> None:
    """Close the open question when its stage was cancelled or has lost its race, and raise the next one.

    With none left the run continues once there is room for it: it took up none while it waited.
    """
    while (loser := _losing_asker(transition)) is not None:
        _cancel_visit(transition, loser)
    if transition.envelope.lifecycle != "waiting" or open_question(transition) is not None:
        return
    transition.close_interrupt("cancelled")
    if transition.held.questions:
        _raise_next(transition)
    else:
        transition.envelope = replace(transition.envelope, lifecycle="ready")


def _losing_asker(transition: Transition) -> str | None:
    """Return the stage of the first question, if its race is won: the winner starts as soon as the run continues.

    A result that was confirmed before that has won as well, and takes effect.
    """
    if (
        transition.envelope.lifecycle not in {"waiting", "ready"}
        or not transition.config.is_parallel
        or not transition.held.questions
    ):
        return None
    question, interrupt = transition.held.questions[0], transition.envelope.interrupt
    is_settled = question is open_question(transition) and interrupt is not None and interrupt.status != "pending"
    if question.stage is None or (is_settled and question.unapproved is not None):
        return None
    for winner in joins.startable(transition.config, transition.stages):
        if question.stage in joins.losers(transition.config, transition.config.stages[winner], transition.stages):
            return question.stage
    return None


def resume(transition: Transition, question: Question) -> None:
    """Continue after an answer, or without one, at the stage that this kind of question resumes at."""
    if question.stage is not None:
        transition.mark(question.stage, "success" if question.failure is None else "failed")
    resume_at = transition.config.resume_stage(question.request.kind) or question.stage
    if resume_at is not None:
        enter(transition, resume_at)


def stop_waiting(transition: Transition) -> Question | None:
    """Set the run running; return the question that was settled, unless its stage was cancelled meanwhile."""
    settled = open_question(transition)
    others = tuple(question for question in transition.held.questions if question is not settled)
    transition.held = replace(transition.held, questions=others)
    transition.envelope = replace(transition.envelope, lifecycle="running")
    return settled


def resume_held(transition: Transition) -> None:
    """Enter the stages held back while the run waited, then raise the next question, if there is one."""
    entries = transition.held.entries
    transition.held = replace(transition.held, entries=())
    for name in entries:
        enter(transition, name)
    advance(transition)
    if transition.envelope.lifecycle == "running" and transition.ending is None and transition.held.questions:
        _raise_next(transition)


def _fan_out(transition: Transition, agent: AgentConfig, entry: InFlight) -> None:
    """Run the stage once per item, `foreach_concurrency` at a time.

    A visit without items, or with something else than a list, is over at once. Its consequences are decided after the
    current event: a chain of such visits must not nest.
    """
    items = _items(transition.envelope.outputs, str(agent.foreach))
    if isinstance(items, list) and 0 < len(items) <= MAX_ITEMS:
        first = min(agent.foreach_concurrency, len(items))
        transition.fan_outs[agent.name] = FanOut(hop=entry.key.hop, items=tuple(items), next_item=first)
        for index in range(first):
            transition.issue(replace(entry, key=replace(entry.key, item=index)))
        return
    error = None
    if items != []:
        found = f"{len(items)} items, limit {MAX_ITEMS}" if isinstance(items, list) else f"a {type(items).__name__}"
        error = f"stage '{agent.name}' runs for each of '{agent.foreach}', which is {found}"
    transition.in_flight[str(entry.key)] = entry
    transition.settle(entry, "error" if error else "skipped", NO_USAGE, error)
    transition.mark(agent.name, "active")
    transition.instant.append((agent, entry.key, error))


def issue_next_item(transition: Transition, stage: StageName) -> None:
    """Issue the next item of a fan-out to its agent, if one is left."""
    fan_out = transition.fan_outs[stage]
    if fan_out.next_item >= len(fan_out.items):
        return
    key = StageKey(transition.envelope.run_id, fan_out.hop, fan_out.next_item)
    transition.fan_outs[stage] = replace(fan_out, next_item=fan_out.next_item + 1)
    transition.issue(InFlight(key, stage, Grant(), transition.at_ms))


def _items(outputs: Mapping[str, Any], path: str) -> Any:
    value: Any = outputs
    for part in path.split(".")[1:]:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def fail(
    transition: Transition, agent: AgentConfig, reason: TerminalReason, error: str, is_timeout: bool = False
) -> None:
    """Handle a stage's final failure: take its error route, continue without it where the joins allow, or end."""
    status: StageStatus = "failed" if agent.error_next is None else "handled"
    transition.mark(agent.name, status)
    if transition.ending is not None:
        transition.finish(transition.ending.reason, transition.ending.detail)
    elif agent.error_next is not None:
        _take_error_route(transition, agent, agent.error_next, error)
    elif _continues_without(transition, agent):
        advance(transition)
    else:
        _wait_or_end(transition, agent, Ending(reason, error, transition.at_ms), is_timeout)


def _take_error_route(transition: Transition, agent: AgentConfig, target: str, error: str) -> None:
    if target != END:
        move(transition, agent.name, target, ())
    elif not transition.config.is_parallel:
        transition.finish("completed", f"stage '{agent.name}' failed and its error route ends the run: {error}")
    advance(transition)


def _continues_without(transition: Transition, agent: AgentConfig) -> bool:
    """Return True when the run can do without the failed stage; cancel the stages that depend on it alone."""
    lost = (
        joins.lost_after_failure(transition.config, agent.name, transition.stages)
        if transition.config.is_parallel
        else None
    )
    for name in lost or ():
        _cancel_visit(transition, name)
    return lost is not None


def _wait_or_end(transition: Transition, agent: AgentConfig, failure: Ending, is_timeout: bool) -> None:
    what_then = transition.config.on_timeout if is_timeout else transition.config.on_system_error
    if what_then == "end" or not transition.envelope.request.wait:
        transition.finish(failure.reason, failure.detail)
        return
    kind: InterruptKind = "timeout" if is_timeout else "system_error"
    request = InterruptRequest(kind, f"stage '{agent.name}' failed: {failure.detail}. Approve to run it again.")
    ask(transition, Question(StageName(agent.name), request, failure=failure))
