"""Decides which stages of a parallel run may start, which never can, and which lost a race. Pure.

A stage of a parallel pipeline belongs to every run when it requires something, or when no route leads to it; other
stages join a run when they are routed to. docs/semantics.md has the rules with their tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from runtime.pipeline.config import END, AgentConfig, PipelineConfig
from runtime.run.envelope import StageStatus

JoinState = Literal["ready", "waiting", "impossible"]
Statuses = Mapping[str, StageStatus]

BUSY: frozenset[str | None] = frozenset({"active", "asking"})
SETTLED: frozenset[str | None] = frozenset({"success", "failed", "handled", "cancelled"})
UNUSABLE: frozenset[str | None] = SETTLED - {"success"}


def join_state(agent: AgentConfig, statuses: Statuses) -> JoinState:
    """Return whether the requirements of `agent` are met: all of them, or for `any` the first success."""
    if not agent.requires:
        return "ready"
    states = [statuses.get(name) for name in agent.requires]
    if agent.join_strategy == "any":
        if "success" in states:
            return "ready"
        return "impossible" if all(state in UNUSABLE for state in states) else "waiting"
    if any(state in UNUSABLE for state in states):
        return "impossible"
    return "ready" if all(state == "success" for state in states) else "waiting"


def is_held_back(agent: AgentConfig, config: PipelineConfig, statuses: Statuses) -> bool:
    """Return True while a stage that `agent` comes `after` is part of the run and has not settled."""
    return any(
        (name in statuses or name in config.scheduled_names) and statuses.get(name) not in SETTLED
        for name in agent.after
    )


def startable(config: PipelineConfig, statuses: Statuses) -> list[str]:
    """Return scheduled stages that have not run and may start now, in stage order."""
    return [
        agent.name
        for agent in config.scheduled
        if agent.name not in statuses
        and join_state(agent, statuses) == "ready"
        and not is_held_back(agent, config, statuses)
    ]


def unsatisfied(config: PipelineConfig, statuses: Statuses) -> list[str]:
    """Return scheduled stages that have not run; when nothing is in flight any more, they never will."""
    return [agent.name for agent in config.scheduled if agent.name not in statuses]


def losers(config: PipelineConfig, winner_of: AgentConfig, statuses: Statuses) -> list[str]:
    """Return stages that a started stage with join `any` makes needless: the branches of its other requirements."""
    if winner_of.join_strategy != "any":
        return []
    return _not_needed(config, list(winner_of.requires), {**statuses, winner_of.name: "active"})


def lost_after_failure(config: PipelineConfig, failed: str, statuses: Statuses) -> list[str] | None:
    """Return the stages that a failure makes impossible or needless, if the run can do without all of them.

    It can when each stage that requires an impossible one can start without it, or is itself dispensable. Return None
    when it cannot, and when nothing requires `failed`: then its failure is the run's.
    """
    after: dict[str, StageStatus] = {**statuses, failed: "failed"}
    lost: list[str] = []
    frontier = [failed]
    while frontier:
        name = frontier.pop(0)
        needing = [agent for agent in config.scheduled if name in agent.requires and agent.name not in after]
        if not needing and not any(name in config.stages[other].requires for other in lost):
            return None
        for agent in needing:
            if join_state(agent, after) == "impossible":
                after[agent.name] = "cancelled"
                lost.append(agent.name)
                frontier.append(agent.name)
    feeding = [name for other in lost for name in _feeding(config, other)]
    return lost + _not_needed(config, feeding, after)


def _not_needed(config: PipelineConfig, candidates: list[str], statuses: Statuses) -> list[str]:
    """Return, of the candidates and the stages that only feed them, those unsettled that no stage waits for."""
    found: list[str] = []
    while candidates:
        name = candidates.pop(0)
        waited_for = {
            required
            for agent in config.scheduled
            if agent.name not in statuses and agent.name not in found
            for required in agent.requires
        }
        if name not in found and name not in waited_for and statuses.get(name) not in SETTLED:
            found.append(name)
            candidates += _feeding(config, name)
    return found


def _feeding(config: PipelineConfig, stage: str) -> list[str]:
    """Return the requirements of `stage`, except stages that also route onwards and so serve another purpose."""
    return [name for name in config.stages[stage].requires if set(config.targets_of(config.stages[name])) == {END}]


def dependants(config: PipelineConfig, stage: str) -> set[str]:
    """Return every stage that requires `stage` directly or indirectly; a new visit of `stage` makes them stale."""
    found: set[str] = set()
    frontier = [stage]
    while frontier:
        name = frontier.pop()
        for agent in config.agents:
            if name in agent.requires and agent.name not in found:
                found.add(agent.name)
                frontier.append(agent.name)
    found.discard(stage)
    return found
