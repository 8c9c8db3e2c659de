"""The run logs of a state folder: which there are, what is in them, and the rules under which a run began.

Reading never makes or changes a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import SettingsError, StateStorageError, UnknownNameError, WireError
from runtime.ids import RunId
from runtime.pipeline import PipelineConfig
from runtime.settings import Settings
from runtime.store.run_log import RunSummary, SqliteRunLog
from runtime.supervision.events import Event, RunRequested
from serve.wiring import load_named_pipeline


def newest_runs(state_dir: Path, limit: int) -> list[RunSummary]:
    """The newest runs of every log, at most `limit`."""
    found: list[RunSummary] = []
    for path in _log_paths(state_dir):
        with _opened(path) as log:
            found += log.runs(limit)
    return sorted(found, key=lambda run: run.started_at_ms, reverse=True)[:limit]


def events_of(state_dir: Path, run_id: RunId) -> list[Event]:
    """Everything that is recorded of a run. Raises UnknownNameError."""
    with _opened(_path_of(state_dir, run_id)) as log:
        return _events(log, run_id)


@contextmanager
def log_to_go_on_with(state_dir: Path, run_id: RunId) -> Iterator[SqliteRunLog]:
    """The log of a run, open for writing. Raises UnknownNameError."""
    log = SqliteRunLog(_path_of(state_dir, run_id))
    try:
        yield log
    finally:
        log.close()


def pipeline_of(settings: Settings, events: list[Event]) -> PipelineConfig:
    """The rules that a run began under. Raises SettingsError when they have changed since."""
    first = events[0].payload
    assert isinstance(first, RunRequested)
    pipeline = load_named_pipeline(settings, first.request.pipeline)
    if first.config_hash and first.config_hash != pipeline.config_hash:
        raise SettingsError(
            f"pipeline '{pipeline.name}' has changed since run {events[0].run_id} began "
            f"({first.config_hash} then, {pipeline.config_hash} now); its log cannot be read under other rules"
        )
    return pipeline


def _log_paths(state_dir: Path) -> list[Path]:
    return sorted((state_dir / "runs").glob("*.sqlite"))


def _path_of(state_dir: Path, run_id: RunId) -> Path:
    for path in _log_paths(state_dir):
        with _opened(path) as log:
            if _events(log, run_id):
                return path
    raise UnknownNameError(f"no run '{run_id}' in the logs of {state_dir}", name=run_id, known=[])


@contextmanager
def _opened(path: Path) -> Iterator[SqliteRunLog]:
    log = SqliteRunLog(path, readonly=True)
    try:
        yield log
    finally:
        log.close()


def _events(log: SqliteRunLog, run_id: RunId) -> list[Event]:
    try:
        return log.events(run_id)
    except WireError as error:
        raise StateStorageError(f"run log {log.path} cannot be read: {error.message}", path=str(log.path)) from error
