"""Defines the addresses of endpoints on the bus, which are also their actors' names in Ray.

supervisor, supervisor#2 …        one per shard; a new run goes to the shard that its id maps to
agent:<pipeline>.<stage>, …#2 …   one per replica; a visit of a stage belongs to the replica that its key maps to
bus, index, store                 one each
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from runtime.primitives.ids import DEFAULT_SYSTEM, Address, RunId, StageKey

DEFAULT_NAMESPACE = "jeeves"
NAMED_PREFIX = f"{DEFAULT_NAMESPACE}-"

BUS_NAME = "bus"
SUPERVISOR = Address("supervisor")
INDEX = Address("index")
STORE = Address("store")

RUN_STAGE = "stage.run"
CANCEL_STAGE = "stage.cancel"
GIVE_GRANT = "stage.grant"


class AgentPlace(NamedTuple):
    """Identifies an agent by pipeline, stage and replica; `replica` counts from 1."""

    pipeline: str
    stage: str
    replica: int


def namespace_of(system: str) -> str:
    """Return the Ray namespace of the actors of a system, so that several systems can share a cluster."""
    return DEFAULT_NAMESPACE if system == DEFAULT_SYSTEM else f"{NAMED_PREFIX}{system}"


def system_of(namespace: str) -> str | None:
    """Return the name of the system whose actors are in a Ray namespace; None for other namespaces."""
    if namespace == DEFAULT_NAMESPACE:
        return DEFAULT_SYSTEM
    return namespace.removeprefix(NAMED_PREFIX) if namespace.startswith(NAMED_PREFIX) else None


def supervisor_addresses(shards: int = 1) -> tuple[Address, ...]:
    """Return the addresses of the supervisors, the first shard first; `shards` is 1 or more."""
    return SUPERVISOR, *(Address(f"{SUPERVISOR}#{number}") for number in range(2, shards + 1))


def shard_of(run_id: RunId, shards: int) -> int:
    """Return the shard that a new run is submitted to, counted from 0.

    Another shard may drive it later: with another number of shards, or when its log was adopted.
    """
    return zlib.crc32(run_id.encode()) % shards


def agent_addresses(pipeline: str, stage: str, replicas: int = 1) -> tuple[Address, ...]:
    """Return the addresses of a stage's agents, the first replica first; `replicas` is 1 or more."""
    first = f"agent:{pipeline}.{stage}"
    return Address(first), *(Address(f"{first}#{number}") for number in range(2, replicas + 1))


def agent_address(pipeline: str, stage: str, key: StageKey | None = None, replicas: int = 1) -> Address:
    """Return the address of the replica for the work under `key`; without a key, the first one.

    Every attempt of one visit maps to the same replica, which so knows its earlier attempts; items of a fan-out, visits
    and runs spread over all. The choice is the same in every process.
    """
    addresses = agent_addresses(pipeline, stage, replicas)
    return addresses[0] if key is None else addresses[zlib.crc32(key.effect_key.encode()) % replicas]


def place_of(address: Address) -> AgentPlace | None:
    """Parse an address made by `agent_addresses`; None for others, such as the supervisor's."""
    kind, _, name = address.partition(":")
    pipeline, _, stage = name.partition(".")
    stage, _, replica = stage.partition("#")
    return AgentPlace(pipeline, stage, int(replica or 1)) if kind == "agent" else None


def log_keeper(keeper: str, system: str) -> str:
    """Return the start of the names of the run logs that a long-lived system keeps."""
    return keeper if system == DEFAULT_SYSTEM else f"{keeper}-{system}"
