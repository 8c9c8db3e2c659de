"""Reads the run logs of the configured store: their runs, events, and pipeline versions.

Reading never creates or changes a log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from actors.log_owner import LEASE_MS, LogOwner
from runtime.errors import (
    DocumentFaults,
    InputError,
    NewerVersionError,
    OwnedError,
    RunStateError,
    SettingsError,
    StateStorageError,
    UnknownNameError,
    WireError,
)
from runtime.hosting.pinned_pipelines import PinnedPipelines
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.pipeline_versions import decode_pipeline
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.settings import Settings
from runtime.store.backends.backend_registry import backend_of
from runtime.store.opening import run_log_names
from runtime.store.options import StoreOptions, store_options
from runtime.store.run_log import Lease, RunLog, RunPlace, RunSummary, SqlRunLog
from runtime.store.unowned_logs import reading
from runtime.supervision.events import Event, request_event
from serve.asked_runs import AskedRun, whole_questions
from serve.pipeline_files import load_named_pipeline
from serve.wiring import local_log_owner

LEASE_S = LEASE_MS / 1000
LOOK_AGAIN_S = 0.1
MOST_RUNS = 2**31
LOOKED_AT_ONCE = 500


class ListedRun(AskedRun, frozen=True):
    """Describes a run in a list with its whole question; `stays` is the reason why it cannot be resumed, if so."""

    stays: str | None = None


class RecordedRun(NamedTuple):
    """Holds the events of a run, its pipeline version, and the reason why it cannot be resumed, if so."""

    events: list[Event]
    rules: PipelineConfig
    stays: str | None


class StoredRun(NamedTuple):
    """Holds the events of a run, and the rules that it began under."""

    events: list[Event]
    rules: PipelineConfig


def newest_runs(
    options: StoreOptions, limit: int, user_id: str, before: RunPlace | None = None, finished: bool | None = None
) -> list[RunSummary]:
    """Return the newest runs of a user in all logs, at most `limit`; with `before`, those that follow it.

    `finished`: only runs that are over, or only those that are not.
    """
    return [run for _, run in _newest(options, limit, user_id, before, finished)]


def visible_runs(
    options: StoreOptions,
    limit: int,
    may_see: Callable[[str], bool],
    before: RunPlace | None = None,
    finished: bool | None = None,
) -> list[RunSummary]:
    """Return the newest runs as `newest_runs`, of all users of whom `may_see` is true."""
    found: list[RunSummary] = []
    while True:
        page = _newest(options, LOOKED_AT_ONCE, None, before, finished)
        found += [run for _, run in page if may_see(run.user_id)]
        if len(found) >= limit or len(page) < LOOKED_AT_ONCE:
            return found[:limit]
        last = page[-1][1]
        before = RunPlace(last.started_at_ms, last.run_id)


def rules_of(options: StoreOptions, run_id: RunId) -> PipelineConfig | None:
    """Return the rules that a run of any log began under, without reading its events; None if they were not kept."""
    for name in run_log_names(options):
        with reading(options, name) as log:
            run = log.summary(run_id)
            if run is None:
                continue
            rules = log.rules(run.config_hash) if run.config_hash else None
            return None if rules is None else decode_pipeline(rules, run.config_hash)
    return None


def unfinished_runs(options: StoreOptions, user_id: str, session_ids: Collection[str]) -> list[RunId]:
    """Return the runs of a user in some sessions that are not finished."""
    found = []
    for name in run_log_names(options):
        with reading(options, name) as log:
            runs = log.runs(MOST_RUNS, user_id, finished=False)
            found += [run.run_id for run in runs if run.session_id in session_ids]
    return found


def no_such_event(run_id: RunId, seq: int) -> InputError:
    """Return the error for a number that no event of a run has."""
    return InputError(f"run {run_id} has no event {seq} yet; send the number of the last event received", run_id=run_id)


def stored_run(options: StoreOptions, run_id: RunId, may_see: Callable[[str], bool]) -> StoredRun:
    """Return a run of any log, whichever system drives it, if `may_see` is true of its user.

    Raises UnknownNameError, and RunStateError if its rules were not kept. For a run that may not be seen it takes the
    same steps as for one that is not there.
    """
    followed = FollowedLog(options, run_id, may_see)
    return StoredRun(followed.news(), followed.rules)


class FollowedLog:
    """Reads a run of any log, whichever system drives it, piece by piece as it grows."""

    def __init__(self, options: StoreOptions, run_id: RunId, may_see: Callable[[str], bool]) -> None:
        """Nothing is read yet. `may_see`: whether the caller may see a run of this user."""
        self._options = options
        self._run_id = run_id
        self._may_see = may_see
        self._name: str | None = None
        self._rules: PipelineConfig | None = None
        self._last_seq = 0

    def news(self) -> list[Event]:
        """Return the events that follow those returned before. Raises UnknownNameError, as `stored_run` does."""
        if self._name is None:
            self._name = _visible_log_of(self._options, self._run_id, self._may_see)
        with reading(self._options, self._name) as log:
            events = _events(log, self._run_id, self._last_seq)
            if self._rules is None and events:
                self._rules = PinnedPipelines({}, log).to_read(request_event(events))
        self._last_seq = events[-1].seq if events else self._last_seq
        return events

    @property
    def rules(self) -> PipelineConfig:
        """The rules that the run began under, after the first `news`. Raises RunStateError if they were not kept."""
        if self._rules is None:
            told = f"run {self._run_id} cannot be read: the rules that it began under were not kept"
            raise RunStateError(told, run_id=self._run_id)
        return self._rules


def listed_runs(settings: Settings, limit: int) -> list[ListedRun]:
    """Return the newest runs of all logs, at most `limit`, with the reason why an unfinished one cannot be resumed."""
    options = store_options(settings)
    newest = _newest(options, limit)
    questions: dict[RunId, str] = {}
    for log_name in dict.fromkeys(name for name, _ in newest):
        with reading(options, log_name) as log:
            questions |= whole_questions(log, [run.run_id for name, run in newest if name == log_name])
    listed = []
    for name, run in newest:
        stays = None
        if not run.finished and run.config_hash != _hash_of_today(settings, run.pipeline):
            with reading(options, name) as log:
                stays = _stays_in(settings, log, run.run_id)
        told = questions.get(run.run_id, "")
        listed.append(ListedRun(**msgspec.structs.asdict(run), question=told, stays=stays))
    return listed


def runs_of_session(settings: Settings, session_id: str) -> list[RunId]:
    """Return the runs of a session, oldest first. Raises UnknownNameError if there are none."""
    options = store_options(settings)
    found = []
    for name in run_log_names(options):
        with reading(options, name) as log:
            found += [run for run in log.runs(MOST_RUNS) if run.session_id == session_id]
    if not found:
        raise UnknownNameError(f"no run of a session '{session_id}' is recorded", name=session_id, known=[])
    return [run.run_id for run in sorted(found, key=lambda run: run.started_at_ms)]


def recorded_run(settings: Settings, run_id: RunId) -> RecordedRun:
    """Return a run and its pipeline version. Raises UnknownNameError, and SettingsError if the version was not kept."""
    options = store_options(settings)
    with reading(options, _log_of(options, run_id)) as log:
        events = _events(log, run_id)
        first = request_event(events)
        rules = _pinned(settings, log, first.request.pipeline).to_read(first)
        if rules is None:
            raise SettingsError(
                f"pipeline '{first.request.pipeline}' has changed since run {run_id} began, and the rules that it began"
                f" under ({first.config_hash}) were not kept; its log cannot be read under other rules"
            )
        return RecordedRun(events, rules, _stays(settings, log, events))


@contextmanager
def log_to_go_on_with(settings: Settings, run_id: RunId) -> Iterator[LogOwner]:
    """Acquire the log of a run.

    A lease that is not renewed belongs to a dead system; its expiry is awaited, at most `LEASE_S`. Raises
    UnknownNameError, and OwnedError if a live system owns the log.
    """
    options = store_options(settings)
    name = _log_of(options, run_id)
    with reading(options, name) as log:
        lease = _lasting_lease(log)
    if lease is not None:
        raise OwnedError(
            f"run {run_id} is owned by '{lease.holder}', which is alive; use that system, or stop it first",
            **msgspec.structs.asdict(lease),
        )
    owner = local_log_owner(settings, name)
    try:
        yield owner
    finally:
        owner.log.close()


def _lasting_lease(log: SqlRunLog) -> Lease | None:
    """Return the lease if its owner renews it; None if there is none, or it expired meanwhile."""
    clock, until = SystemClock(), time.monotonic() + LEASE_S
    first = lease = log.lease(clock.now_ms())
    while lease is not None and lease == first and time.monotonic() < until:
        time.sleep(LOOK_AGAIN_S)
        lease = log.lease(clock.now_ms())
    return lease


def _newest(
    options: StoreOptions,
    limit: int,
    user_id: str | None = None,
    before: RunPlace | None = None,
    finished: bool | None = None,
) -> list[tuple[str, RunSummary]]:
    found: list[tuple[str, RunSummary]] = []
    for name in run_log_names(options):
        with reading(options, name) as log:
            found += [(name, run) for run in log.runs(limit, user_id, finished, before)]
    return sorted(found, key=lambda named: (named[1].started_at_ms, named[1].run_id), reverse=True)[:limit]


def _hash_of_today(settings: Settings, pipeline: str) -> str | None:
    config = _today(settings, pipeline)
    return None if config is None else config.config_hash


def _stays(settings: Settings, log: RunLog, events: list[Event]) -> str | None:
    """Return the reason why a run cannot be resumed with the current pipelines; None if it can."""
    first = request_event(events)
    try:
        _pinned(settings, log, first.request.pipeline).to_go_on(first, "it began; it cannot go on")
    except (SettingsError, UnknownNameError) as error:
        return error.message
    return None


def _stays_in(settings: Settings, log: SqlRunLog, run_id: RunId) -> str | None:
    """Return the reason why a run of a log cannot be resumed, also if its events cannot be read."""
    try:
        return _stays(settings, log, _events(log, run_id))
    except (NewerVersionError, StateStorageError) as error:
        return error.message


def _pinned(settings: Settings, log: RunLog, pipeline: str) -> PinnedPipelines:
    config = _today(settings, pipeline)
    return PinnedPipelines({} if config is None else {pipeline: config}, log)


def _today(settings: Settings, pipeline: str) -> PipelineConfig | None:
    try:
        return load_named_pipeline(settings, pipeline)
    except (UnknownNameError, SettingsError, DocumentFaults):
        return None  # the stored version can still be read


def _visible_log_of(options: StoreOptions, run_id: RunId, may_see: Callable[[str], bool]) -> str:
    for name in run_log_names(options):
        with reading(options, name) as log:
            run = log.summary(run_id)
        if run is not None and may_see(run.user_id):
            return name
    raise UnknownNameError(f"no run '{run_id}' of this caller is recorded", name=run_id, known=[])


def _log_of(options: StoreOptions, run_id: RunId) -> str:
    for name in run_log_names(options):
        with reading(options, name) as log:
            if _events(log, run_id):
                return name
    place = backend_of(options).place(options)
    raise UnknownNameError(f"no run '{run_id}' in the logs of {place}", name=run_id, known=[])


def _events(log: SqlRunLog, run_id: RunId, after_seq: int = 0) -> list[Event]:
    try:
        return log.events(run_id, after_seq)
    except NewerVersionError:
        raise
    except WireError as error:
        raise StateStorageError(f"{log.location} cannot be read: {error.message}", location=log.location) from error
