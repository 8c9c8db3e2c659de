"""Runs `jeeves serve`: the HTTP service in the foreground, on Ray Serve."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Annotated

import typer

from runtime.errors import InputError, PortTakenError, SettingsError
from runtime.settings import Settings, open_state_dir
from serve.cli.command_settings import load_command_settings, log_file
from serve.cli.inputs import SystemOption, checked_repository, with_models, with_system
from serve.cli.output.terminal import say_line, warn_line
from serve.cli.token_store import has_valid_token
from serve.repository_names import is_repository_name, repository_name

log = logging.getLogger(__name__)

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def serve(
    repo: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]FOLDER", help="Repository that callers can ask about, by name; repeatable."),
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
    repositories = registered_repositories(repo or [], settings)
    port = port or settings.http.port
    check_port_free(settings.http.host, port)
    open_state_dir(settings.state_dir)
    _serve(settings, repositories, port)


def registered_repositories(given: list[str], settings: Settings) -> dict[str, str]:
    """Return the repositories of the command line, then those of the settings, by name; this folder if there are none.

    A folder without a name is called as it is. Raises RepositoryError, and InputError for a name that two would have.
    """
    found: dict[str, str] = {}
    named = [_named(text) for text in given] + [(name, path) for name, path in settings.http.repositories.items()]
    for name, folder in named or [_named(".")]:
        path = checked_repository(folder)
        if found.setdefault(name, path) != path:
            raise InputError(f"two repositories would be named '{name}': {found[name]} and {path}; give NAME=FOLDER")
    return found


def _named(text: str) -> tuple[str, Path]:
    name, separator, folder = text.partition("=")
    if separator and folder and not Path(text).exists():
        if not is_repository_name(name):
            raise InputError(f"a repository's name has 1 to 64 letters, digits, '.', '_' and '-', not {name[:80]!r}")
        return name, Path(folder)
    path = Path(text)
    return repository_name(checked_repository(path)), path


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


def _serve(settings: Settings, repositories: dict[str, str], port: int) -> None:
    from serve.http.dashboard.addresses import DASHBOARD
    from serve.http.running import run_service
    from serve.pipeline_files import load_named_pipeline, warm_pipeline_names

    pipelines = [load_named_pipeline(settings, name) for name in warm_pipeline_names(settings)]

    def tell(step: str) -> None:
        log.info("serve.starting", extra={"step": step})
        warn_line(step)

    def announce(url: str) -> None:
        log.info("serve.listening", extra={"url": url})
        say_line(f"listening on {url}; dashboard: {url}{DASHBOARD}; stop with Ctrl-C")

    warn_line(_where_logs_are(settings))
    run_service(settings, pipelines, repositories, port, announce, tell)


def _where_logs_are(settings: Settings) -> str:
    own = log_file(settings.state_dir) or "standard error"
    of_actors = "on the cluster's nodes" if settings.ray.mode == "attach" else f"below {settings.state_dir / 'ray'}"
    return f"log: {own}; logs of agents: {of_actors}"
