"""A system that is spread over two nodes: each has a supervisor and a process of each stage. One node is killed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from actors.addresses import agent_address, agent_addresses, supervisor_addresses
from actors.placement import Placement
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId, StageKey
from runtime.store.opening import open_run_log
from runtime.store.options import StoreOptions
from runtime.store.run_log import SqlRunLog
from runtime.supervision.events import Event
from tests.conformance.hosts import system_spec
from tests.faults.fault_nodes import NodeSite
from tests.faults.fault_rounds import Round
from tests.faults.fault_runs import fan_pipeline, steps_pipeline
from tests.faults.fault_site import KEEPER, SERVICES, actor

SHARDS = 2
REPLICAS = 2
CROWD = 300
FAR_SUPERVISOR = "supervisor#2"


class SpreadSite(NodeSite):
    """Two supervisors and two processes of each stage; the second of each is on the far node."""

    def __init__(self, folder: Path, store: StoreOptions | None = None) -> None:
        pipelines = tuple(map(_replicated, (steps_pipeline(), fan_pipeline())))
        super().__init__(folder, store=store, pipelines=pipelines)

    async def up(self) -> None:
        """Start the far node and the system; return when everybody is there."""
        from actors.system_actors import SystemSpec, start_system

        self.add_node()
        placement = Placement(agents="spread", supervisors="spread")
        told = {**system_spec(self.folder, self.pipelines), "keeper": KEEPER, "shards": SHARDS, "placement": placement}
        self.system = start_system(SystemSpec(**told, store=msgspec.to_builtins(self.store)))
        await self.system.ready()
        await self.settled()

    @property
    def agents(self) -> tuple[str, ...]:
        """Where the agents of all replicas of all stages are."""
        return tuple(
            address
            for pipeline in self.pipelines
            for stage in pipeline.agents
            for address in agent_addresses(pipeline.name, stage.name, stage.replicas)
        )

    def open_log(self) -> Any:
        """The run logs of both supervisors as one."""
        return _Logs([open_run_log(self.store, f"{KEEPER}-{number}") for number in range(SHARDS)])

    async def nodes(self) -> dict[str, str]:
        """The node of each actor, as the actor itself sees it."""
        names = [*SERVICES, *supervisor_addresses(SHARDS)[1:], *self.agents]
        found = await asyncio.gather(*(actor(name).__ray_call__.remote(_node) for name in names))
        return dict(zip(names, found, strict=True))

    async def hops_by_node(self, run_ids: list[RunId]) -> Counter[str]:
        """How many stages of these runs each node has worked on, by where its processes are now."""
        nodes = await self.nodes()
        hops: Counter[str] = Counter()
        for envelope in await asyncio.gather(*map(self.system.envelope, run_ids)):
            for record in envelope.history:
                key = StageKey(envelope.run_id, record.hop, record.item)
                hops[nodes[agent_address(envelope.request.pipeline, str(record.stage), key, REPLICAS)]] += 1
        return hops


def _replicated(pipeline: PipelineConfig) -> PipelineConfig:
    agents = tuple(agent.model_copy(update={"replicas": REPLICAS}) for agent in pipeline.agents)
    return pipeline.model_copy(update={"agents": agents})


def _node(_: Any) -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())


class _Logs:
    """Reads several run logs as one."""

    def __init__(self, logs: list[SqlRunLog]) -> None:
        self._logs = logs

    def events(self, run_id: RunId) -> list[Event]:
        """The events of a run, of the log that has it."""
        return next((events for log in self._logs if (events := log.events(run_id))), [])

    def close(self) -> None:
        """Close all of them."""
        for log in self._logs:
            log.close()


async def crowd(site: SpreadSite, number: int) -> Round:
    """A round with 300 runs, all of which wait at the gate."""
    around = Round(site, number)
    await asyncio.gather(*(around.add("crowd") for _ in range(CROWD)))
    await around.at_gate(list(around.runs))
    return around


async def node_killed(around: Round) -> float:
    """Kill every process of the far node; open the gate once Ray has noticed; the seconds until every run is over."""
    site = around.site
    assert isinstance(site, SpreadSite)
    pid = await site.pid(FAR_SUPERVISOR)
    around.struck()
    site.remove_node()
    await site.noticed(FAR_SUPERVISOR, pid)
    around.detected()
    noticed_s = time.monotonic()
    around.place.open_gate()
    await around.end()
    return time.monotonic() - noticed_s
