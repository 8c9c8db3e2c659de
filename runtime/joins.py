"""Joins: which stages of a parallel run may start, which never can, and who lost a race. Pure look-ups.

A stage of a parallel pipeline belongs to every run when it requires something, or when nothing routes to it; the others
join a run when they are routed to. docs/semantics.md tells the rules with their tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from runtime.envelope import StageStatus
from runtime.pipeline import AgentConfig, PipelineConfig

JoinState = Literal["ready", "waiting", "impossible"]
Statuses = Mapping[str, StageStatus]

SETTLED: frozenset[str] = frozenset({"success", "failed", "handled", "cancelled"})
UNUSABLE: frozenset[str] = SETTLED - {"success"}


def join_state(agent: AgentConfig, statuses: Statuses) -> JoinState:
    """Whether what `agent` requires is there: all of it, or for `any` the first success."""
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
    """True while a stage that `agent` comes `after` is part of the run and has not settled."""
    part = {stage.name for stage in config.scheduled} | set(statuses)
    return any(name in part and statuses.get(name) not in SETTLED for name in agent.after)


def startable(config: PipelineConfig, statuses: Statuses) -> list[str]:
    """Scheduled stages that have not run and may start now, in stage order."""
    return [
        agent.name
        for agent in config.scheduled
        if agent.name not in statuses
        and join_state(agent, statuses) == "ready"
        and not is_held_back(agent, config, statuses)
    ]


def unsatisfied(config: PipelineConfig, statuses: Statuses) -> list[AgentConfig]:
    """Scheduled stages that have not run; when nothing is in flight any more, they never will."""
    return [agent for agent in config.scheduled if agent.name not in statuses]


def losers(config: PipelineConfig, winner_of: AgentConfig, statuses: Statuses) -> list[str]:
    """What a stage with join `any` no longer needs when it starts: its other requirements that have not settled,
    save those that some other stage still waits for."""
    if winner_of.join_strategy != "any":
        return []
    waited_for = {
        name
        for agent in config.scheduled
        if agent.name != winner_of.name and agent.name not in statuses
        for name in agent.requires
    }
    return [name for name in winner_of.requires if statuses.get(name) not in SETTLED and name not in waited_for]


def failure_is_tolerated(config: PipelineConfig, failed: str, statuses: Statuses) -> bool:
    """True when every stage that requires `failed` can still start without it, and at least one does."""
    dependants = [agent for agent in config.scheduled if failed in agent.requires and agent.name not in statuses]
    return bool(dependants) and all(join_state(agent, statuses) != "impossible" for agent in dependants)


def dependants(config: PipelineConfig, stage: str) -> set[str]:
    """Every stage that requires `stage`, or requires one that does: what a new visit of it makes stale."""
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
