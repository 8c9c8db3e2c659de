"""Answers questions on Ray: in a cluster for one command, or in one that `up` and `serve` keep."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from ray._private import worker

from actors.addresses import DEFAULT_NAMESPACE, log_keeper, namespace_of
from actors.cluster import Cluster, attach, start_local
from actors.origin import code_version
from actors.system import System
from actors.system_actors import SystemSpec, attach_system, end_system, start_system, systems_on_cluster
from actors.tracing.trace_export import set_trace_options
from runtime.codebase.index.progress import Progress
from runtime.errors import ClusterError
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.settings import LimitSettings, Settings
from serve.answer_document import Ask, document_of
from serve.runtimes.answering import UNHEARD, AskCallbacks, follow, prepared_within
from serve.runtimes.deployed_models import end_models, model_applications
from serve.runtimes.starting import start_run
from serve.runtimes.warm import settings_digest
from serve.wiring import system_parts, trace_options

log = logging.getLogger(__name__)

RELEASE_TIMEOUT_S = 2.0
ENDPOINT = "chat"
ABOUT_TIMEOUT_S = 5.0


class RayRuntime:
    """Answers questions with a system of actors. `counts_requests`: they count against rates here, not at a door."""

    def __init__(
        self,
        system: System,
        reasoner: str,
        cluster: Cluster | None,
        counts_requests: bool = False,
        kept: str | None = None,
        models: tuple[str, ...] = (),
    ) -> None:
        """Create a runtime. `kept`: the name of a system whose actors outlive this process unless `close` ends them.

        `models`: the applications that `close` ends with such a system. Without a `cluster`, the system belongs to
        another process, which ends it.
        """
        self._counts_requests = counts_requests
        self.system = system
        self._kept = kept
        self._models = models
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

    async def start(self, ask: Ask, key: str | None) -> RunId:
        """Start a run that goes on by itself, or find the one that the same question started with this key."""
        if self._counts_requests:
            await self.system.take(ask.user_id, ENDPOINT)
        return await start_run(self.system, ask, key)

    async def _answer(self, ask: Ask, callbacks: AskCallbacks) -> dict[str, Any]:
        async def progress() -> Progress:
            return await self.system.index_progress(ask.repo)

        if self._counts_requests:
            await self.system.take(ask.user_id, ENDPOINT)
        within, repository = await prepared_within(ask, self.system.refresh_index, progress, callbacks)
        envelope = await follow(self.system, within, repository, self.system.envelope, callbacks)
        return document_of(ask, envelope, self.reasoner)

    async def close(self) -> None:
        if self._coming_up is not None:
            self._coming_up.cancel()
        await _release(self.system)
        if self._kept is not None:
            await asyncio.to_thread(end_system, self._kept)
            await asyncio.to_thread(end_models, self._models, self._kept)
        if self.cluster is not None:
            await asyncio.to_thread(self.cluster.shutdown)


class GuestRuntime(RayRuntime):
    """Answers questions with a system that another process started on the attached cluster, and leaves it as it is."""

    async def close(self) -> None:
        if self._coming_up is not None:
            self._coming_up.cancel()
        if self.cluster is not None:
            await asyncio.to_thread(self.cluster.shutdown)


async def _release(system: System) -> None:
    try:
        await asyncio.wait_for(system.release(), RELEASE_TIMEOUT_S)
    except (ClusterError, TimeoutError) as error:
        log.info("system.not_released", extra={"reason": str(error)})  # its lease ends by itself


def start_runtime(
    settings: Settings,
    pipelines: list[PipelineConfig],
    keeper: str | None = None,
    services: Mapping[str, dict[str, Any]] | None = None,
) -> RayRuntime:
    """Start or join a cluster and create the actors for `pipelines`; they come up while the first question is read.

    `keeper` names the run logs of a long-lived system, which has the name `settings.system` on an attached cluster and
    stays there until it is ended; it adopts the unfinished runs of all logs as far as its agents fit them. None starts
    a system for one command, with logs of its own. `services`: as `SystemSpec` has them. Raises ClusterError if a
    system of that name is there.
    """
    _keep_ray_off_stdout()
    is_detached = keeper is not None and settings.ray.mode == "attach"
    kept, models = (settings.system, model_applications(settings)) if is_detached else (None, ())
    set_trace_options(trace_options(settings))
    cluster = _cluster(settings, namespace_of(settings.system) if keeper is not None else _namespace_of_one())
    named = None if keeper is None else log_keeper(keeper, settings.system)
    about = {"code_version": code_version(), "settings": settings_digest(settings)} if is_detached else {}
    parts = system_parts(settings, pipelines)
    try:
        spec = SystemSpec(**parts, keeper=named, is_detached=is_detached, about=about, services=dict(services or {}))
        system = start_system(spec)
    except BaseException:
        cluster.shutdown()
        raise
    return RayRuntime(system, settings.reasoner, cluster, limits_people(settings.limits), kept, models)


def limits_people(limits: LimitSettings) -> bool:
    """Return True if the settings give users at the terminal rates or quotas, which by default they have not."""
    return "user" in limits.limited or any(name.startswith("user:") for name in limits.rates_by_user)


async def guest_runtime(settings: Settings) -> RayRuntime | None:
    """Return a runtime on the system `settings.system` of the attached cluster; None if it is not there, or differs."""
    _keep_ray_off_stdout()
    cluster = _cluster(settings, _namespace_of_one())
    try:
        if settings.system in systems_on_cluster():
            system = attach_system(settings.system)
            about = await asyncio.wait_for(system.about(), ABOUT_TIMEOUT_S)
            if about == {"code_version": code_version(), "settings": settings_digest(settings)}:
                return GuestRuntime(system, settings.reasoner, cluster, limits_people(settings.limits))
            log.info("system.differs", extra={"system": settings.system, "about": about})
    except (ClusterError, TimeoutError) as error:
        log.warning("system.not_usable", extra={"system": settings.system, "reason": str(error)})
    except BaseException:
        cluster.shutdown()
        raise
    cluster.shutdown()
    return None


def named_systems(settings: Settings) -> list[str]:
    """Return the names of the systems on the cluster that the settings attach to. Raises ClusterError."""
    with _cluster(settings, _namespace_of_one()):
        return systems_on_cluster()


def end_named_system(settings: Settings) -> bool:
    """End the actors of the system `settings.system` on the attached cluster; return False if there is none.

    The last system ends the models of its settings as well. Raises ClusterError if the cluster cannot be joined.
    """
    models = model_applications(settings)
    with _cluster(settings, _namespace_of_one()):
        if settings.system not in systems_on_cluster():
            return False
        asyncio.run(_release(attach_system(settings.system)))
        has_ended = end_system(settings.system) > 0
        end_models(models, settings.system)
        return has_ended


def _namespace_of_one() -> str:
    """Return a Ray namespace for the system of one command: any number of them may run on one cluster."""
    return f"{DEFAULT_NAMESPACE}.one-off-{secrets.token_hex(4)}"


def _keep_ray_off_stdout() -> None:
    """Log raylets' reports, such as workers that died: Ray prints them to standard output, where answers go."""

    def to_log(data: dict[str, Any], ignore_prefix: bool) -> None:
        log.warning("ray.reported", extra={"lines": data["lines"], "ignore_prefix": ignore_prefix})

    worker.print_to_stdstream = to_log


def _cluster(settings: Settings, namespace: str) -> Cluster:
    if settings.ray.mode == "attach":
        return attach(str(settings.ray.address), namespace=namespace)
    return start_local(settings.ray, settings.state_dir, namespace)
