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
            models=None if models is None else models.model_dump(mode="json"),
            providers=providers(),
            modes={pipeline.name: modes_of(settings, pipeline.name) for pipeline in pipelines},
            products=products,
            trusted_proxies=settings.http.trusted_proxies,
        )
        # It has a handler of its own, on standard error.
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        ray_serve.start(proxy_location="HeadOnly", http_options=HTTPOptions(host=settings.http.host, port=port))
        _deploy_models(models)
        # Ray Serve's decorators are untyped: `bind` comes from them.
        service: Any = ChatService
        ray_serve.run(service.bind(msgspec.to_builtins(spec)), name="jeeves", route_prefix="/")
        announce(f"http://{settings.http.host}:{port}")
        asyncio.run(_until_signalled())
    finally:
        stop_serving: Callable[[], None] = ray_serve.shutdown
        stop_serving()
        _close(runtime)


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
