"""`jeeves runs`: what ran, how it ended, and why; read from the run logs, whether a system is up or not."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from runtime.envelope import Envelope
from runtime.ids import RunId
from runtime.pipeline import PipelineConfig
from runtime.settings import Settings, load_settings
from runtime.supervision.replay import explain, fold
from serve.cli import run_control
from serve.cli.answering import shown
from serve.run_logs import events_of, log_to_go_on_with, newest_runs, pipeline_of

app = typer.Typer(help="Runs: what happened, how they ended, why; and what they are to do now.", no_args_is_help=True)
app.command("watch")(run_control.watch)
app.command("cancel")(run_control.cancel)
app.command("pause")(run_control.pause)
app.command("resume")(run_control.resume)

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
    newest = newest_runs(load_settings(config).state_dir, limit)
    if as_json:
        sys.stdout.write(json.dumps([msgspec.to_builtins(run) for run in newest]) + "\n")
        return
    for run in newest:
        sys.stdout.write(f"{run.run_id}  {_time(run.started_at_ms)}  {run.pipeline:24} {run.events} events\n")


@app.command("show")
def show(run_id: Run, config: Config = None) -> None:
    """The envelope of a run, as JSON."""
    settings = load_settings(config)
    events = events_of(settings.state_dir, RunId(run_id))
    envelope: Envelope = fold(pipeline_of(settings, events), events).envelope
    sys.stdout.write(msgspec.json.encode(envelope).decode() + "\n")


@app.command("why")
def why(run_id: Run, as_json: AsJson = False, config: Config = None) -> None:
    """The chain of decisions that led to a run's end."""
    settings = load_settings(config)
    events = events_of(settings.state_dir, RunId(run_id))
    reasons = explain(pipeline_of(settings, events), events)
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
    pipeline = pipeline_of(settings, events_of(settings.state_dir, RunId(run_id)))
    envelope = asyncio.run(_forked(settings, pipeline, RunId(run_id), at))
    sys.stdout.write(f"{envelope.run_id} {envelope.terminal_reason or envelope.lifecycle}\n")


async def _forked(settings: Settings, pipeline: PipelineConfig, source: RunId, at: int) -> Envelope:
    from serve.wiring import index_service, local_runner

    with log_to_go_on_with(settings.state_dir, source) as log:
        runner = local_runner(settings, pipeline, index_service(settings), log)
        try:
            run_id = await runner.fork(source, at)
            async for _ in runner.watch(run_id):
                if runner.envelope(run_id).lifecycle == "waiting":
                    break  # for an answer, which nobody can give here
            return runner.envelope(run_id)
        finally:
            await runner.close()


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
