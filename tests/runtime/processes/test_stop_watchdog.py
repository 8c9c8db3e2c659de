"""Work that was told to stop: how long it has, and what becomes of work that has not stopped by then."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as some

from runtime.processes.stop_watchdog import STOP_PATIENCE_S, StopDeadlines, StopWatchdog

TIMES_S = some.floats(0, 1000, allow_nan=False)


def test_work_is_overdue_at_the_limit_and_not_before_it() -> None:
    deadlines = StopDeadlines()
    deadlines.told("stage", 100.0)
    limit_s = 100.0 + STOP_PATIENCE_S
    assert [bool(deadlines.overdue(limit_s + offset_s)) for offset_s in (-1, 0, 1)] == [False, True, True]
    assert deadlines.next_due_s() == limit_s


def test_work_that_is_told_twice_gets_no_more_time() -> None:
    deadlines = StopDeadlines(5)
    deadlines.told("stage", 100.0)
    deadlines.told("stage", 104.0)
    assert deadlines.overdue(105.0) == ["stage"]


def test_work_that_has_ended_is_not_awaited() -> None:
    deadlines = StopDeadlines(5)
    deadlines.told("one", 100.0)
    deadlines.told("other", 101.0)
    deadlines.ended("one")
    deadlines.ended("never told")
    assert (deadlines.overdue(1000.0), deadlines.next_due_s()) == (["other"], 106.0)
    deadlines.ended("other")
    assert (deadlines.overdue(1000.0), deadlines.next_due_s()) == ([], None)


@given(some.dictionaries(some.text(max_size=3), TIMES_S), TIMES_S)
def test_exactly_the_work_that_used_up_its_patience_is_overdue(told_s: dict[str, float], now_s: float) -> None:
    deadlines = StopDeadlines(5)
    for work, at_s in told_s.items():
        deadlines.told(work, at_s)
    assert deadlines.overdue(now_s) == [work for work, at_s in told_s.items() if at_s + 5 <= now_s]


def test_the_watchdog_reports_work_that_does_not_stop_and_goes_on_watching_the_next() -> None:
    stuck: list[list[str]] = []
    reported = threading.Semaphore(0)

    def on_stuck(work: list[str]) -> None:
        stuck.append(work)
        reported.release()

    watchdog = StopWatchdog(on_stuck, patience_s=0.01)
    for name in ("one", "other"):
        watchdog.told(name)
        assert reported.acquire(timeout=10)
    assert stuck == [["one"], ["other"]]


def test_the_watchdog_reports_nothing_of_work_that_stops() -> None:
    stuck: list[list[str]] = []
    reported = threading.Event()

    def on_stuck(work: list[str]) -> None:
        stuck.append(work)
        reported.set()

    watchdog = StopWatchdog(on_stuck, patience_s=0.2)
    watchdog.told("stops")
    watchdog.ended("stops")
    watchdog.told("stuck")  # due after the other would have been
    assert reported.wait(10)
    assert stuck == [["stuck"]]
