"""Creates and ends the actors of one Jeeves system, and finds them on a cluster.

    bus ── supervisor of each shard ── an agent actor for each replica of each stage ── index ── store

Creation does not wait: the actors' processes start in parallel, and the bus parks frames for those not connected yet.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import ray
from ray.exceptions import ActorAlreadyExistsError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from actors.addresses import (
    BUS_NAME,
    INDEX,
    STORE,
    agent_addresses,
    namespace_of,
    place_of,
    supervisor_addresses,
    system_of,
)
from actors.agent_actor import AgentActor
from actors.commbus_actor import CommBusActor
from actors.links.doors import LinksBy
from actors.placement import ClusterNode, Placement, PlaceRequest, Spread, bound_claim, check_nodes, places_of
from actors.ray_transport import namespace, this_node
from actors.resource_claims import check_claims, claim_of, claimed_of
from actors.service_actors import IndexActor, ServiceActor, StoreActor, hosted, service_queries
from actors.supervisor_actor import SupervisorActor
from actors.system import System
from runtime.agents.stage_runner import MODEL_REASONER
from runtime.bus.builtin_middleware import DEFAULT_CHAIN
from runtime.errors import ClusterError
from runtime.hosting.abandoned_runs import ABANDONED_AFTER_MS
from runtime.hosting.failure_detector import HANGS_AFTER_S, HEARTBEAT_S
from runtime.primitives.ids import DEFAULT_SYSTEM, Address

log = logging.getLogger(__name__)

CALLS_AT_ONCE = 1_000
LOG_SLOTS = 64

NO_CLAIM: Mapping[str, Any] = {"num_cpus": 0}


class SystemSpec(msgspec.Struct, frozen=True):
    """Describes a system in plain data. `pipelines`: wire form; `capabilities`: pipeline → "module:NAME".

    `keeper`: the name of its run logs; such a system adopts the unfinished runs of every log of the store that no
    living system owns. None for a system that is there for one command, writes where nobody else does right now, and
    leaves alone what others did not finish. `shards`: supervisors beside each other, each with a log of its own.
    `abandoned_after_s`: when a run without an owner, which is no durable work, is closed instead. `store`: the fields
    of `runtime.store.options.StoreOptions`; without them, SQLite files below `state_dir`. `store_parts`: those that are
    contributed to the store, as "module:NAME". `services`: those that capabilities contribute to the bus, as
    "module:NAME" with their settings. `links`: by which of them frames are carried. `is_detached`: its actors outlive
    this process, until `end_system`. `about` is returned by `System.about`. `placement`: the nodes where they start.
    """

    pipelines: list[dict[str, Any]]
    capabilities: dict[str, str]
    reasoner: str
    settings: dict[str, Any]
    state_dir: str
    index_options: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    middleware: tuple[dict[str, Any], ...] = DEFAULT_CHAIN
    links: LinksBy = True
    keeper: str | None = None
    shards: int = 1
    abandoned_after_s: float = ABANDONED_AFTER_MS / 1000
    store: dict[str, Any] = {}
    store_parts: tuple[str, ...] = ()
    services: dict[str, dict[str, Any]] = {}
    heartbeat_s: float = HEARTBEAT_S
    hangs_after_s: float = HANGS_AFTER_S
    is_detached: bool = False
    about: dict[str, Any] = {}
    placement: Placement = Placement()


def start_system(spec: SystemSpec) -> System:
    """Create every actor on the connected cluster and return at once; `System.ready` waits for them.

    Raises ClusterError when the cluster can never have them all.
    """
    if any(claimed_of(config) for pipeline in spec.pipelines for config in pipeline["agents"]):
        check_claims(spec.pipelines, ray.cluster_resources())  # type: ignore[no-untyped-call]
    agents = [
        (address, str(pipeline["name"]), config)
        for pipeline in spec.pipelines
        for config in pipeline["agents"]
        for address in agent_addresses(pipeline["name"], config["name"], config.get("replicas", 1))
    ]
    shards = supervisor_addresses(spec.shards)
    answered: dict[Address, tuple[str, ...]] = dict.fromkeys([*shards, *(address for address, _, _ in agents)], ())
    services = {name: hosted(name) for name in spec.services}
    contributed = {service.address: service.queries for service in services.values()}
    expected = answered | service_queries(spec.store_parts) | contributed
    beats = (spec.hangs_after_s, spec.heartbeat_s)
    claims = {address: claim_of(config.get("resources", {})) for address, _, config in agents}
    places = _places(spec, shards, (INDEX, STORE, *contributed), claims)
    create = partial(_create, spec.placement, places, lifetime="detached" if spec.is_detached else None)
    bus = create(CommBusActor, BUS_NAME, expected, spec.middleware, None, shards, *beats, spec.links)
    index = create(IndexActor, INDEX, f"{spec.state_dir}/index", spec.index_options, spec.links)
    watched = (BUS_NAME, INDEX, STORE, *contributed, *(address for address, _, _ in agents))
    supervisors = [create(SupervisorActor, *told) for told in _supervisors(spec, shards, watched)]
    store = create(StoreActor, STORE, _store_of(spec), spec.store_parts, spec.limits, spec.links)
    others = []
    for address, pipeline_name, config in agents:
        arguments = (address, config, spec.capabilities[pipeline_name], spec.reasoner, spec.settings)
        others.append(create(AgentActor, address, *arguments, claim=claims[address]))
    hosts = [
        create(ServiceActor, service.address, name, spec.services[name], _store_of(spec))
        for name, service in services.items()
    ]
    claiming = {
        address: (actor, claimed)
        for (address, _, config), actor in zip(agents, others, strict=True)
        if (claimed := claimed_of(config))
    }
    return System(bus, supervisors, index, store, [store, *hosts, *others], others, claiming)


def _places(
    spec: SystemSpec, shards: Sequence[str], services: Sequence[str], claims: Mapping[Address, dict[str, Any]]
) -> dict[str, str]:
    """Return the node of each actor by name; empty on a cluster of one node. Raises ClusterError."""
    nodes = [
        ClusterNode(node["NodeID"], node["Resources"])
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    ]
    placement = spec.placement
    check_nodes(placement, nodes)
    if len(nodes) == 1:
        return {}

    def request(name: str, kind: str, spread: Spread = "near", claim: Mapping[str, Any] = NO_CLAIM) -> PlaceRequest:
        return PlaceRequest(name, kind, spread, bound_claim(claim, placement))

    requests = [
        *(request(name, "service") for name in (BUS_NAME, *services)),
        *(request(address, "supervisor", placement.supervisors) for address in shards),
        *(request(address, "agent", placement.agents, claim) for address, claim in claims.items()),
    ]
    return places_of(requests, nodes, this_node())


def _supervisors(spec: SystemSpec, shards: tuple[Address, ...], watched: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the name and the arguments of each supervisor."""
    system_id = secrets.token_hex(8)
    for number, address in enumerate(shards):
        ownership = {
            "system_id": system_id,
            "store": _store_of(spec),
            "log_names": _log_names(spec, number),
            "adopts": spec.keeper is not None,
            "shard": number,
            "shards": spec.shards,
            "abandoned_after_s": spec.abandoned_after_s,
            "heartbeat_s": spec.heartbeat_s,
            "hangs_after_s": spec.hangs_after_s,
            "calls_models": spec.reasoner == MODEL_REASONER,
            "links": spec.links,
            "about": spec.about,
        }
        # The first shard watches on behalf of all.
        watched_here = watched if number == 0 else ()
        yield address, address, spec.pipelines, ownership, spec.limits, watched_here


def _store_of(spec: SystemSpec) -> dict[str, Any]:
    return spec.store or {"folder": spec.state_dir}


def _log_names(spec: SystemSpec, number: int) -> list[str]:
    if spec.keeper is not None:
        # A further one while the lease of a predecessor lasts, or beside another system of that name.
        return [f"{spec.keeper}-{number}", *(f"{spec.keeper}-{number}-{slot}" for slot in range(2, LOG_SLOTS))]
    return [f"one-off-{number}-{slot}" for slot in range(LOG_SLOTS)]


def attach_system(system: str = DEFAULT_SYSTEM) -> System:
    """Return the system of that name on the connected cluster. Raises ClusterError when there is none."""
    space = namespace_of(system)
    there = _actors_by_namespace().get(space, set())
    names = [BUS_NAME, INDEX, STORE, supervisor_addresses()[0]]
    if not there.issuperset(names):
        raise ClusterError(f"no jeeves system named '{system}' runs on this cluster; start it with `jeeves up`")
    shards = [address for address in supervisor_addresses(len(there)) if address in there]
    bus, index, store, *supervisors = (ray.get_actor(name, namespace=space) for name in [*names[:3], *shards])
    agents = [ray.get_actor(name, namespace=space) for name in sorted(there) if place_of(Address(name))]
    return System(bus, supervisors, index, store, [], agents)


def systems_on_cluster() -> list[str]:
    """Return the names of the systems on the connected cluster, except those of single commands; sorted."""
    found = {system_of(space) for space, names in _actors_by_namespace().items() if BUS_NAME in names}
    return sorted(name for name in found if name is not None)


def end_system(system: str) -> int:
    """End every actor of a system on the connected cluster, and no other; return how many there were."""
    space = namespace_of(system)
    names = _actors_by_namespace().get(space, set())
    for name in names:
        try:
            ray.kill(ray.get_actor(name, namespace=space), no_restart=True)
        except ValueError as error:
            log.info("system.actor_gone", extra={"address": name, "reason": str(error)})
    return len(names)


def _actors_by_namespace() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in ray.util.list_named_actors(all_namespaces=True):
        found.setdefault(entry["namespace"], set()).add(entry["name"])
    return found


def _name_taken() -> ClusterError:
    system = system_of(namespace())
    return ClusterError(
        f"a jeeves system named '{system}' runs on this cluster already; end it with `jeeves down --system {system}`, "
        "or choose another name with --system"
    )


def _create(
    placement: Placement,
    places: Mapping[str, str],
    kind: type,
    name: str,
    *arguments: Any,
    claim: Mapping[str, Any] = NO_CLAIM,
    lifetime: str | None = None,
) -> Any:
    options = {
        **bound_claim(claim, placement),
        "name": name,
        "namespace": namespace(),
        "max_concurrency": CALLS_AT_ONCE,
        "max_restarts": -1,
        "max_task_retries": 0,
        "lifetime": lifetime,
    }
    if name in places:
        # Soft: after the death of that node, and when it is full, Ray takes another. An actor that claims nothing is
        # started on any node, whatever Ray is told (tried on 2.60); every node has a byte of memory.
        wish = NodeAffinitySchedulingStrategy(places[name], soft=True, _spill_on_unavailable=True)
        options |= {"scheduling_strategy": wish, "memory": 1}
    try:
        return ray.remote(kind).options(**options).remote(*arguments)
    except ActorAlreadyExistsError as error:
        raise _name_taken() from error
