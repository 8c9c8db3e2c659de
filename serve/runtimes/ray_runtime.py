"""Answers questions on Ray: in a cluster for one command, or in one that `up` and `serve` keep."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from ray._private import worker

from actors.cluster import Cluster, attach, start_local
from actors.system import System, SystemSpec, start_system
from runtime.errors import ClusterError
from runtime.pipeline.config import PipelineConfig
from runtime.settings import LimitSettings, Settings
from serve.answer_document import Ask, document_of
from serve.runtimes.answering import UNHEARD, AskCallbacks, follow, prepared_within
from serve.wiring import system_parts

log = logging.getLogger(__name__)

RELEASE_TIMEOUT_S = 2.0
ENDPOINT = "chat"


class RayRuntime:
    """Answers questions with a system of actors. `counts_requests`: they count against rates here, not at a door."""

    def __init__(self, system: System, reasoner: str, cluster: Cluster | None, counts_requests: bool = False) -> None:
        self._counts_requests = counts_requests
        self.system = system
        self.cluster = cluster
        self.reasoner = reasoner
        self._coming_up: asyncio.Future[None] | None = None

    async def ask(self, ask: Ask, callbacks: AskCallbacks = UNHEARD) -> dict[str, Any]:
        coming_up = self._coming_up = self._coming_up or asyncio.ensure_future(self.system.ready())
        answering = asyncio.ensure_future(self._answer(ask, callbacks))
        try:
            # Work proceeds while actors start; one that fails is reported at once, not when its stage times out.
            either: list[asyncio.Future[Any]] = [answering, coming_up]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if coming_up.done():
                coming_up.result()
            return await answering
        finally:
            if not answering.done():
                answering.cancel()
                await asyncio.wait({answering})

    async def _answer(self, ask: Ask, callbacks: AskCallbacks) -> dict[str, Any]:
        async def progress() -> tuple[int, int]:
            return await self.system.index_progress(ask.repo)

        if self._counts_requests:
            await self.system.take(ask.user_id, ENDPOINT)
        within, repository = await prepared_within(ask, self.system.refresh_index, progress, callbacks)
        envelope = await follow(self.system, within, repository, self.system.envelope, callbacks)
        return document_of(ask, envelope, self.reasoner)

    async def close(self) -> None:
        if self._coming_up is not None:
            self._coming_up.cancel()
        try:
            await asyncio.wait_for(self.system.release(), RELEASE_TIMEOUT_S)
        except (ClusterError, TimeoutError) as error:
            log.info("system.not_released", extra={"reason": str(error)})  # its lease ends by itself
        if self.cluster is not None:
            await asyncio.to_thread(self.cluster.shutdown)


def start_runtime(settings: Settings, pipelines: list[PipelineConfig], keeper: str | None = None) -> RayRuntime:
    """Start or join a cluster and create the actors for `pipelines`; they come up while the first question is read.

    `keeper` names the run logs of a long-lived system, which adopts the unfinished runs of these logs as far as its
    agents fit them; None starts a system for one command, with logs of its own.
    """
    _keep_ray_off_stdout()
    cluster = _cluster(settings)
    try:
        system = start_system(SystemSpec(**system_parts(settings, pipelines), keeper=keeper))
    except BaseException:
        cluster.shutdown()
        raise
    return RayRuntime(system, settings.reasoner, cluster, limits_people(settings.limits))


def limits_people(limits: LimitSettings) -> bool:
    """Return True if the settings give users at the terminal rates or quotas, which by default they have not."""
    return "user" in limits.limited or any(name.startswith("user:") for name in limits.rates_by_user)


def _keep_ray_off_stdout() -> None:
    """Log raylets' reports, such as workers that died: Ray prints them to standard output, where answers go."""

    def to_log(data: dict[str, Any], ignore_prefix: bool) -> None:
        log.warning("ray.reported", extra={"lines": data["lines"], "ignore_prefix": ignore_prefix})

    worker.print_to_stdstream = to_log


def _cluster(settings: Settings) -> Cluster:
    if settings.ray.mode == "attach":
        return attach(str(settings.ray.address))
    return start_local(settings.ray, settings.state_dir)
