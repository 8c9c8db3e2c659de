"""Joins: which stages of a parallel run may start, which never can, and who lost a race. Pure look-ups.

A stage of a parallel pipeline belongs to every run when it requires something, or when nothing routes to it; the others
join a run when they are routed to. docs/semantics.md tells the rules with their tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from runtime.envelope import StageStatus
from runtime.pipeline import END, AgentConfig, PipelineConfig

JoinState = Literal["ready", "waiting", "impossible"]
Statuses = Mapping[str, StageStatus]

BUSY: frozenset[str | None] = frozenset({"active", "asking"})
SETTLED: frozenset[str | None] = frozenset({"success", "failed", "handled", "cancelled"})
UNUSABLE: frozenset[str | None] = SETTLED - {"success"}


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
    return any(
        (name in statuses or name in config.scheduled_names) and statuses.get(name) not in SETTLED
        for name in agent.after
    )


def startable(config: PipelineConfig, statuses: Statuses) -> list[str]:
    """Scheduled stages that have not run and may start now, in stage order."""
    return [
        agent.name
        for agent in config.scheduled
        if agent.name not in statuses
        and join_state(agent, statuses) == "ready"
        and not is_held_back(agent, config, statuses)
    ]


def unsatisfied(config: PipelineConfig, statuses: Statuses) -> list[str]:
    """Scheduled stages that have not run; when nothing is in flight any more, they never will."""
    return [agent.name for agent in config.scheduled if agent.name not in statuses]


def losers(config: PipelineConfig, winner_of: AgentConfig, statuses: Statuses) -> list[str]:
    """What a stage with join `any` no longer needs when it starts: the branches behind its other requirements, as far
    as they have not settled, save what some other stage still waits for and what routes onwards by itself."""
    if winner_of.join_strategy != "any":
        return []
    lost: list[str] = []
    candidates = list(winner_of.requires)
    while candidates:
        name = candidates.pop(0)
        waited_for = {
            required
            for agent in config.scheduled
            if agent.name not in statuses and agent.name not in lost and agent.name != winner_of.name
            for required in agent.requires
        }
        if name in lost or name in waited_for or statuses.get(name) in SETTLED:
            continue
        lost.append(name)
        candidates += [
            required
            for required in config.stages[name].requires
            if set(config.targets_of(config.stages[required])) == {END}
        ]
    return lost


def lost_with(config: PipelineConfig, failed: str, statuses: Statuses) -> list[str] | None:
    """The stages that can never start now that `failed` has failed, if the run can do without all of them.

    It can when each stage that requires a lost one may still start, or is itself lost and can be done without. None
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
    return lost


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
