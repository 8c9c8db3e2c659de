"""Decides on which node each actor of a system starts: pure, from the nodes and the settings.

The node is a wish: when it dies, or has no room, Ray starts the actor on another one. Only the resource that nodes must
offer, and what an agent claims, hold for ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from actors.resource_claims import claimed_by
from runtime.errors import ClusterError

Spread = Literal["near", "spread"]

# How Ray binds an actor to nodes with a resource without using the resource up.
SHARE_OF_NODE = 0.001


class Placement(msgspec.Struct, frozen=True):
    """Says where the actors of a system start: `near` the process that starts it, or `spread` over the nodes.

    `nodes`: a custom resource that a node must offer to get any of them; None for every node.
    """

    agents: Spread = "near"
    supervisors: Spread = "near"
    nodes: str | None = None


class ClusterNode(NamedTuple):
    """Describes a node that is alive. `resources`: all that it offers, under Ray's names."""

    node_id: str
    resources: Mapping[str, float]


class PlaceRequest(NamedTuple):
    """Names an actor that is to start, whether it is spread, and the options of its claim."""

    name: str
    kind: str
    spread: Spread
    claim: Mapping[str, Any]


def bound_claim(claim: Mapping[str, Any], placement: Placement) -> dict[str, Any]:
    """Return the options of a Ray actor with that claim, bound to the nodes on which the system may run."""
    if placement.nodes is None:
        return dict(claim)
    return {**claim, "resources": {placement.nodes: SHARE_OF_NODE, **claim.get("resources", {})}}


def places_of(requests: Sequence[PlaceRequest], nodes: Sequence[ClusterNode], near: str) -> dict[str, str]:
    """Return the node of each actor by name; those that no node has room for are left to Ray.

    Actors of one kind that are spread take the nodes in turn, beginning with `near`, the node of the process that
    starts them. The others go there too if it offers what they claim.
    """
    in_turn = sorted(nodes, key=lambda node: (node.node_id != near, node.node_id))
    taken: Counter[tuple[str, tuple[str, ...]]] = Counter()
    places: dict[str, str] = {}
    for request in requests:
        claimed = claimed_by(request.claim)
        fitting = [node for node in in_turn if _offers(node, claimed)]
        if not fitting:
            continue
        # A kind takes turns over each set of nodes by itself, so that a claim of one stage does not unbalance others.
        turn = (request.kind, tuple(node.node_id for node in fitting))
        number = taken[turn] if request.spread == "spread" else 0
        taken[turn] += 1
        places[request.name] = fitting[number % len(fitting)].node_id
    return places


def check_nodes(placement: Placement, nodes: Sequence[ClusterNode]) -> None:
    """Raise ClusterError when no node offers the resource that nodes must offer: Ray would wait for one silently."""
    wanted = placement.nodes
    if wanted is None or any(node.resources.get(wanted, 0) >= SHARE_OF_NODE for node in nodes):
        return
    there = sorted({name for node in nodes for name in node.resources if ":" not in name})
    raise ClusterError(
        f"no node of the cluster offers the resource '{wanted}' (`ray.nodes`); its nodes ({len(nodes)}) offer "
        f"{', '.join(there)}; start a node with it (`ray start --resources`), or correct the setting",
        wanted=wanted,
        offered=there,
    )


def _offers(node: ClusterNode, claimed: Mapping[str, float]) -> bool:
    return all(node.resources.get(name, 0) >= amount for name, amount in claimed.items())
