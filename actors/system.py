"""All actors of one Jeeves system: created together, found again by name, spoken to by doors.

    bus ── supervisor ── an agent actor for each replica of each stage ── index ── store

Creation does not wait: the actors' processes come up side by side, and frames for one that is not there yet are parked
by the bus.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec
import ray
from ray.exceptions import ActorUnavailableError, RayActorError, RayTaskError

from actors.agent_actor import SUPERVISOR, AgentActor, agent_addresses
from actors.commbus_actor import CommBusActor
from actors.ray_transport import BUS_NAME, NAMESPACE
from actors.service_actors import QUERIES_OF, IndexActor, StoreActor
from actors.supervisor_actor import SupervisorActor
from runtime import errors
from runtime.envelope import Envelope, InterruptResponse, Request, decode_envelope
from runtime.errors import ClusterError, InputError, JeevesError
from runtime.ids import RunId
from runtime.shipped_middleware import DEFAULT_CHAIN
from runtime.supervision.commands import ClientEvent

LONG_POLL_S = 10.0
CALLS_AT_ONCE = 1_000
RESTART_POLL_S = 0.2

NO_CLAIM: Mapping[str, Any] = {"num_cpus": 0}

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

_EVENTS_DECODER = msgspec.msgpack.Decoder(list[ClientEvent])


class SystemSpec(msgspec.Struct, frozen=True):
    """What a system is made of, in plain data. `pipelines`: wire form; `capabilities`: pipeline → "module:NAME";
    `middleware`: what looks at messages on the bus, in the words of `runtime.shipped_middleware.build_chain`."""

    pipelines: list[dict[str, Any]]
    capabilities: dict[str, str]
    reasoner: str
    settings: dict[str, Any]
    state_dir: str
    index_options: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    middleware: tuple[dict[str, Any], ...] = DEFAULT_CHAIN


class System:
    """Handles to a running system."""

    def __init__(self, bus: Any, supervisor: Any, index: Any, others: list[Any]) -> None:
        self._bus = bus
        self._supervisor = supervisor
        self._index = index
        self._others = others

    async def submit(self, request: Request) -> RunId:
        """Start a run; its first record is on disk when the id is returned. Raises what the supervisor raised."""
        try:
            data = msgspec.msgpack.encode(request)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raise InputError(f"the request cannot be recorded: {error}") from error
        run_id: RunId = await _called(self._supervisor.submit.remote(data))
        return run_id

    async def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncGenerator[ClientEvent, None]:
        """Events of a run from `after_seq` (exclusive) to its end."""
        over = False
        while not over:
            data, over = await _called(self._supervisor.wait_events.remote(run_id, after_seq, LONG_POLL_S))
            for event in _EVENTS_DECODER.decode(data):
                after_seq = event.seq
                yield event

    async def events(self, run_id: RunId, after_seq: int = 0) -> tuple[list[ClientEvent], bool]:
        """What has happened after `after_seq` so far, and whether the run is over. Raises UnknownNameError."""
        data, over = await _called(self._supervisor.wait_events.remote(run_id, after_seq, 0.0))
        return _EVENTS_DECODER.decode(data), over

    async def envelope(self, run_id: RunId) -> Envelope:
        """The envelope of a run as it stands."""
        return decode_envelope(await _called(self._supervisor.envelope.remote(run_id)))

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now; one that is over stays as it is. Raises UnknownNameError."""
        await self.envelope(run_id)
        await _called(self._supervisor.cancel.remote(run_id, reason))

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer a question of a run that waits. Raises InterruptError."""
        await _called(self._supervisor.answer.remote(run_id, interrupt_id, user_id, msgspec.msgpack.encode(response)))

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Hold a run at its next step; answering the checkpoint lets it go on. Raises UnknownNameError."""
        await self.envelope(run_id)
        await _called(self._supervisor.pause.remote(run_id, reason))

    async def fork(self, source: RunId, at_seq: int) -> RunId:
        """A new run with the past of `source` up to event `at_seq` (inclusive)."""
        run_id: RunId = await _called(self._supervisor.fork.remote(source, at_seq))
        return run_id

    async def running(self) -> int:
        """How many runs are under way."""
        count: int = await _called(self._supervisor.running.remote())
        return count

    async def refresh_index(self, root: str) -> dict[str, Any]:
        """Bring a repository's index up to date ahead of a run."""
        refreshed: dict[str, Any] = await _called(self._index.refresh.remote(root))
        return refreshed

    async def index_progress(self, root: str) -> tuple[int, int]:
        """Files done and in all of the refresh under way; zeros when there is none."""
        done, total = await _called(self._index.progress.remote(root))
        return done, total

    async def bus_stats(self) -> dict[str, Any]:
        """The bus's counters and tables."""
        stats: dict[str, Any] = await _called(self._bus.stats.remote())
        return stats

    async def ready(self) -> None:
        """Return when every actor has come up. Raises ClusterError that names what failed."""
        await asyncio.gather(*(_answering(actor) for actor in [self._supervisor, self._index, *self._others]))


def start_system(spec: SystemSpec) -> System:
    """Create every actor on the connected cluster and return at once; `System.ready` waits for them."""
    agents = [
        (address, str(pipeline["name"]), config)
        for pipeline in spec.pipelines
        for config in pipeline["agents"]
        for address in agent_addresses(pipeline["name"], config["name"], config.get("replicas", 1))
    ]
    expected = dict.fromkeys([SUPERVISOR, *(address for address, _, _ in agents)], ()) | QUERIES_OF
    bus = _create(CommBusActor, BUS_NAME, expected, spec.middleware, max_restarts=-1)
    index = _create(IndexActor, "index", f"{spec.state_dir}/index", spec.index_options)
    log_path = f"{spec.state_dir}/runs/supervisor-0.sqlite"
    supervisor = _create(SupervisorActor, "supervisor", spec.pipelines, log_path, spec.limits)
    others = [_create(StoreActor, "store", f"{spec.state_dir}/sessions.sqlite")]
    for address, pipeline_name, config in agents:
        arguments = (address, config, spec.capabilities[pipeline_name], spec.reasoner, spec.settings)
        claim = claim_of(config.get("resources", {}))
        others.append(_create(AgentActor, address, *arguments, max_restarts=-1, claim=claim))
    return System(bus, supervisor, index, others)


def attach_system() -> System:
    """The system that runs on the connected cluster. Raises ClusterError when there is none."""
    try:
        names = (BUS_NAME, "supervisor", "index")
        bus, supervisor, index = (ray.get_actor(name, namespace=NAMESPACE) for name in names)
    except ValueError as error:
        raise ClusterError("no jeeves system runs on this cluster; start one with `jeeves up`") from error
    return System(bus, supervisor, index, [])


def claim_of(resources: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent claims of the cluster (wire form of `runtime.pipeline.AgentResources`), as options of an actor."""
    claim: dict[str, Any] = {"num_cpus": resources.get("num_cpus", 0)}
    if resources.get("num_gpus"):
        claim["num_gpus"] = resources["num_gpus"]
    if resources.get("custom"):
        claim["resources"] = dict(resources["custom"])
    return claim


def _create(kind: type, name: str, *arguments: Any, max_restarts: int = 0, claim: Mapping[str, Any] = NO_CLAIM) -> Any:
    options = {
        **claim,
        "name": name,
        "namespace": NAMESPACE,
        "max_concurrency": CALLS_AT_ONCE,
        "max_restarts": max_restarts,
        "max_task_retries": 0,
    }
    return ray.remote(kind).options(**options).remote(*arguments)


async def _answering(actor: Any) -> None:
    """Return when an actor answers; one whose process died is given the time to come back."""
    while True:
        try:
            await actor.ping.remote()
        except ActorUnavailableError:
            await asyncio.sleep(RESTART_POLL_S)
        except RayActorError as error:
            raise _gone(error) from error
        else:
            return


async def _called(reference: Any) -> Any:
    """The result of an actor call; errors of ours come out as themselves, a dead actor as ClusterError."""
    try:
        return await reference
    except JeevesError:
        raise
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, JeevesError):
            raise cause from error
        raise
    except RayActorError as error:
        raise _gone(error) from error


def _gone(error: RayActorError) -> JeevesError:
    """Why an actor is not there. Ray keeps only the text of what its constructor raised: the last line names it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    name, _, message = lines[-1].partition(": ")
    kind = getattr(errors, name.rpartition(".")[2], None)
    if isinstance(kind, type) and issubclass(kind, JeevesError):
        return kind(message)
    reason = _ESCAPES.sub("", lines[-1] if len(lines) > 1 and message else lines[0])
    return ClusterError(f"an actor of the system is gone: {reason}; look into the state folder's logs")
