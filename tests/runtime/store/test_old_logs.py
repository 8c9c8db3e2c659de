"""What older versions wrote stays readable: frozen run logs of every schema, events and envelopes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.pipeline.config import PipelineConfig
from runtime.run.envelope import Envelope, decode_envelope
from runtime.store.run_log import RunLog, SqliteRunLog
from runtime.supervision.events import CancelRequested, Event, decode_event
from runtime.supervision.replay import fold

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
FOLDERS = sorted(path.parent for path in CORPUS.glob("*/pipeline.json"))
LOGS = sorted(CORPUS.glob("*/schema_*.sqlite"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def frozen(folder: Path) -> tuple[PipelineConfig, dict[str, Any]]:
    wire = json.loads((folder / "pipeline.json").read_text(encoding="utf-8"))
    return PipelineConfig.model_validate(wire), msgspec.msgpack.decode((folder / "runs.msgpack").read_bytes())


def folded(log: RunLog, config: PipelineConfig, run_id: Any) -> Envelope:
    return of_any_rules(fold(config, log.events(run_id)).envelope)


def of_any_rules(envelope: Envelope) -> Envelope:
    """Rules get new settings with later versions, and another hash with them, though they say the same."""
    return msgspec.structs.replace(envelope, config_hash="")


def recorded(run: dict[str, Any]) -> Envelope:
    return of_any_rules(decode_envelope(run["envelope"]))


def test_there_is_something_frozen() -> None:
    assert FOLDERS
    assert {path.name for path in LOGS} >= {f"schema_{schema}.sqlite" for schema in (1, 2, 3)}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.name))
def test_frozen_events_and_envelopes_are_read_and_fold_to_what_was_recorded(folder: Path) -> None:
    config, runs = frozen(folder)
    for run in runs.values():
        events = [decode_event(data) for data in run["events"]]
        assert of_any_rules(fold(config, events).envelope) == recorded(run)


@pytest.mark.parametrize("path", LOGS, ids=name_of)
def test_an_old_log_is_brought_up_to_date_and_folds_to_what_was_recorded(path: Path, tmp_path: Path) -> None:
    config, runs = frozen(path.parent)
    copy = tmp_path / "runs.sqlite"
    shutil.copyfile(path, copy)
    for _ in range(2):  # once while it is migrated, once after
        log = SqliteRunLog(copy)
        for run_id, run in runs.items():
            assert folded(log, config, run_id) == recorded(run)
        rows = {row.run_id: row for row in log.runs(99)}
        assert {run_id: row.events for run_id, row in rows.items()} == {
            run_id: len(run["events"]) for run_id, run in runs.items()
        }
        assert {(row.user_id, row.session_id, row.pipeline) for row in rows.values()} == {("ann", "s-1", "frozen")}
        if not path.name.startswith("schema_1"):  # which knew no ends
            assert {row.run_id for row in log.unfinished()} == {
                run_id for run_id, run in runs.items() if not run["ended"]
            }
        log.close()
    log = SqliteRunLog(copy)
    assert log.take_over("next") == (1 if path.name.startswith("schema_1") else 8)
    row = log.unfinished()[-1]
    log.append(row.pipeline, Event(row.run_id, row.events + 1, row.last_at_ms, CancelRequested()), ends=True)
    log.close()


@pytest.mark.parametrize("path", LOGS, ids=name_of)
def test_who_only_looks_at_an_old_log_leaves_it_as_it_is(path: Path, tmp_path: Path) -> None:
    config, runs = frozen(path.parent)
    copy = tmp_path / "runs.sqlite"
    shutil.copyfile(path, copy)
    log = SqliteRunLog(copy, readonly=True)
    for run_id, run in runs.items():
        assert folded(log, config, run_id) == recorded(run)
    log.close()
    assert copy.read_bytes() == path.read_bytes()
