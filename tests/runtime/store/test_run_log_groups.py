"""What a run log promises beyond single events, on every backend: groups, leases, summaries, snapshots, retention."""

from __future__ import annotations

import pytest

from runtime.errors import FencedError, OwnedError, StateStorageError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.run_log import Entry, Lease, RunLog, RunSummary, Snapshot
from runtime.supervision.events import CancelRequested, Event, Payload, RunRequested
from tests.runtime.store.conftest import LogOpener

A, B = RunId("r-a"), RunId("r-b")


def event(seq: int, run_id: RunId = A, at_ms: int = 0, payload: Payload | None = None) -> Event:
    return Event(run_id, seq, at_ms, payload or CancelRequested("why"))


def entry(seq: int, run_id: RunId = A, at_ms: int = 0, ends: bool = False) -> Entry:
    return Entry("p", event(seq, run_id, at_ms), ends)


def test_a_group_of_events_of_many_runs_is_kept_in_order(log: RunLog) -> None:
    log.append_all([entry(1), entry(1, B), entry(2), entry(3), entry(2, B)])
    assert log.events(A) == [event(1), event(2), event(3)]
    assert log.events(B) == [event(1, B), event(2, B)]


def test_an_empty_group_is_nothing(log: RunLog) -> None:
    log.append_all([])
    assert log.runs(9) == []


@pytest.mark.parametrize("wrong", [0, 1, 2, 4])
def test_of_a_group_with_a_wrong_number_nothing_is_kept(log: RunLog, wrong: int) -> None:
    log.append("p", event(1))
    with pytest.raises(StateStorageError, match="is not the next one"):
        log.append_all([entry(1, B), entry(2), entry(wrong), entry(2, B)])
    assert (log.events(A), log.events(B)) == ([event(1)], [])
    assert [row.events for row in log.runs(9)] == [1]


def test_of_a_group_of_a_deposed_owner_nothing_is_kept(open_log: LogOpener) -> None:
    old, new = open_log(), open_log()
    epoch = old.take_over("old")
    new.take_over("new")
    with pytest.raises(FencedError, match="'new' took this log over"):
        old.append_all([entry(1), entry(1, B)], epoch)
    assert new.runs(9) == []


@pytest.mark.parametrize(("after", "left"), [(-1, 3), (0, 3), (1, 2), (2, 1), (3, 0), (4, 0)])
def test_events_are_read_from_any_number_on(log: RunLog, after: int, left: int) -> None:
    log.append_all([entry(1), entry(2), entry(3)])
    assert [one.seq for one in log.events(A, after)] == [1, 2, 3][3 - left :]


def test_the_summary_of_a_run_says_whose_it_is_and_how_it_stands(open_log: LogOpener) -> None:
    log = open_log()
    request = Request("q", "what?", user_id="ann\x00", session_id="s-1")
    log.append_all([Entry("q", event(1, A, 5, RunRequested(request, config_hash="c0ffee")), lifecycle="running")])
    log.append_all([Entry("q", event(2, A, 7))])
    (row,) = open_log().runs(9)
    assert row == RunSummary(A, "q", 5, 2, False, 7, "ann\ufffd", "s-1", "c0ffee", "running", None)
    log.append_all([Entry("q", event(3, A, 8), True, "terminated", "user_cancelled")])
    log.append("q", event(4, A, 9))
    (row,) = open_log().runs(9)
    assert (row.finished, row.lifecycle, row.terminal_reason) == (True, "terminated", "user_cancelled")
    assert (row.events, row.last_at_ms, row.started_at_ms) == (4, 9, 5)


def test_runs_are_listed_by_user_and_by_whether_they_are_finished(log: RunLog) -> None:
    for number, (run_id, user) in enumerate([("r-1", "ann"), ("r-2", "bob"), ("r-3", "ann")]):
        payload = RunRequested(Request("p", "?", user_id=user))
        log.append("p", event(1, RunId(run_id), number, payload), ends=run_id == "r-1")
    assert [row.run_id for row in log.runs(9, user_id="ann")] == ["r-3", "r-1"]
    assert [row.run_id for row in log.runs(9, finished=False)] == ["r-3", "r-2"]
    assert [row.run_id for row in log.runs(9, user_id="ann", finished=True)] == ["r-1"]
    assert [row.run_id for row in log.runs(1, user_id="ann")] == ["r-3"]
    assert log.runs(9, user_id="' OR 1=1 --") == []


def test_a_lease_keeps_others_out_until_it_is_over(open_log: LogOpener) -> None:
    log = open_log()
    assert log.take_over("ann", now_ms=1_000, lease_ms=500) == 1
    with pytest.raises(OwnedError, match=r"'ann' holds .* for another 0.001 s;") as caught:
        open_log().take_over("bob", now_ms=1_499, lease_ms=500)
    assert (caught.value.values["holder"], caught.value.values["until_ms"]) == ("ann", 1_500)
    log.check_owner(1)
    assert open_log().take_over("bob", now_ms=1_500, lease_ms=500) == 2
    with pytest.raises(FencedError):
        log.check_owner(1)


def test_a_lease_that_is_renewed_lasts_longer_and_one_that_is_released_is_over(open_log: LogOpener) -> None:
    log = open_log()
    epoch = log.take_over("ann", 0, 100)
    log.renew(epoch, 90, 100)
    with pytest.raises(OwnedError):
        open_log().take_over("bob", 189, 100)
    log.release(epoch)
    second = open_log().take_over("bob", 100, 100)
    with pytest.raises(FencedError):
        log.renew(epoch, 150, 100)
    log.release(epoch)
    with pytest.raises(OwnedError, match="'bob'"):
        log.take_over("ann", 199, 100)
    assert second == 2


def test_a_lease_is_taken_by_force_and_by_owners_that_know_no_leases(open_log: LogOpener) -> None:
    log = open_log()
    log.take_over("ann", 0, 1_000)
    assert open_log().take_over("bob", 1, 1_000, force=True) == 2
    assert open_log().take_over("cat") == 3
    assert open_log().take_over("dan", 2, 1_000) == 4


def test_the_newest_snapshot_is_kept(open_log: LogOpener) -> None:
    log = open_log()
    log.append_all([entry(1), entry(2), entry(3)])
    assert log.snapshot(A) is None
    for seq in (1, 3, 2):
        log.save_snapshot(Snapshot(A, seq, b"state \x00 %d" % seq, "c0ffee"))
    assert open_log().snapshot(A) == Snapshot(A, 3, b"state \x00 3", "c0ffee")
    assert log.snapshot(B) is None


@pytest.mark.parametrize(("seq", "run_id"), [(0, A), (3, A), (1, B)])
def test_a_snapshot_that_is_not_of_the_log_is_refused(log: RunLog, seq: int, run_id: RunId) -> None:
    log.append_all([entry(1), entry(2)])
    with pytest.raises(StateStorageError, match="its log ends at"):
        log.save_snapshot(Snapshot(run_id, seq, b"x", ""))
    assert log.snapshot(run_id) is None


def test_a_deposed_owner_saves_no_snapshot(log: RunLog) -> None:
    old = log.take_over("old")
    log.append("p", event(1), old)
    log.take_over("new")
    with pytest.raises(FencedError):
        log.save_snapshot(Snapshot(A, 1, b"x", ""), old)


def test_of_finished_runs_that_are_old_enough_nothing_stays(open_log: LogOpener) -> None:
    log = open_log()
    log.append_all([entry(1, A, 10), entry(2, A, 20, ends=True), entry(1, B, 10), entry(2, B, 21, ends=True)])
    log.append("p", event(1, RunId("r-open"), 1))
    log.save_snapshot(Snapshot(A, 2, b"x", ""))
    assert log.drop_finished(20) == []
    assert log.drop_finished(21) == [A]
    again = open_log()
    assert (again.events(A), again.snapshot(A)) == ([], None)
    assert [row.run_id for row in again.runs(9)] == [B, "r-open"]
    assert again.drop_finished(22) == [B]


@pytest.mark.parametrize(("now_ms", "holder"), [(0, "one"), (99, "one"), (100, None), (101, None)])
def test_who_holds_the_lease_is_told_as_long_as_it_lasts(open_log: LogOpener, now_ms: int, holder: str | None) -> None:
    assert open_log().lease(now_ms) is None
    open_log().take_over("one", 0, 100)
    assert open_log().lease(now_ms) == (Lease(holder, 100) if holder else None)


def test_nobody_holds_a_log_that_was_released_or_taken_without_a_lease(open_log: LogOpener) -> None:
    log = open_log()
    log.release(log.take_over("one", 0, 100))
    assert open_log().lease(1) is None
    log.take_over("two")
    assert open_log().lease(1) is None
