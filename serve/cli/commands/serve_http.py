"""Runs `jeeves serve`: the HTTP service in the foreground, on Ray Serve."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated

import typer

from runtime.errors import PortTakenError, SettingsError
from runtime.settings import Settings, open_state_dir
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import SystemOption, checked_repository, with_models, with_system
from serve.cli.output.terminal import say_line
from serve.cli.token_store import has_valid_token

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def serve(
    repo: Annotated[
        list[Path] | None, typer.Option(readable=False, help="Repository that callers can ask about; repeatable.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65_535, help="Port to listen on.")] = None,
    models: Annotated[str | None, typer.Option(help="Model file to use; see docs/models.md.")] = None,
    system: SystemOption = None,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Answer questions over HTTP until interrupted."""
    settings = with_models(with_system(load_command_settings(config), system), None, models)
    if settings.http.host not in LOOPBACK:
        _check_tokens(settings)
    repositories = tuple(checked_repository(path) for path in (repo or [Path()]))
    port = port or settings.http.port
    check_port_free(settings.http.host, port)
    open_state_dir(settings.state_dir)
    _serve(settings, repositories, port)


def _check_tokens(settings: Settings) -> None:
    """Raise SettingsError if no caller could be admitted from elsewhere."""
    if not has_valid_token(settings):
        raise SettingsError(
            f"http.host is {settings.http.host}, which others can reach, and no access token is valid; create one with "
            "jeeves token create NAME, or set http.host to 127.0.0.1 for loopback only"
        )


def check_port_free(host: str, port: int) -> None:
    """Raise PortTakenError if the port is already in use."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise PortTakenError(
                f"port {port} on {host} is taken ({error.strerror}); choose another one with --port", port=port
            ) from error


def _serve(settings: Settings, repositories: tuple[str, ...], port: int) -> None:
    from serve.http.running import run_service
    from serve.pipeline_files import load_named_pipeline, warm_pipeline_names

    pipelines = [load_named_pipeline(settings, name) for name in warm_pipeline_names(settings)]

    def announce(url: str) -> None:
        say_line(f"listening on {url}; stop with Ctrl-C")

    run_service(settings, pipelines, repositories, port, announce)
