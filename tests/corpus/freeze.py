"""Freeze what this version writes, so that every later one can be held to reading it.

    python -m tests.corpus.freeze NAME

makes `tests/corpus/NAME/` with run logs of every file schema, the bare events and envelopes, and the pipeline that they
were made under. A folder that is there is never changed: what a version wrote stays as it was written.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import msgspec

from runtime.hosting.run_table import RunTable
from runtime.pipeline.config import PipelineConfig, as_wire
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import GoalId, RunId
from runtime.run.envelope import InterruptRequest, InterruptResponse, Request, encode_envelope
from runtime.run.goals import Goal, GoalsPatch
from runtime.store.run_log import MemoryRunLog, SqliteRunLog
from runtime.supervision.commands import Command, RunStage
from runtime.supervision.events import (
    CancelRequested,
    StageFailed,
    StageStarted,
    StageSucceeded,
    StageUsage,
    ToolCalled,
    encode_event,
)
from runtime.testing import PipelineBuilder

FOLDER = Path(__file__).resolve().parent

# The schemas of run logs before there was a ledger of components, as they were then.
EVENTS = (
    "CREATE TABLE IF NOT EXISTS events (run_id TEXT NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    " pipeline TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run_id, seq)) WITHOUT ROWID"
)
OLD_SCHEMAS: dict[int, tuple[str, ...]] = {
    1: (EVENTS,),
    2: (
        EVENTS,
        "CREATE TABLE IF NOT EXISTS ended (run_id TEXT PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS owner (one INTEGER PRIMARY KEY, epoch INTEGER, name TEXT)",
    ),
}


def pipeline() -> PipelineConfig:
    """Two stages, a loop between them, and one retry."""
    return (
        PipelineBuilder("frozen", max_iterations=2)
        .stage("look", default_next="judge", max_retries=1, has_tools=True, tool_access="read", allowed_tools=["find"])
        .stage("judge", default_next="end")
        .rule("again", True, "look", clear=("look",))
        .build()
    )


def made_runs(config: PipelineConfig) -> tuple[MemoryRunLog, RunTable, list[RunId]]:
    """One run that loops and completes, one that was asked a question, one that was cancelled, one under way."""
    log, clock = MemoryRunLog(), FakeClock()
    table = RunTable({config.name: config}, log, clock)

    def stage_of(commands: list[Command]) -> RunStage:
        return next(command for command in commands if isinstance(command, RunStage))

    def begun(name: str) -> tuple[RunId, RunStage]:
        request = Request(
            config.name, f"{name} wörds?", user_id="ann", session_id="s-1", metadata={"repo": "/r"}, wait=True
        )
        run_id, commands = table.submit(request, RunId(f"r-{name}"))
        return run_id, stage_of(commands)

    looped, stage = begun("looped")
    goals = GoalsPatch(add=(Goal(GoalId("g"), "find it"),))
    table.handle(looped, StageStarted(stage.key))
    table.handle(looped, ToolCalled(stage.key, "find", "ok", 12))
    found = {"x": [1, None, {"y": 1.5}], "text": "ä\n"}
    stage = stage_of(table.handle(looped, StageSucceeded(stage.key, found, goals, None, StageUsage(tool_calls=1))))
    stage = stage_of(table.handle(looped, StageSucceeded(stage.key, {"again": True})))
    table.handle(looped, StageFailed(stage.key, "tool", "it broke", recoverable=False))
    table.handle(looped, CancelRequested("enough"))

    asked, stage = begun("asked")
    table.handle(asked, StageSucceeded(stage.key, {}, interrupt=InterruptRequest("clarification", "which?")))
    interrupt = table.envelope(asked).interrupt
    assert interrupt is not None
    commands = table.answer(asked, interrupt.id, "ann", InterruptResponse("that one"))
    while not table.is_over(asked):
        commands = table.handle(asked, StageSucceeded(stage_of(commands).key, {"found": True}))

    cancelled, _ = begun("cancelled")
    table.handle(cancelled, CancelRequested("why"))
    open_run, stage = begun("open")
    table.handle(open_run, StageStarted(stage.key))
    return log, table, [looped, asked, cancelled, open_run]


def main(name: str) -> None:
    folder = FOLDER / name
    folder.mkdir()
    config = pipeline()
    log, table, run_ids = made_runs(config)
    frozen = {
        run_id: {
            "events": [encode_event(event) for event in log.events(run_id)],
            "envelope": encode_envelope(table.envelope(run_id)),
            "ended": table.is_over(run_id),
        }
        for run_id in run_ids
    }
    (folder / "runs.msgpack").write_bytes(msgspec.msgpack.encode(frozen))
    (folder / "pipeline.json").write_text(json.dumps(as_wire(config), indent=1) + "\n", encoding="utf-8")
    for schema, statements in OLD_SCHEMAS.items():
        db = sqlite3.connect(folder / f"schema_{schema}.sqlite", isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        for statement in (*statements, f"PRAGMA user_version={schema}"):
            db.execute(statement)
        for run_id in run_ids:
            for event in log.events(run_id):
                row = (run_id, event.seq, event.at_ms, config.name, encode_event(event))
                db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", row)
            if schema == 2 and table.is_over(run_id):
                db.execute("INSERT INTO ended VALUES (?)", (run_id,))
        if schema == 2:
            db.execute("INSERT INTO owner VALUES (1, 7, 'supervisor-0')")
        db.close()
    newest = SqliteRunLog(folder / "schema_3.sqlite")
    epoch = [newest.take_over("supervisor-0") for _ in range(7)][-1]
    for run_id in run_ids:
        events = log.events(run_id)
        for event in events:
            newest.append(config.name, event, epoch, table.is_over(run_id) and event is events[-1])
    newest.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
