"""Creates and finds the actors of one Jeeves system, and calls them on behalf of the doors.

    bus ── supervisor of each shard ── an agent actor for each replica of each stage ── index ── store

Creation does not wait: the actors' processes start in parallel, and the bus parks frames for those not connected yet.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping
from functools import partial
from typing import Any, cast

import msgspec
import ray
from ray.exceptions import ActorAlreadyExistsError, RayError

from actors.actor_calls import call_actor, wait_until_answering
from actors.addresses import (
    BUS_NAME,
    INDEX,
    STORE,
    agent_addresses,
    namespace_of,
    place_of,
    shard_of,
    supervisor_addresses,
    system_of,
)
from actors.agent_actor import AgentActor
from actors.commbus_actor import CommBusActor
from actors.ray_transport import namespace
from actors.resource_claims import check_claims, claim_of, claimed_of
from actors.service_actors import IndexActor, ServiceActor, StoreActor, hosted, service_queries
from actors.supervisor_actor import SupervisorActor
from runtime.agents.live_text import Marks, with_event
from runtime.agents.stage_runner import MODEL_REASONER
from runtime.bus.builtin_middleware import DEFAULT_CHAIN
from runtime.codebase.index.service import Progress
from runtime.errors import ClusterError, InputError, InterruptError, JeevesError, OwnedError
from runtime.hosting.abandoned_runs import ABANDONED_AFTER_MS
from runtime.hosting.failure_detector import HANGS_AFTER_S, HEARTBEAT_S
from runtime.llm.call_metrics import ModelStats
from runtime.memory.tool_metrics import ToolHealth
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import DEFAULT_SYSTEM, Address, RunId, new_run_id
from runtime.run.envelope import Envelope, InterruptResponse, Request, decode_envelope
from runtime.supervision.commands import ClientEvent
from runtime.tools.tool_host import TOOL_HEALTH

log = logging.getLogger(__name__)

LONG_POLL_S = 10.0
STATS_TIMEOUT_S = 2.0
CALLS_AT_ONCE = 1_000
LOG_SLOTS = 64
PLACES_KEPT = 10_000

NO_CLAIM: Mapping[str, Any] = {"num_cpus": 0}

_STATS_DECODER = msgspec.msgpack.Decoder(ModelStats)
_EVENTS_DECODER = msgspec.msgpack.Decoder(list[ClientEvent])


class SystemSpec(msgspec.Struct, frozen=True):
    """Describes a system in plain data. `pipelines`: wire form; `capabilities`: pipeline → "module:NAME".

    `keeper`: the name of its run logs; such a system adopts the unfinished runs of every log of the store that no
    living system owns. None for a system that is there for one command, writes where nobody else does right now, and
    leaves alone what others did not finish. `shards`: supervisors beside each other, each with a log of its own.
    `abandoned_after_s`: when a run without an owner, which is no durable work, is closed instead. `store`: the fields
    of `runtime.store.options.StoreOptions`; without them, SQLite files below `state_dir`. `store_parts`: those that are
    contributed to the store, as "module:NAME". `services`: those that capabilities contribute to the bus, as
    "module:NAME" with their settings. `is_detached`: its actors outlive this process, until `end_system`.
    `about` is returned by `System.about`.
    """

    pipelines: list[dict[str, Any]]
    capabilities: dict[str, str]
    reasoner: str
    settings: dict[str, Any]
    state_dir: str
    index_options: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    middleware: tuple[dict[str, Any], ...] = DEFAULT_CHAIN
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


class System:
    """Holds handles to a running system. Its calls are idempotent: processes may die during any of them."""

    def __init__(
        self,
        bus: Any,
        supervisors: list[Any],
        index: Any,
        store: Any,
        others: list[Any],
        agents: list[Any] | None = None,
    ) -> None:
        self._agents = agents or []
        self._bus = bus
        self._supervisors = supervisors
        self._index = index
        self._store = store
        self._others = others
        self._clock = SystemClock()
        self._places: dict[RunId, Any] = {}

    async def submit(self, request: Request, run_id: RunId | None = None) -> RunId:
        """Start a run; its first record is on disk when the id is returned. Raises the supervisor's errors.

        A `run_id` that any log of the store has changes nothing.
        """
        try:
            data = msgspec.msgpack.encode(request)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raise InputError(f"the request cannot be recorded: {error}") from error
        is_new = run_id is None
        run_id = run_id or new_run_id(self._clock.now_ms())
        supervisor = self._first_asked(run_id) if is_new else await self._supervisor_of(run_id)
        accepted: RunId = await call_actor(lambda: supervisor.submit.remote(data, run_id, is_new))
        self._place(run_id, supervisor)
        return accepted

    async def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncGenerator[ClientEvent, None]:
        """Yield events of a run from `after_seq` (exclusive) to its end, without a gap whichever process dies.

        Interspersed are texts that its stages are writing, which are not numbered and may be missed.
        """
        over = False
        marks: Marks = {}
        while not over:
            supervisor = await self._supervisor_of(run_id)
            asked = (run_id, after_seq, LONG_POLL_S, msgspec.msgpack.encode(marks))
            data, over = await call_actor(lambda: supervisor.wait_events.remote(*asked))  # noqa: B023
            for event in _EVENTS_DECODER.decode(data):
                after_seq = max(after_seq, event.seq)
                marks = with_event(marks, event)
                yield event

    async def events(self, run_id: RunId, after_seq: int = 0) -> tuple[list[ClientEvent], bool]:
        """Return the events after `after_seq` so far, and whether the run is over. Raises UnknownNameError."""
        data, over = await self._call(run_id, "wait_events", run_id, after_seq, 0.0)
        return _EVENTS_DECODER.decode(data), over

    async def envelope(self, run_id: RunId) -> Envelope:
        """Return the current envelope of a run. Raises UnknownNameError."""
        return decode_envelope(await self._call(run_id, "envelope", run_id))

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now; a finished run stays as it is.

        Raises UnknownNameError, and OwnedError if another living system drives it, as do the methods below.
        """
        await self._call(run_id, "cancel", run_id, reason)

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer a question of a waiting run. Raises InterruptError."""
        try:
            await self._call(run_id, "answer", run_id, interrupt_id, user_id, msgspec.msgpack.encode(response))
        except InterruptError:
            # Our answer may have been taken by a process that died before it could reply.
            if not _is_answer_of((await self.envelope(run_id)), interrupt_id, response):
                raise

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Hold a run at its next step; answering the checkpoint resumes it."""
        await self._call(run_id, "pause", run_id, reason)

    async def fork(self, source: RunId, at_seq: int) -> RunId:
        """Return a new run with the same past as `source` up to event `at_seq` (inclusive)."""
        forked: RunId = await self._call(source, "fork", source, at_seq, new_run_id(self._clock.now_ms()))
        self._place(forked, await self._supervisor_of(source))
        return forked

    async def about(self) -> dict[str, Any]:
        """Return what the system was started with, as its starter described it."""
        about: dict[str, Any] = await call_actor(self._supervisors[0].about.remote)
        return about

    async def running(self) -> int:
        """Return how many runs are not over."""
        return sum([await call_actor(supervisor.running.remote) for supervisor in self._supervisors])

    async def take(self, user_id: str, endpoint: str) -> None:
        """Count a request of a principal. Raises RateLimitedError if it asks too often, or has used up a quota."""
        await call_actor(lambda: self._store.take.remote(user_id, endpoint))

    async def model_places(self) -> dict[str, tuple[int, int, int]]:
        """Return for each deployment in use the places that are held, all of its places, and the calls that wait."""
        places: dict[str, tuple[int, int, int]] = await call_actor(self._store.places.remote)
        return places

    async def refresh_index(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        """Bring a repository's index up to date ahead of a run; cancellation ends the work on it."""
        called: list[Any] = []

        def call() -> Awaitable[Any]:
            called.append(self._index.refresh.remote(root, timeout_s))
            return cast(Awaitable[Any], called[-1])

        try:
            refreshed: dict[str, Any] = await call_actor(call)
        except asyncio.CancelledError:
            for reference in called[-1:]:
                ray.cancel(reference)
            raise
        return refreshed

    async def index_progress(self, root: str) -> Progress:
        """Return the progress of the current refresh of a repository; zeros when there is none."""
        progress: Progress = await call_actor(lambda: self._index.progress.remote(root))
        return progress

    async def bus_stats(self) -> dict[str, Any]:
        """Return the bus's counters and tables."""
        stats: dict[str, Any] = await call_actor(self._bus.stats.remote)
        return stats

    async def model_stats(self) -> dict[str, ModelStats]:
        """Return the counts of model calls by process; agents that do not answer are left out."""
        asked = [_stats_of(agent) for agent in self._agents]
        found = [answer for answer in await asyncio.gather(*asked) if answer is not None]
        return {process_id: _STATS_DECODER.decode(data) for process_id, data in found if data is not None}

    async def tool_health(self) -> list[ToolHealth]:
        """Return the health of each tool that was called lately; empty if the store does not answer."""
        try:
            answer = await call_actor(lambda: self._index.ask.remote(TOOL_HEALTH, {}, STATS_TIMEOUT_S))
        except JeevesError as error:
            log.info("tool_health.no_answer", extra={"reason": error.message})
            return []
        return msgspec.convert(answer["tools"], list[ToolHealth])

    async def query(self, type_: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Ask a query on the bus on behalf of a door. Raises NoHandlerError and what its handler raises."""
        answer: dict[str, Any] = await call_actor(lambda: self._index.ask.remote(type_, body, timeout_s))
        return answer

    async def ready(self) -> None:
        """Return when every actor has started. Raises ClusterError that names what failed."""
        for actor in [*self._supervisors, self._index, *self._others]:
            await wait_until_answering(actor)

    async def release(self) -> None:
        """Release the run logs and keep what was counted, as the last step, so that a successor may start at once."""
        for supervisor in self._supervisors:
            await call_actor(supervisor.release.remote)
        await call_actor(self._store.keep_usage.remote)

    async def _call(self, run_id: RunId, method: str, *arguments: Any) -> Any:
        """Call a method of the supervisor that drives the run; look for it again if another one has adopted the run."""
        for is_last in (False, True):
            supervisor = await self._supervisor_of(run_id)
            try:
                return await call_actor(lambda: getattr(supervisor, method).remote(*arguments))  # noqa: B023
            except OwnedError:
                if is_last or len(self._supervisors) == 1:
                    raise
                self._places.pop(run_id, None)
        raise AssertionError("the last call returns or raises")

    async def _supervisor_of(self, run_id: RunId) -> Any:
        """Return the supervisor that has the run; the one that new runs of that id go to if none has."""
        if (placed := self._places.get(run_id)) is not None:
            return placed
        first = self._first_asked(run_id)
        if len(self._supervisors) > 1:
            for supervisor in [first, *(other for other in self._supervisors if other is not first)]:
                if await call_actor(lambda: supervisor.drives.remote(run_id)):  # noqa: B023
                    self._place(run_id, supervisor)
                    return supervisor
        return first

    def _first_asked(self, run_id: RunId) -> Any:
        return self._supervisors[shard_of(run_id, len(self._supervisors))]

    def _place(self, run_id: RunId, supervisor: Any) -> None:
        """Remember which supervisor has a run, for the last `PLACES_KEPT` runs."""
        self._places[run_id] = supervisor
        if len(self._places) > PLACES_KEPT:
            del self._places[next(iter(self._places))]


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
    create = partial(_create, lifetime="detached" if spec.is_detached else None)
    bus = create(CommBusActor, BUS_NAME, expected, spec.middleware, None, shards, *beats)
    index = create(IndexActor, INDEX, f"{spec.state_dir}/index", spec.index_options)
    watched = (BUS_NAME, INDEX, STORE, *contributed, *(address for address, _, _ in agents))
    supervisors = [create(SupervisorActor, *told) for told in _supervisors(spec, shards, watched)]
    store = create(StoreActor, STORE, _store_of(spec), spec.store_parts, spec.limits)
    others = []
    for address, pipeline_name, config in agents:
        arguments = (address, config, spec.capabilities[pipeline_name], spec.reasoner, spec.settings)
        others.append(create(AgentActor, address, *arguments, claim=claim_of(config.get("resources", {}))))
    hosts = [
        create(ServiceActor, service.address, name, spec.services[name], _store_of(spec))
        for name, service in services.items()
    ]
    return System(bus, supervisors, index, store, [store, *hosts, *others], others)


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
    kind: type, name: str, *arguments: Any, claim: Mapping[str, Any] = NO_CLAIM, lifetime: str | None = None
) -> Any:
    options = {
        **claim,
        "name": name,
        "namespace": namespace(),
        "max_concurrency": CALLS_AT_ONCE,
        "max_restarts": -1,
        "max_task_retries": 0,
        "lifetime": lifetime,
    }
    try:
        return ray.remote(kind).options(**options).remote(*arguments)
    except ActorAlreadyExistsError as error:
        raise _name_taken() from error


async def _stats_of(agent: Any) -> tuple[str, bytes | None] | None:
    try:
        answer: tuple[str, bytes | None] = await asyncio.wait_for(agent.model_stats.remote(), STATS_TIMEOUT_S)
        return answer
    except (RayError, TimeoutError) as error:
        log.info("model_stats.no_answer", extra={"reason": str(error)[:200]})
        return None


def _is_answer_of(envelope: Envelope, interrupt_id: str, response: InterruptResponse) -> bool:
    interrupt = envelope.interrupt
    if interrupt is None or interrupt.id != interrupt_id or interrupt.response is None:
        return False
    return msgspec.structs.replace(interrupt.response, received_at_ms=response.received_at_ms) == response
