"""`jeeves runs`: what ran, how it ended, and why; read from the run logs, whether a system is up or not."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from runtime.envelope import Envelope
from runtime.errors import SettingsError, StateStorageError, UnknownNameError, WireError
from runtime.ids import RunId
from runtime.pipeline import PipelineConfig
from runtime.settings import Settings, load_settings
from runtime.store.run_log import RunSummary, SqliteRunLog
from runtime.supervision.events import Event, RunRequested
from runtime.supervision.replay import explain, fold
from serve.cli.ask import shown
from serve.wiring import load_named_pipeline

app = typer.Typer(help="Runs: what happened, how they ended, why.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option(help="Settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Run = Annotated[str, typer.Argument(help="Id of the run.")]

LISTED = 20


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="Runs at most, newest first.")] = LISTED,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """The newest runs of every log."""
    found: list[RunSummary] = []
    for log in _logs(load_settings(config)):
        found += log.runs(limit)
    newest = sorted(found, key=lambda run: run.started_at_ms, reverse=True)[:limit]
    if as_json:
        sys.stdout.write(json.dumps([msgspec.to_builtins(run) for run in newest]) + "\n")
        return
    for run in newest:
        sys.stdout.write(f"{run.run_id}  {_time(run.started_at_ms)}  {run.pipeline:24} {run.events} events\n")


@app.command("show")
def show(run_id: Run, config: Config = None) -> None:
    """The envelope of a run, as JSON."""
    settings = load_settings(config)
    events = _events(settings, run_id)
    envelope: Envelope = fold(_pipeline(settings, events), events).envelope
    sys.stdout.write(msgspec.json.encode(envelope).decode() + "\n")


@app.command("why")
def why(run_id: Run, as_json: AsJson = False, config: Config = None) -> None:
    """The chain of decisions that led to a run's end."""
    settings = load_settings(config)
    events = _events(settings, run_id)
    reasons = explain(_pipeline(settings, events), events)
    if as_json:
        sys.stdout.write(json.dumps([msgspec.to_builtins(reason) for reason in reasons], ensure_ascii=False) + "\n")
        return
    for reason in reasons:
        sys.stdout.write(shown(f"{reason.seq:4}  {_time(reason.at_ms)}  {reason.why}\n      → {reason.what}\n"))


@app.command("fork")
def fork(
    run_id: Run,
    at: Annotated[int, typer.Option(min=1, help="Event of the run's log up to which the past is the same.")],
    config: Config = None,
) -> None:
    """A new run with the same past and a future of its own, carried out in this process."""
    settings = load_settings(config)
    pipeline = _pipeline(settings, _events(settings, run_id))
    envelope = asyncio.run(_forked(settings, pipeline, RunId(run_id), at))
    sys.stdout.write(f"{envelope.run_id} {envelope.terminal_reason or envelope.lifecycle}\n")


async def _forked(settings: Settings, pipeline: PipelineConfig, source: RunId, at: int) -> Envelope:
    from serve.wiring import index_service, local_runner

    with _log_of(settings, source) as log:
        runner = local_runner(settings, pipeline, index_service(settings), log)
        try:
            run_id = await runner.fork(source, at)
            async for _ in runner.watch(run_id):
                if runner.envelope(run_id).lifecycle == "waiting":
                    break  # for an answer, which nobody can give here
            return runner.envelope(run_id)
        finally:
            await runner.close()


def _events(settings: Settings, run_id: str) -> list[Event]:
    with _log_of(settings, RunId(run_id)) as log:
        return log.events(RunId(run_id))


@contextmanager
def _log_of(settings: Settings, run_id: RunId) -> Iterator[SqliteRunLog]:
    for log in _logs(settings):
        try:
            is_there = bool(log.events(run_id))
        except WireError as error:
            raise StateStorageError(
                f"run log {log.path} cannot be read: {error.message}", path=str(log.path)
            ) from error
        if is_there:
            yield log
            return
    raise UnknownNameError(f"no run '{run_id}' in the logs of {settings.state_dir}", name=run_id, known=[])


def _logs(settings: Settings) -> Iterator[SqliteRunLog]:
    for path in sorted((settings.state_dir / "runs").glob("*.sqlite")):
        log = SqliteRunLog(path)
        try:
            yield log
        finally:
            log.close()


def _pipeline(settings: Settings, events: list[Event]) -> PipelineConfig:
    """The rules that a run began under. Raises SettingsError when they have changed since."""
    first: Any = events[0].payload
    assert isinstance(first, RunRequested)
    pipeline = load_named_pipeline(settings, first.request.pipeline)
    if first.config_hash and first.config_hash != pipeline.config_hash:
        raise SettingsError(
            f"pipeline '{pipeline.name}' has changed since run {events[0].run_id} began "
            f"({first.config_hash} then, {pipeline.config_hash} now); its log cannot be read under other rules"
        )
    return pipeline


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
