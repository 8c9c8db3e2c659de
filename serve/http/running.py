"""Runs the HTTP service: starts cluster, actors and Ray Serve in this order, and stops all at the end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any

import msgspec
from ray import serve as ray_serve
from ray.serve.config import HTTPOptions

from runtime.agents.stage_runner import MODEL_REASONER
from runtime.llm.model_file import ModelsFile
from runtime.llm.provider import all_providers
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import DEFAULT_SYSTEM
from runtime.run.bounds import known_limits
from runtime.settings import Settings
from runtime.store.options import store_options
from serve.contributions import providers
from serve.http.app import ChatService, ServiceSpec
from serve.runtimes.ray_runtime import RayRuntime, start_runtime
from serve.wiring import capability_section, models_file, modes_of


def run_service(
    settings: Settings,
    pipelines: list[PipelineConfig],
    repositories: tuple[str, ...],
    port: int,
    announce: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; call `announce` with the URL once requests are answered."""
    runtime = start_runtime(settings, pipelines, keeper="service")
    try:
        asyncio.run(runtime.system.ready())
        models = models_file(settings) if settings.reasoner == MODEL_REASONER else None
        sections = {pipeline.name: capability_section(settings, pipeline.capability_id) for pipeline in pipelines}
        products = {name: each.product_name for name, each in sections.items() if each.product_name is not None}
        spec = ServiceSpec(
            default_pipeline=settings.default_pipeline,
            limits={pipeline.name: known_limits(pipeline) for pipeline in pipelines},
            repositories=repositories,
            reasoner=settings.reasoner,
            max_question_chars=settings.limits.max_question_chars,
            store=store_options(settings),
            system=settings.system,
            models=None if models is None else models.model_dump(mode="json"),
            providers=providers(),
            trusted_proxies=settings.http.trusted_proxies,
            modes={pipeline.name: modes_of(settings, pipeline.name) for pipeline in pipelines},
            products=products,
            requests_per_caller=settings.http.requests_per_caller,
        )
        # It has a handler of its own, on standard error.
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        ray_serve.start(proxy_location="HeadOnly", http_options=HTTPOptions(host=settings.http.host, port=port))
        _deploy_models(models)
        # Ray Serve's decorators are untyped: `bind` comes from them.
        service: Any = ChatService
        prefix = route_prefix(settings)
        ray_serve.run(service.bind(msgspec.to_builtins(spec)), name=app_name(settings), route_prefix=prefix)
        announce(f"http://{settings.http.host}:{port}{prefix.rstrip('/')}")
        asyncio.run(_until_signalled())
    finally:
        _stop_serving(settings)
        _close(runtime)


def app_name(settings: Settings) -> str:
    """Return the name of the Ray Serve application of a system; systems may share a cluster."""
    return "jeeves" if settings.system == DEFAULT_SYSTEM else f"jeeves-{settings.system}"


def route_prefix(settings: Settings) -> str:
    """Return the path below which a service answers: systems that share a cluster share its port, too."""
    is_alone = settings.system == DEFAULT_SYSTEM or settings.ray.mode != "attach"
    return "/" if is_alone else f"/{settings.system}"


def _stop_serving(settings: Settings) -> None:
    """End Ray Serve on a cluster of our own; on another's, only the application of this system."""
    if settings.ray.mode == "attach":
        delete: Callable[[str], None] = ray_serve.delete
        delete(app_name(settings))
    else:
        stop_serving: Callable[[], None] = ray_serve.shutdown
        stop_serving()


def _deploy_models(models: ModelsFile | None) -> None:
    """Deploy the models that agents reason with, if their providers run them on the cluster.

    Raises SettingsError and ClusterError.
    """
    named = set() if models is None else {each.backend for each in models.deployments.values()}
    for name, provider in all_providers(providers()).items():
        if models is not None and name in named and provider.deploy is not None:
            provider.deploy(models)


async def _until_signalled() -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    await stopping.wait()


def _close(runtime: RayRuntime) -> None:
    asyncio.run(runtime.close())
