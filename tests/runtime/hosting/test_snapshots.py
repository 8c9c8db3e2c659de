"""Snapshots: a long run is taken up from its newest state, and nobody can tell the difference."""

from __future__ import annotations

import msgspec
import pytest

from runtime.errors import StateStorageError
from runtime.hosting.run_table import RunTable
from runtime.hosting.snapshots import SNAPSHOT_EVERY
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.run_log import MemoryRunLog
from runtime.store.run_records import Entry, Snapshot
from runtime.supervision.commands import RunStage
from runtime.supervision.events import Event, StageStarted, StageSucceeded
from runtime.testing import PipelineBuilder

RUN = RunId("r-1")
LIMITS = [{"from": "a", "to": "a", "max_count": 1_000}]
LOOP = PipelineBuilder(max_agent_hops=1_000, edge_limits=LIMITS).stage("a", default_next="a").build()


class CountingLog(MemoryRunLog):
    """Notes how many events were read, and can refuse snapshots."""

    read = 0
    refuses = False

    def events(self, run_id: RunId, after_seq: int = 0) -> list[Event]:
        found = super().events(run_id, after_seq)
        self.read += len(found)
        return found

    def save_snapshot(self, snapshot: Snapshot, epoch: int | None = None) -> None:
        if self.refuses:
            raise StateStorageError("no room")
        super().save_snapshot(snapshot, epoch)


def table(log: MemoryRunLog) -> RunTable:
    return RunTable({"sample": LOOP}, log, FakeClock())


def with_events(log: MemoryRunLog, count: int, grouped: bool = False) -> RunTable:
    """A run with that many events in its log; two to a visit after the first."""
    runs = table(log)
    _, commands = runs.submit(Request("sample", "?"), RUN)
    while len(log._events[RUN]) < count:
        key = next(command.key for command in commands if isinstance(command, RunStage))
        if grouped:
            with runs.together():
                runs.handle(RUN, StageStarted(key))
                commands = runs.handle(RUN, StageSucceeded(key, {"n": key.hop}))
        else:
            runs.handle(RUN, StageStarted(key))
            commands = runs.handle(RUN, StageSucceeded(key, {"n": key.hop}))
    return runs


@pytest.mark.parametrize(("events", "is_kept"), [(SNAPSHOT_EVERY - 1, False), (SNAPSHOT_EVERY + 1, True)])
def test_a_state_is_kept_each_time_that_the_log_has_grown_so_far(events: int, is_kept: bool) -> None:
    log = MemoryRunLog()
    with_events(log, events)
    assert (log.snapshot(RUN) is not None) is is_kept


def test_a_state_is_kept_when_a_group_of_events_passes_the_mark() -> None:
    log = MemoryRunLog()
    with_events(log, SNAPSHOT_EVERY + 1, grouped=True)
    kept = log.snapshot(RUN)
    assert kept is not None
    assert kept.seq == SNAPSHOT_EVERY + 1


@pytest.mark.parametrize("events", [1, SNAPSHOT_EVERY - 1, SNAPSHOT_EVERY + 1, 2 * SNAPSHOT_EVERY + 31])
def test_a_run_that_is_taken_up_from_its_snapshot_is_the_run_that_its_whole_log_makes(events: int) -> None:
    log = CountingLog()
    first = with_events(log, events)
    log.read = 0
    with_snapshot = table(log)
    ((_, issued),) = with_snapshot.recover()
    assert log.read <= events % SNAPSHOT_EVERY + 1
    whole = MemoryRunLog()
    whole.append_all([Entry("sample", event) for event in log._events[RUN][:-1]])
    without = table(whole)
    ((_, issued_without),) = without.recover()
    assert issued == issued_without
    assert with_snapshot.envelope(RUN) == without.envelope(RUN)
    assert with_snapshot.client_events(RUN) == without.client_events(RUN)
    shown = len(without.client_events(RUN))
    for after in range(0, shown + 1, 37):
        assert with_snapshot.client_events(RUN, after) == without.client_events(RUN, after)
    assert first.client_events(RUN) == without.client_events(RUN)[: len(first.client_events(RUN))]


def test_a_run_under_other_rules_or_with_a_snapshot_of_another_version_is_read_from_its_beginning() -> None:
    log = MemoryRunLog()
    with_events(log, SNAPSHOT_EVERY + 1)
    kept = log.snapshot(RUN)
    assert kept is not None
    log._snapshots[RUN] = msgspec.structs.replace(kept, state=b"\x93\x01")
    again = table(log)
    assert len(list(again.recover())) == 1
    assert again.envelope(RUN).usage.agent_hops > SNAPSHOT_EVERY // 2


def test_a_snapshot_that_cannot_be_kept_does_no_harm() -> None:
    log = CountingLog()
    log.refuses = True
    with_events(log, SNAPSHOT_EVERY + 1)
    assert log.snapshot(RUN) is None
    assert len(list(table(log).recover())) == 1
