"""Answers through Ray: a cluster of our own for one command, or one that `jeeves up` and `jeeves serve` keep."""

from __future__ import annotations

import asyncio
from typing import Any

from actors.cluster import Cluster, attach, start_local
from actors.system import System, SystemSpec, start_system
from runtime.pipeline import PipelineConfig
from runtime.settings import Settings
from serve.asking import OnEvent, OnIndexing, follow, ignore_event, ignore_indexing, prepared
from serve.documents import Ask, document_of
from serve.wiring import system_parts


class RayRuntime:
    """A system of actors that answers questions."""

    def __init__(self, system: System, reasoner: str, cluster: Cluster | None) -> None:
        self.system = system
        self.cluster = cluster
        self._reasoner = reasoner

    async def ask(
        self, ask: Ask, on_event: OnEvent = ignore_event, on_indexing: OnIndexing = ignore_indexing
    ) -> dict[str, Any]:
        async def progress() -> tuple[int, int]:
            return await self.system.index_progress(ask.repo)

        repository = await prepared(self.system.refresh_index(ask.repo), progress, on_indexing)
        run_id = await follow(self.system, ask, repository, on_event)
        return document_of(ask, await self.system.envelope(run_id), self._reasoner)

    async def close(self) -> None:
        if self.cluster is not None:
            await asyncio.to_thread(self.cluster.shutdown)


def start_runtime(settings: Settings, pipelines: list[PipelineConfig]) -> RayRuntime:
    """Start or join a cluster and create the actors for `pipelines`; they come up while the first question is read."""
    cluster = _cluster(settings)
    try:
        system = start_system(SystemSpec(**system_parts(settings, pipelines)))
    except BaseException:
        cluster.shutdown()
        raise
    return RayRuntime(system, settings.reasoner, cluster)


def _cluster(settings: Settings) -> Cluster:
    if settings.ray.mode == "attach":
        return attach(str(settings.ray.address))
    return start_local(settings.ray, settings.state_dir)
