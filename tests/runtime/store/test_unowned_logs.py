"""Which logs may be adopted, and in which log a run lies: of files and of a server, whoever wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.opening import open_run_log
from runtime.store.options import StoreOptions
from runtime.store.unowned_logs import find_run, unowned_logs
from runtime.supervision.events import CancelRequested, Event, RunRequested

NOW_MS = 1_000_000
LEASE_MS = 5_000


@pytest.fixture
def store(tmp_path: Path) -> StoreOptions:
    return StoreOptions(folder=str(tmp_path))


def begun(store: StoreOptions, name: str, run_id: str, finished: bool = False, owned_ms: int | None = None) -> None:
    """A log with one run, and with a lease that begins at `owned_ms`."""
    log = open_run_log(store, name)
    if owned_ms is not None:
        log.take_over(f"owner of {name}", owned_ms, LEASE_MS)
    log.append("line", Event(RunId(run_id), 1, NOW_MS, RunRequested(Request("line", "why?"))))
    if finished:
        log.append("line", Event(RunId(run_id), 2, NOW_MS, CancelRequested()), ends=True)
    log.close()


@pytest.mark.parametrize(("left_ms", "is_unowned"), [(1, False), (0, True), (-1, True)])
def test_a_log_may_be_adopted_from_the_end_of_its_lease_on(store: StoreOptions, left_ms: int, is_unowned: bool) -> None:
    begun(store, "supervisor-1", "r-1", owned_ms=NOW_MS - LEASE_MS + left_ms)
    found = unowned_logs(store, NOW_MS)
    assert [(each.name, each.since_ms) for each in found.unowned] == (
        [("supervisor-1", NOW_MS + left_ms)] if is_unowned else []
    )
    assert found.next_end_ms == (None if is_unowned else NOW_MS + left_ms)


def test_logs_that_never_had_an_owner_may_be_adopted_and_those_without_open_runs_need_not(store: StoreOptions) -> None:
    begun(store, "local", "r-1")
    begun(store, "one-off-0-0", "r-2", finished=True)
    begun(store, "mine-0", "r-3")
    found = unowned_logs(store, NOW_MS, held={"mine-0"})
    assert [(each.name, each.since_ms, [row.run_id for row in each.unfinished]) for each in found.unowned] == [
        ("local", 0, ["r-1"])
    ]


def test_an_owner_finds_the_logs_that_its_former_process_took(store: StoreOptions) -> None:
    begun(store, "a-0", "r-1", owned_ms=NOW_MS)
    begun(store, "b-0", "r-2", owned_ms=NOW_MS)
    found = unowned_logs(store, NOW_MS, holder="owner of b-0")
    assert [each.name for each in found.unowned] == ["b-0"]


def test_a_run_is_found_in_whichever_log_it_lies(store: StoreOptions) -> None:
    begun(store, "supervisor-0", "r-1", owned_ms=NOW_MS)
    begun(store, "one-off-0-3", "r-2", finished=True)
    first, second = find_run(store, RunId("r-1"), NOW_MS), find_run(store, RunId("r-2"), NOW_MS)
    assert first is not None and first.log_name == "supervisor-0"
    assert first.lease is not None and first.lease.holder == "owner of supervisor-0"
    assert second is not None and (second.log_name, second.lease, second.summary.finished) == (
        "one-off-0-3",
        None,
        True,
    )
    assert find_run(store, RunId("r-3"), NOW_MS) is None
    assert find_run(store, RunId("r-1"), NOW_MS, held={"supervisor-0"}) is None


def test_a_damaged_log_keeps_nobody_from_the_others(store: StoreOptions, tmp_path: Path) -> None:
    begun(store, "z-0", "r-1")
    (tmp_path / "runs" / "a-0.sqlite").write_bytes(b"no database at all, and long enough to be read as one" * 20)
    assert [each.name for each in unowned_logs(store, NOW_MS).unowned] == ["z-0"]
    assert find_run(store, RunId("r-1"), NOW_MS) is not None


def test_a_release_says_since_when_nobody_owns_the_log(store: StoreOptions) -> None:
    begun(store, "supervisor-0", "r-1")
    log = open_run_log(store, "supervisor-0")
    log.release(log.take_over("one", NOW_MS, LEASE_MS), NOW_MS + 10)
    log.close()
    assert [each.since_ms for each in unowned_logs(store, NOW_MS + 10).unowned] == [NOW_MS + 10]
