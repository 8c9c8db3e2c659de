"""Runs the HTTP service: starts cluster, actors, models and the door in this order, then stops them."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any

import msgspec
import ray
from ray import serve as ray_serve
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayActorError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from actors.actor_calls import RESTART_POLL_S, actor_lost_error, call_actor
from actors.ray_transport import this_node
from runtime.agents.capability import load_capability
from runtime.agents.stage_runner import MODEL_REASONER
from runtime.errors import ClusterError
from runtime.llm.model_file import ModelsFile
from runtime.llm.provider import all_providers
from runtime.pipeline.config import PipelineConfig
from runtime.run.bounds import known_limits
from runtime.settings import Settings
from runtime.store.options import store_options
from serve.capability_sections import capability_section, modes_of
from serve.contributions import providers
from serve.http.answering.service import KEEPER, ServiceSpec
from serve.http.connections.gate import LOOPBACK_HOSTS
from serve.http.connections.http_limits import DEFAULT_LIMITS
from serve.http.connections.listening import DRAIN_S, SETTLE_S
from serve.http.door_actor import HttpDoor
from serve.pipeline_files import capability_spec
from serve.runtimes.ray_runtime import RayRuntime, start_runtime
from serve.wiring import models_file

CALLS_AT_ONCE = 16

log = logging.getLogger(__name__)


def run_service(
    settings: Settings,
    pipelines: list[PipelineConfig],
    repositories: dict[str, str],
    port: int,
    announce: Callable[[str], None],
    tell: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; call `announce` with the URL once requests are answered.

    `tell` gets what is about to be started, part by part: each of them may take long, or fail.
    """
    joined = settings.ray.address if settings.ray.mode == "attach" else None
    tell(f"joining the cluster at {joined}" if joined else "starting the cluster")
    runtime = start_runtime(settings, pipelines, keeper=KEEPER)
    has_models = False
    try:
        tell(f"starting the agents of {', '.join(pipeline.name for pipeline in pipelines)}")
        asyncio.run(runtime.system.ready())
        spec = service_spec(settings, pipelines, repositories)
        models = None if spec.models is None else models_file(settings)
        has_models = _deploy_models(models, tell)
        tell(f"opening port {port}")
        asyncio.run(_serve(spec, settings.http.host, port, announce))
    finally:
        # On a joined cluster the last system ends the models with itself: others may call them.
        if has_models and settings.ray.mode != "attach":
            stop_serving: Callable[[], None] = ray_serve.shutdown
            stop_serving()
        _close(runtime)


def service_spec(settings: Settings, pipelines: list[PipelineConfig], repositories: dict[str, str]) -> ServiceSpec:
    """Return the specification of the service that answers with these pipelines about these repositories, by name.

    Raises SettingsError, UnknownNameError and DocumentFaults.
    """
    models = models_file(settings) if settings.reasoner == MODEL_REASONER else None
    sections = {pipeline.name: capability_section(settings, pipeline.capability_id) for pipeline in pipelines}
    products = {name: each.product_name for name, each in sections.items() if each.product_name is not None}
    return ServiceSpec(
        default_pipeline=settings.default_pipeline,
        limits={pipeline.name: known_limits(pipeline) for pipeline in pipelines},
        repositories=repositories,
        reasoner=settings.reasoner,
        max_question_chars=settings.limits.max_question_chars,
        store=store_options(settings),
        system=settings.system,
        models=None if models is None else models.model_dump(mode="json"),
        providers=providers(),
        hosts=settings.http.allowed_hosts,
        trusted_proxies=settings.http.trusted_proxies,
        modes={pipeline.name: modes_of(settings, pipeline.name) for pipeline in pipelines},
        products=products,
        requests_per_caller=settings.http.requests_per_caller,
        http=msgspec.structs.replace(DEFAULT_LIMITS, body_timeout_s=settings.http.body_timeout_s),
        retention_days=settings.store.retention_days,
        tools=tuple(sorted({name for pipeline in pipelines for name in _tools_of(settings, pipeline)})),
        state_folders=(str(settings.state_dir),),
        tokens_required=settings.http.tokens_required or settings.http.host not in LOOPBACK_HOSTS,
    )


def _tools_of(settings: Settings, pipeline: PipelineConfig) -> tuple[str, ...]:
    return tuple(load_capability(capability_spec(settings, pipeline), pipeline.capability_id).tools.names())


def _deploy_models(models: ModelsFile | None, tell: Callable[[str], None]) -> bool:
    """Deploy the models that agents reason with, if their providers run them on the cluster; return whether any does.

    Raises SettingsError and ClusterError.
    """
    named = set() if models is None else {each.backend for each in models.deployments.values()}
    deployers = [
        provider.deploy
        for name, provider in all_providers(providers()).items()
        if name in named and provider.deploy is not None
    ]
    if models is None or not deployers:
        return False
    tell(f"deploying the models {', '.join(sorted(models.deployments))}")
    # It has a handler of its own, on standard error. Agents call models by handle: nothing listens for HTTP.
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    ray_serve.start(proxy_location="Disabled")
    for deploy in deployers:
        deploy(models)
    return True


async def _serve(spec: ServiceSpec, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Keep the door open until SIGINT or SIGTERM. Raises PortTakenError and ClusterError."""
    # On this machine, whichever nodes the cluster has: its address is the one that the settings name.
    here = NodeAffinitySchedulingStrategy(this_node(), soft=False)
    options = {
        "num_cpus": 0,
        "max_restarts": -1,
        "max_task_retries": 0,
        "max_concurrency": CALLS_AT_ONCE,
        "scheduling_strategy": here,
    }
    door: Any = ray.remote(HttpDoor).options(**options).remote(msgspec.to_builtins(spec), host, port)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    stopped = asyncio.ensure_future(stopping.wait())
    listening = asyncio.ensure_future(_keep_listening(door))
    opening = asyncio.ensure_future(_opened(door, lambda: announce(f"http://{_in_url(host)}:{port}")))
    tasks: set[asyncio.Future[Any]] = {stopped, listening, opening}
    try:
        while not stopped.done():
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            tasks -= done
        await _close_door(door, listening)
    finally:
        for task in (stopped, listening, opening):
            task.cancel()


async def _keep_listening(door: Any) -> None:
    """Have the door listen; a process that dies has a successor, which is told again."""
    while True:
        try:
            await door.listen.remote()
            return
        except ActorDiedError as error:
            raise actor_lost_error(error) from error
        except (ActorUnavailableError, RayActorError) as error:
            log.warning("http.door_lost", extra={"reason": str(error)[:200]})
        await asyncio.sleep(RESTART_POLL_S)


async def _opened(door: Any, announce: Callable[[], None]) -> None:
    await call_actor(door.until_listening.remote)
    announce()


async def _close_door(door: Any, listening: asyncio.Future[None]) -> None:
    """Let answers that are nearly there go out, and the others be refused."""
    try:
        async with asyncio.timeout(DRAIN_S + SETTLE_S + 1):
            await call_actor(door.stop.remote)
            await listening
    except (ClusterError, TimeoutError) as error:
        log.info("http.door_not_closed", extra={"reason": str(error)[:200]})


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _close(runtime: RayRuntime) -> None:
    asyncio.run(runtime.close())
