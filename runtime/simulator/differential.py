"""Compares a run with faults to its twin without faults: the results must be equal.

Terminal reason, hops, iterations, edges and outputs are compared, with these exceptions:

- a run that its user cancelled is not compared, as its progress by then depends on timing; nor is one in which failures
  and interrupts race, so that their order decides which interrupts are raised;
- if a call was refused for lack of budget, results are compared only when the order of calls is fixed (sequential, no
  fan-out) and no attempt or grant was lost: the budget of a lost attempt, and a grant given twice, count as spent, so
  less may be left;
- a parallel run whose terminal reason is not `completed` is compared by that reason alone: the progress of its branches
  depends on timing;
- the outputs of racing branches (join `any`) are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from runtime.run.envelope import Envelope
from runtime.simulator.run_history import Record
from runtime.simulator.simulated_system import System
from runtime.supervision.events import ActorLost, RunAdopted

Level = Literal["full", "reason", "none"]
Finding = tuple[str, str]

_COMPARED: dict[Level, tuple[str, ...]] = {
    "full": ("reason", "hops", "iterations", "edges", "outputs"),
    "reason": ("reason",),
    "none": (),
}


def level_of(system: System, twin: System, record: Record) -> Level:
    """Return how much of a run must be equal to its twin."""
    config, run_id = system.scenario.config, record.run_id
    if record.planned.person.cancels_ms is not None or system.scenario.depends_on_time:
        return "none"
    if system.books.runs[run_id].refusals or twin.books.runs[run_id].refusals:
        given_order = not config.is_parallel and all(agent.foreach is None for agent in config.agents)
        lost = any(isinstance(event.payload, ActorLost | RunAdopted) for event in record.log)
        lost = lost or system.books.runs[run_id].asked_again > 0
        if lost or not given_order:
            return "none"
    if config.is_parallel and twin.envelope(run_id).terminal_reason != "completed":
        return "reason"
    return "full"


def other_result(system: System, twin: System, record: Record, level: Level) -> Iterator[Finding]:
    """Yield the differences between a run's result and its twin's that its level does not allow."""
    mine, its = _result(system, record.envelope), _result(system, twin.envelope(record.run_id))
    for name in _COMPARED[level]:
        if mine[name] != its[name]:
            yield "same_result", f"{record.run_id}: {name} is {mine[name]}, undisturbed {its[name]}"


def ended_too_early(twin: System, record: Record) -> Iterator[Finding]:
    """Yield a finding if a run without faults ended at a bound before it had used all that the bound permits."""
    envelope, config = twin.envelope(record.run_id), twin.scenario.config
    if config.is_parallel or any(agent.foreach is not None for agent in config.agents):
        return
    bounds, usage, book = envelope.bounds, envelope.usage, twin.books.runs[record.run_id]
    used = {
        "max_llm_calls_exceeded": (book.llm_calls, bounds.max_llm_calls),
        "max_agent_hops_exceeded": (usage.agent_hops, bounds.max_agent_hops),
        "max_iterations_exceeded": (usage.iterations, bounds.max_iterations),
    }
    made, allowed = used.get(str(envelope.terminal_reason), (0, 0))
    if made != allowed:
        yield "bounds", f"{record.run_id} (undisturbed): {envelope.terminal_reason} after {made}, limit {allowed}"


def _result(system: System, envelope: Envelope) -> dict[str, Any]:
    return {
        "reason": envelope.terminal_reason,
        "hops": envelope.usage.agent_hops,
        "iterations": envelope.usage.iterations,
        "edges": envelope.usage.edges,
        "outputs": {key: value for key, value in envelope.outputs.items() if key not in system.scenario.racers},
    }
