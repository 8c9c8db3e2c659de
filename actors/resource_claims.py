"""Computes the resources that a system's agents claim, and checks that its cluster can provide them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.errors import ClusterError
from runtime.primitives.ids import Address

_NAMES_IN_RAY = {"num_cpus": "CPU", "num_gpus": "GPU"}


def claim_of(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Turn an agent's resources (wire form of `pipeline.config.AgentResources`) into options of a Ray actor."""
    claim: dict[str, Any] = {"num_cpus": resources.get("num_cpus", 0)}
    if resources.get("num_gpus"):
        claim["num_gpus"] = resources["num_gpus"]
    if resources.get("custom"):
        claim["resources"] = dict(resources["custom"])
    return claim


def claimed_of(config: Mapping[str, Any]) -> dict[str, float]:
    """Return the claim of one replica of an agent, under Ray's names for cluster resources."""
    return claimed_by(claim_of(config.get("resources", {})))


def claimed_by(claim: Mapping[str, Any]) -> dict[str, float]:
    """Return what the options of a Ray actor claim, under Ray's names for cluster resources."""
    named = {ray_name: float(claim.get(name, 0)) for name, ray_name in _NAMES_IN_RAY.items()}
    return {name: amount for name, amount in (named | claim.get("resources", {})).items() if amount}


def check_claims(pipelines: Iterable[Mapping[str, Any]], resources: Mapping[str, float]) -> None:
    """Raise ClusterError when a cluster with these resources (`ray.cluster_resources()`) can never start every agent.

    Ray would silently wait for a node that has the missing resources. `pipelines`: wire form.
    """
    in_all: Counter[str] = Counter()
    problems = []
    for pipeline in pipelines:
        for config in pipeline["agents"]:
            claimed = claimed_of(config)
            if short := _short(claimed, resources):
                problems.append(f"agent '{config['name']}' of pipeline '{pipeline['name']}' claims {short}")
            for name, amount in claimed.items():
                in_all[name] += amount * config.get("replicas", 1)
    if not problems and (short := _short(in_all, resources)):
        problems.append(f"all agents together claim {short}")
    if problems:
        advice = "lower the agents' `resources`, or give the cluster more"
        raise ClusterError(f"{'; '.join(problems)}; {advice}", claimed=dict(in_all))


def check_room(waiting: Mapping[Address, Mapping[str, float]], free: Mapping[str, float]) -> None:
    """Raise ClusterError when what an actor that has no process yet claims is held by other work.

    `waiting`: the claims of such actors, by their addresses; `free`: `ray.available_resources()`.
    """
    problems = [
        f"{address} waits for " + ", ".join(f"{amount:g} {name} ({free.get(name, 0):g} free)" for name, amount in short)
        for address, claimed in waiting.items()
        if (short := [(name, amount) for name, amount in claimed.items() if free.get(name, 0) < amount])
    ]
    if problems:
        advice = "end that work, lower the agents' `resources`, or add a node"
        raise ClusterError(f"other work holds what the cluster has: {'; '.join(problems)}; {advice}", free=dict(free))


def _short(claimed: Mapping[str, float], resources: Mapping[str, float]) -> str:
    return ", ".join(
        f"{amount:g} {name} (the cluster has {resources.get(name, 0):g})"
        for name, amount in claimed.items()
        if resources.get(name, 0) < amount
    )
