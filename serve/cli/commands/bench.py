"""Runs `jeeves bench`: reproducible benchmarks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated

import typer

from runtime.errors import SettingsError
from runtime.llm.model_file import ModelsFile
from runtime.settings import Settings, load_settings, open_state_dir
from serve.cli.inputs import with_models
from serve.cli.output.terminal import say_json

app = typer.Typer(help="Run benchmarks.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Run benchmarks of this installation."""


@app.command("llm")
def llm(
    models: Annotated[str, typer.Option(help="Model file whose role `default` is a vLLM deployment.")],
    concurrent: Annotated[
        list[int] | None, typer.Option(min=1, max=1_000, help="Concurrent requests; repeatable.")
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum tokens per answer.")] = 128,
    rounds: Annotated[int, typer.Option(min=1, max=1_000, help="Rounds per variant.")] = 5,
) -> None:
    """Compare our client and handle with the bare engine on one replica; print one JSON line per concurrency."""
    from serve.wiring import models_file

    settings = with_models(load_settings(), "llm", models)
    read = models_file(settings)
    assert read is not None
    open_state_dir(settings.state_dir)
    _measure(settings, read, tuple(concurrent or (1, 8, 32)), tokens, rounds)


def _measure(settings: Settings, models: ModelsFile, concurrent: tuple[int, ...], tokens: int, rounds: int) -> None:
    try:
        from serve.llm.model_server import deploy
    except ImportError as error:
        raise SettingsError(f"vLLM cannot be imported here ({error}); see docs/models.md") from error
    from ray import serve as ray_serve

    from actors.cluster import start_local
    from actors.model_handle import application_name
    from runtime.llm.client_opening import open_client
    from runtime.llm.provider import all_providers
    from runtime.primitives.clock import SystemClock
    from serve.contributions import providers
    from serve.llm.throughput_bench import compare

    async def measure() -> None:
        client = open_client(models, SystemClock(), all_providers(providers()), has_cluster=True)
        server = ray_serve.get_app_handle(application_name(models.role("default").deployment))
        for count in concurrent:
            found = await compare(client, server, count, tokens, rounds)
            say_json({key: getattr(found, key) for key in found.__struct_fields__})

    cluster = start_local(settings.ray, settings.state_dir)
    try:
        deploy(models)
        asyncio.run(measure())
    finally:
        # Before the cluster shuts down: threads of Ray Serve that find no cluster would start one.
        stop_serving: Callable[[], None] = ray_serve.shutdown
        stop_serving()
        cluster.shutdown()
