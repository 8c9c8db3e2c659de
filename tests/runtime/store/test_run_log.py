"""The run log: one suite for every backend; a number that is not the next is refused."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from runtime.database.sqlite_database import FILE_FORMAT
from runtime.errors import StateStorageError, WireError
from runtime.primitives.ids import GoalId, RunId, StageKey
from runtime.run.envelope import Request
from runtime.run.goals import Goal, GoalsPatch
from runtime.store.run_log import MemoryRunLog, RunLog, SqliteRunLog
from runtime.supervision.events import (
    CancelRequested,
    Event,
    Payload,
    RunRequested,
    StageSucceeded,
    StageUsage,
    decode_event,
)
from tests.runtime.store.conftest import LogOpener

RUN = RunId("r-1")


def event(seq: int, run_id: str = RUN, payload: Payload | None = None, at_ms: int = 0) -> Event:
    return Event(RunId(run_id), seq, at_ms, payload or CancelRequested("why"))


def test_events_come_back_in_order_and_whole(log: RunLog) -> None:
    goals = GoalsPatch(add=(Goal(GoalId("g"), "find"),))
    key = StageKey(RUN, 1)
    written = [
        event(1, payload=RunRequested(Request("p", "wörds?", metadata={"repo": "/r"}))),
        event(2, payload=StageSucceeded(key, {"x": [1, None, {"y": 1.5}]}, goals, None, StageUsage(tool_calls=2))),
        event(3),
    ]
    for one in written:
        log.append("p", one)
    assert log.events(RUN) == written


def test_a_run_that_is_not_there_has_no_events(log: RunLog) -> None:
    assert log.events(RunId("r-none")) == []
    assert log.runs(10) == []


@pytest.mark.parametrize("seq", [-1, 0, 1, 2, 4])
def test_a_number_that_is_not_the_next_is_refused_and_changes_nothing(log: RunLog, seq: int) -> None:
    log.append("p", event(1))
    log.append("p", event(2))
    with pytest.raises(StateStorageError, match=f"event {seq} of run r-1 is not the next one"):
        log.append("p", event(seq, payload=CancelRequested("thief")))
    assert log.events(RUN) == [event(1), event(2)]
    log.append("p", event(3))


def test_a_first_number_other_than_one_is_refused(log: RunLog) -> None:
    with pytest.raises(StateStorageError):
        log.append("p", event(2))


def test_runs_are_kept_apart_and_listed_newest_first(log: RunLog) -> None:
    for number, name in enumerate(["r-a", "r-b", "r-c"]):
        log.append(f"p-{name}", event(1, name, at_ms=number * 10))
    log.append("p-r-a", event(2, "r-a", at_ms=99))
    rows = log.runs(2)
    assert [(row.run_id, row.pipeline, row.started_at_ms, row.events) for row in rows] == [
        ("r-c", "p-r-c", 20, 1),
        ("r-b", "p-r-b", 10, 1),
    ]
    assert [row.events for row in log.runs(9)] == [1, 1, 2]


def test_a_reader_of_memory_cannot_change_the_log() -> None:
    log = MemoryRunLog()
    log.append("p", event(1))
    log.events(RUN).clear()
    assert log.events(RUN) == [event(1)]


def test_events_outlive_the_process_that_wrote_them(tmp_path: Path) -> None:
    first = SqliteRunLog(tmp_path / "runs.db")
    first.append("p", event(1))
    first.close()
    second = SqliteRunLog(tmp_path / "runs.db")
    assert second.events(RUN) == [event(1)]
    second.append("p", event(2))
    second.close()


def test_of_two_owners_of_a_file_only_one_can_write_a_step(tmp_path: Path) -> None:
    first, second = SqliteRunLog(tmp_path / "runs.db"), SqliteRunLog(tmp_path / "runs.db")
    first.append("p", event(1))
    with pytest.raises(StateStorageError, match="another owner"):
        second.append("p", event(1, payload=CancelRequested("other")))
    second.append("p", event(2))
    assert first.events(RUN) == [event(1), event(2)]
    first.close()
    second.close()


def test_threads_may_write_their_runs_at_once(tmp_path: Path) -> None:
    log = SqliteRunLog(tmp_path / "runs.db")

    def write(name: str) -> None:
        for seq in range(1, 31):
            log.append("p", event(seq, name))

    threads = [threading.Thread(target=write, args=(f"r-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(log.events(RunId(f"r-{n}"))) for n in range(4)] == [30] * 4
    log.close()


def test_a_log_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    SqliteRunLog(tmp_path / "runs.db").close()
    database = sqlite3.connect(tmp_path / "runs.db")
    database.execute(f"PRAGMA user_version={FILE_FORMAT + 1}")
    database.close()
    with pytest.raises(StateStorageError, match="upgrade jeeves"):
        SqliteRunLog(tmp_path / "runs.db")


def test_a_file_that_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(b"this is no database, it is only text " * 50)
    with pytest.raises(StateStorageError, match=r"runs\.db cannot be opened"):
        SqliteRunLog(path)


def test_a_place_that_cannot_hold_a_log_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StateStorageError, match="cannot be opened"):
        SqliteRunLog(tmp_path / "file" / "runs.db")


def test_what_cannot_be_written_is_an_error_that_names_run_and_event(tmp_path: Path) -> None:
    log = SqliteRunLog(tmp_path / "runs.db")
    log.append("p", event(1))
    log.close()
    with pytest.raises(StateStorageError, match="could not take event 2 of run r-1") as caught:
        log.append("p", event(2))
    assert caught.value.values["run_id"] == RUN


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x90", b"\xa5\x00\x00\x00\x00\x80", b"\x91" * 100_000 + b"\x90"])
def test_bytes_that_are_no_event_are_a_wire_error(data: bytes) -> None:
    with pytest.raises(WireError):
        decode_event(data)


# --- rules that runs began under


def test_rules_are_found_by_their_hash_after_the_log_was_opened_again(open_log: LogOpener) -> None:
    open_log().keep_rules("c0ffee", b'{"name": "p"}')
    open_log().keep_rules("decaf", b"\x00\xff")
    log = open_log()
    assert (log.rules("c0ffee"), log.rules("decaf"), log.rules("tea")) == (b'{"name": "p"}', b"\x00\xff", None)


def test_rules_that_are_kept_already_stay_as_they_were(log: RunLog) -> None:
    for rules in (b"first", b"second"):
        log.keep_rules("c0ffee", rules)
    assert log.rules("c0ffee") == b"first"


def test_rules_outlive_the_runs_that_began_under_them(log: RunLog) -> None:
    log.keep_rules("c0ffee", b"rules")
    log.append("p", event(1, at_ms=1), ends=True)
    assert log.drop_finished(2) == [RUN]
    assert log.rules("c0ffee") == b"rules"


def test_an_owner_that_was_deposed_may_keep_rules(log: RunLog) -> None:
    log.take_over("one")
    log.take_over("two")
    log.keep_rules("c0ffee", b"rules")
    assert log.rules("c0ffee") == b"rules"
