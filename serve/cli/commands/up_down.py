"""Runs `jeeves up`, `down` and `status`, for the warm system that stays up between questions."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.errors import ClusterError, SettingsError
from runtime.settings import Settings, open_state_dir
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import SystemOption, with_system
from serve.cli.output.callers_state import as_document as callers_document
from serve.cli.output.callers_state import callers_state, told_of_callers
from serve.cli.output.meaning import meaning, told_of_meaning
from serve.cli.output.queue_state import as_document, queue_state, told_of_queues
from serve.cli.output.terminal import say, say_json, say_line
from serve.runtimes.shortcut import sources_told
from serve.runtimes.warm import WarmRecord, WarmRuntime, is_locked, read_record, settings_digest, warm_dir, warm_records

UP_TIMEOUT_S = 180.0
DOWN_TIMEOUT_S = 30.0
POLL_EVERY_S = 0.1

Config = Annotated[Path | None, typer.Option(readable=False, help="Settings file.")]


def up(system: SystemOption = None, config: Config = None) -> None:
    """Start the warm system in the background; `ask`, `batch` and other commands use it while it is up."""
    # Told before they are read: if they change meanwhile, no client may rely on them.
    sources = sources_told(config, system)
    settings = with_system(load_command_settings(config), system)
    if settings.ray.mode == "in_process":
        raise SettingsError("ray.mode is in_process, which keeps no system up; set it to local or attach")
    open_state_dir(settings.state_dir)
    record = read_record(settings)
    if record is not None:
        _check_settings(record, settings)
        say_line(f"already up: process {record.pid}")
        return
    started_s = time.monotonic()
    record = _start(settings, "" if settings.has_relative_paths() else sources)
    _check_settings(record, settings)
    say_line(f"up: process {record.pid}, socket {record.socket}, {time.monotonic() - started_s:.1f} s")


def down(system: SystemOption = None, config: Config = None) -> None:
    """Stop the system that `up` started: on a cluster that stays, its actors and no others."""
    settings = with_system(load_command_settings(config), system)
    record = read_record(settings)
    if record is None:
        ended = settings.ray.mode == "attach" and _end_on_cluster(settings)
        say(f"down: system {settings.system} on {settings.ray.address}\n" if ended else "not up\n")
        return
    try:
        asyncio.run(WarmRuntime(record, record.code_version).stop())
    except ClusterError:
        with suppress(ProcessLookupError):  # it has ended, which is what is wanted
            os.kill(record.pid, signal.SIGTERM)
    if not _within(DOWN_TIMEOUT_S, lambda: not is_locked(settings)):
        with suppress(ProcessLookupError):  # it has ended, which is what is wanted
            os.kill(record.pid, signal.SIGKILL)
        _within(DOWN_TIMEOUT_S, lambda: not is_locked(settings))
        if settings.ray.mode == "attach":
            _end_on_cluster(settings)
    say_line(f"down: process {record.pid}")


def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
    system: SystemOption = None,
    config: Config = None,
) -> None:
    """Report whether a system is up, and what it is doing; exit status 1 if it is not."""
    settings = with_system(load_command_settings(config), system)
    record = read_record(settings)
    queues, callers = queue_state(settings), callers_state(settings)
    told = told_of_queues(queues) + told_of_callers(callers)
    document: dict[str, Any] = {"queues": as_document(queues), "callers": callers_document(callers)}
    systems = _systems(settings)
    if record is None:
        document = {"up": False, **document, **({"systems": systems} if systems else {})}
        say_json(document) if as_json else say(_told_of_absence(settings.system, systems) + told)
        raise typer.Exit(1)
    state = asyncio.run(WarmRuntime(record, record.code_version).status())
    if as_json:
        say_json({"up": True, **state, "systems": systems, **document, "meaning": meaning(settings)})
        return
    say(_described(state) + _told_of_systems(systems) + told + told_of_meaning(meaning(settings)))


def _systems(settings: Settings) -> dict[str, int | None]:
    """Return the process of each system that is up, by name; None for one whose process is gone or elsewhere."""
    found: dict[str, int | None] = {}
    if settings.ray.mode == "attach":
        from serve.runtimes.ray_runtime import named_systems

        found.update(dict.fromkeys(named_systems(settings)))
    return found | {name: record.pid for name, record in warm_records(settings).items()}


def _told_of_absence(system: str, systems: dict[str, int | None]) -> str:
    """Say that no process of this machine keeps the system, which may be on the cluster all the same."""
    there = " here, but on the cluster: kept by a service, by `up` on another machine, or left behind"
    return f"not up{there if system in systems else ''}\n{_told_of_systems(systems)}"


def _told_of_systems(systems: dict[str, int | None]) -> str:
    told = ", ".join(f"{name} ({f'process {pid}' if pid else 'on the cluster'})" for name, pid in systems.items())
    return f"systems: {told}\n" if told else ""


def _end_on_cluster(settings: Settings) -> bool:
    from serve.runtimes.ray_runtime import end_named_system

    return end_named_system(settings)


def _check_settings(record: WarmRecord, settings: Settings) -> None:
    if record.settings_digest != settings_digest(settings):
        raise ClusterError(
            f"a system with other settings is up (process {record.pid}); run `jeeves down` first", pid=record.pid
        )


def _described(state: dict[str, Any]) -> str:
    minutes = (time.time() - state["started_at_ms"] / 1000) / 60
    endpoints = state["bus"]["endpoints"]
    away = [address for address, presence in endpoints.items() if presence != "connected"]
    return (
        f"up: process {state['pid']} for {minutes:.1f} min, ray {state['ray_address']}\n"
        f"{state['questions_answered']} questions answered, {state['runs_under_way']} runs under way\n"
        f"{len(endpoints)} endpoints on the bus, away: {', '.join(away) or 'none'}; "
        f"{state['bus']['parked']} frames parked, {state['bus']['dead_letters']} dead letters, "
        f"{len(state['bus']['middleware'].get('circuit_breaker', {}))} types of queries failing\n"
        f"{len(state['bus']['handlers'])} types of messages have a handler, "
        f"{len(state['bus']['subscribers'])} types of events have subscribers\n"
        f"{_models(state['models'])}{_places(state['model_places'])}{_tools(state.get('tools', []))}"
    )


def _tools(tools: list[dict[str, Any]]) -> str:
    """Describe the tools that were called in the last fifteen minutes; empty if none was."""
    return "".join(
        f"tool {tool['tool']}: {tool['health']}, {tool['calls']} calls, {tool['failures']} failed, "
        f"{tool['mean_ms']} ms each{_breakers(tool)}\n"
        for tool in tools
    )


def _breakers(tool: dict[str, Any]) -> str:
    if not tool["open_in"]:
        return ""
    after_s = max(0.0, tool["probe_at_ms"] / 1000 - time.time())
    scopes = "one place" if tool["open_in"] == 1 else f"{tool['open_in']} places"
    return f", not called now in {scopes}, next try in {after_s:.0f} s"


def _models(breakers: dict[str, str]) -> str:
    """Describe the circuit breaker of each deployment; empty if no model was called."""
    told = ", ".join(f"{deployment} {breaker}" for deployment, breaker in sorted(breakers.items()))
    return f"breakers of models: {told}\n" if told else ""


def _places(places: dict[str, list[int]]) -> str:
    """Describe the places of each deployment that is in use; empty if none is."""
    told = ", ".join(f"{name} {held} of {of}, {waiting} wait" for name, (held, of, waiting) in sorted(places.items()))
    return f"calls of models under way: {told}\n" if told else ""


def _start(settings: Settings, sources: str) -> WarmRecord:
    folder = warm_dir(settings)
    folder.mkdir(parents=True, exist_ok=True)
    log_path = folder / "daemon.log"
    if not is_locked(settings):
        log_path.unlink(missing_ok=True)
    with log_path.open("a") as log:
        command = [sys.executable, "-P", "-m", "serve.runtimes.daemon"]
        daemon = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, text=True
        )
    if daemon.stdin is not None:
        # It ended before it had read them: its log says why, and is reported below.
        with suppress(BrokenPipeError), daemon.stdin as given:
            given.write(f"{settings.json_with_secrets()}\n{sources}")

    def is_settled() -> bool:
        if read_record(settings) is not None:
            return True
        # If two are started at once, the second ends and its caller gets the first.
        return daemon.poll() is not None and not is_locked(settings)

    settled = _within(UP_TIMEOUT_S, is_settled)
    record = read_record(settings)
    if record is not None:
        return record
    if not settled:
        daemon.kill()
    raise ClusterError(f"the system did not come up: {_last_words(log_path)}; see {log_path}")


def _last_words(log_path: Path) -> str:
    lines = [line for line in log_path.read_text(errors="replace").splitlines() if line.strip()]
    own = [line.removeprefix("jeeves: ") for line in lines if line.startswith("jeeves: ")]
    return (own or lines or [f"no output within {UP_TIMEOUT_S:g} s"])[-1]


def _within(timeout_s: float, condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(POLL_EVERY_S)
    return True
