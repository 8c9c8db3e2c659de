"""What a newer version wrote: its fields and words survive at every level, and its runs are refused one by one."""

from __future__ import annotations

import logging
import pickle
import sqlite3
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import NewerVersionError, WireError
from runtime.hosting.run_table import RunTable
from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import GoalId, RunId, StageName
from runtime.run.envelope import (
    SCHEMA_VERSION,
    Envelope,
    HistoryRecord,
    HistoryStatus,
    Interrupt,
    InterruptRequest,
    InterruptResponse,
    InterruptStatus,
    Lifecycle,
    Request,
    StageStatus,
    TerminalReason,
    check_schema_version,
    decode_envelope,
    encode_envelope,
)
from runtime.run.goals import Goal, GoalBoard, GoalsPatch, GoalStatus
from runtime.store.compact_bodies import expanded
from runtime.store.event_rows import event_of, row_of
from runtime.store.run_log import SqliteRunLog
from runtime.supervision.commands import RunStage
from runtime.supervision.events import Event, StageSucceeded, StageUsage, decode_event, encode_event
from runtime.supervision.forking import with_run_id
from runtime.testing import PipelineBuilder
from tests.runtime.kernel.test_decide_properties import drive, seeds

NEWER = SCHEMA_VERSION + 1
FULL = Envelope(
    RunId("r-1"),
    Request("p", "?", metadata={"free": {"any": 1}}),
    outputs={"a": {"n": 1}},
    goals=GoalBoard((Goal(GoalId("g1"), "find"), Goal(GoalId("g2"), "read"))),
    history=(HistoryRecord(StageName("a"), 1, 1, 0, 5, "success"), HistoryRecord(StageName("a"), 1, 2, 5, 5, "error")),
    interrupt=Interrupt("r-1-q1", "clarification", "Which?", response=InterruptResponse("this")),
    stages={"a": "success"},
    terminal_reason="completed",
)

PLACES: list[tuple[str | int, ...]] = [
    (),
    ("request",),
    ("bounds",),
    ("usage",),
    ("goals",),
    ("goals", "goals", 1),
    ("history", 0),
    ("history", 1),
    ("interrupt",),
    ("interrupt", "response"),
]


def plain_of(envelope: Envelope) -> Any:
    return msgspec.to_builtins(envelope, order=None) | {"bounds": {}, "usage": {}}


def at(document: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        document = document[step]
    return document


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_field_that_this_version_does_not_know_survives_at_every_level_of_an_envelope(
    place: tuple[str | int, ...],
) -> None:
    document = plain_of(FULL)
    at(document, place)["colour"] = {"deep": ["red", 1]}
    read = decode_envelope(msgspec.msgpack.encode(document))
    changed = msgspec.structs.replace(read, terminal_detail="changed here")
    for kept in (read, changed):
        again = msgspec.msgpack.decode(encode_envelope(kept))
        assert at(again, place)["colour"] == {"deep": ["red", 1]}
        assert decode_envelope(encode_envelope(kept)) == kept
    assert msgspec.structs.replace(read, extra={}, extra_parts={}) == FULL


def test_a_field_of_a_question_does_not_move_to_the_next_question() -> None:
    document = plain_of(FULL)
    document["interrupt"]["colour"] = "red"
    read = decode_envelope(msgspec.msgpack.encode(document))
    asked_next = msgspec.structs.replace(read, interrupt=Interrupt("r-1-q2", "confirmation", "Sure?"))
    assert "colour" not in msgspec.msgpack.decode(encode_envelope(asked_next))["interrupt"]


WORDS: list[tuple[tuple[str | int, ...], str]] = [
    ((), "terminal_reason"),
    ((), "lifecycle"),
    (("stages",), "a"),
    (("history", 1), "status"),
    (("goals", "goals", 0), "status"),
    (("interrupt",), "kind"),
    (("interrupt",), "status"),
    (("interrupt", "response"), "decision"),
]


@pytest.mark.parametrize(("place", "name"), WORDS, ids=str)
def test_a_word_of_a_newer_version_is_read_as_text_and_written_back(place: tuple[str | int, ...], name: str) -> None:
    document = plain_of(FULL) | {"schema_version": NEWER}
    at(document, place)[name] = "rescheduled"
    read = decode_envelope(msgspec.msgpack.encode(document))
    assert at(msgspec.msgpack.decode(encode_envelope(read)), place)[name] == "rescheduled"
    with pytest.raises(WireError, match="Invalid enum value 'rescheduled'"):
        decode_envelope(msgspec.msgpack.encode(document | {"schema_version": SCHEMA_VERSION}))


def test_new_words_raise_the_schema_version() -> None:
    words = (TerminalReason, Lifecycle, StageStatus, InterruptStatus, HistoryStatus, GoalStatus, InterruptKind)
    counted = {2: 18 + 6 + 6 + 4 + 4 + 5 + 7}
    assert sum(len(typing.get_args(kind)) for kind in words) == counted[SCHEMA_VERSION], "raise SCHEMA_VERSION"


def test_a_run_of_a_newer_version_is_refused_with_both_versions_and_what_to_do() -> None:
    check_schema_version("r-1", SCHEMA_VERSION)
    with pytest.raises(NewerVersionError) as caught:
        check_schema_version("r-1", NEWER)
    assert caught.value.values == {"run_id": "r-1", "found": NEWER, "known": SCHEMA_VERSION}
    assert f"schema version {NEWER}, this program knows versions up to {SCHEMA_VERSION}" in caught.value.message
    assert pickle.loads(pickle.dumps(caught.value)).values == caught.value.values


# --- events


def succeeded() -> Event:
    goals = GoalsPatch(add=(Goal(GoalId("g"), "find"),))
    asked = InterruptRequest("clarification", "?")
    payload = StageSucceeded(msgspec.convert({"run_id": "r-1", "hop": 1}, KEY), {"n": 1}, goals, asked, StageUsage(1))
    return Event(RunId("r-1"), 2, 9, payload)


KEY: Any = typing.get_type_hints(StageSucceeded)["key"]
EVENT_PLACES: list[tuple[str | int, ...]] = [(), ("key",), ("goals",), ("goals", "add", 0), ("interrupt",), ("usage",)]


def stored(event: Event) -> Any:
    """The fields of an event as its row has them."""
    return msgspec.msgpack.decode(expanded(event.run_id, row_of(event).body))


@pytest.mark.parametrize("place", EVENT_PLACES, ids=str)
def test_a_field_that_this_version_does_not_know_survives_at_every_level_of_an_event(
    place: tuple[str | int, ...],
) -> None:
    event = succeeded()
    body = stored(event)
    at(body, place)["colour"] = {"deep": 1}
    read = event_of(RunId("r-1"), 2, 9, msgspec.msgpack.encode(body))
    assert read.payload == event.payload
    copied = with_run_id(read, RunId("r-fork"))
    for kept in (stored(copied), msgspec.msgpack.decode(encode_event(copied))["payload"]):
        assert at(kept, place)["colour"] == {"deep": 1}
    assert decode_event(encode_event(read)) == read
    assert copied.payload == with_run_id(event, RunId("r-fork")).payload


@settings(max_examples=40)
@given(seeds, st.integers(0, 2**32 - 1))
def test_unknown_fields_survive_in_any_event_of_any_run(seed: int, where: int) -> None:
    events = drive(seed).log
    event = events[where % len(events)]
    body = stored(event)
    body["colour"] = "red"
    read = event_of(event.run_id, event.seq, event.at_ms, msgspec.msgpack.encode(body))
    assert stored(read) == body
    assert read.payload == event.payload
    assert row_of(event_of(event.run_id, event.seq, event.at_ms, row_of(event).body)) == row_of(event)


# --- a supervisor that takes such a log up


PIPELINE = PipelineBuilder().stage("a").build()


def log_of_two_runs(folder: Path) -> Path:
    log = SqliteRunLog(folder / "runs.sqlite")
    runs = RunTable({"sample": PIPELINE}, log, FakeClock())
    for name in ("r-1", "r-2"):
        runs.submit(Request("sample", "?"), RunId(name))
    log.close()
    return folder / "runs.sqlite"


def rewrite(path: Path, **fields: Any) -> None:
    with sqlite3.connect(path) as db:
        (body,) = db.execute("SELECT body FROM run_events WHERE run_id = 'r-1' AND seq = 1").fetchone()
        newer = msgspec.msgpack.encode({**msgspec.msgpack.decode(body), **fields})
        db.execute("UPDATE run_events SET body = ? WHERE run_id = 'r-1' AND seq = 1", (newer,))
    db.close()


@pytest.mark.parametrize(
    ("fields", "found"),
    [({"schema_version": NEWER}, NEWER), ({"type": "run_dreamt"}, "run_dreamt")],
    ids=["schema version", "type of event"],
)
def test_a_run_of_a_newer_version_keeps_no_other_run_from_being_taken_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fields: dict[str, Any], found: object
) -> None:
    path = log_of_two_runs(tmp_path)
    rewrite(path, **fields)
    log = SqliteRunLog(path)
    runs = RunTable({"sample": PIPELINE}, log, FakeClock(), owner="next")
    with caplog.at_level(logging.ERROR):
        taken_up = dict(runs.recover())
    assert list(taken_up) == ["r-2"]
    assert any(isinstance(command, RunStage) for command in taken_up[RunId("r-2")])
    (told,) = [record for record in caplog.records if record.message == "run.not_taken_up"]
    assert told.run_id == "r-1"  # type: ignore[attr-defined]
    assert "newer version" in told.reason  # type: ignore[attr-defined]
    with pytest.raises(NewerVersionError) as caught:
        runs.envelope(RunId("r-1"))
    assert (caught.value.values["run_id"], caught.value.values["found"]) == ("r-1", found)
    log.close()


def test_a_run_that_lost_a_large_value_keeps_no_other_run_from_being_taken_up(tmp_path: Path) -> None:
    log = SqliteRunLog(tmp_path / "runs.sqlite")
    runs = RunTable({"sample": PIPELINE}, log, FakeClock())
    runs.submit(Request("sample", "?" * 100_000), RunId("r-1"))
    runs.submit(Request("sample", "?"), RunId("r-2"))
    log.close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as db:
        db.execute("DELETE FROM blobs")
    db.close()
    log = SqliteRunLog(tmp_path / "runs.sqlite")
    assert list(dict(RunTable({"sample": PIPELINE}, log, FakeClock(), owner="next").recover())) == ["r-2"]
    log.close()


def test_a_run_whose_log_is_damaged_keeps_no_other_run_from_being_taken_up(tmp_path: Path) -> None:
    path = log_of_two_runs(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE run_events SET body = ? WHERE run_id = 'r-1'", (b"\x81\xa4type",))
    db.close()
    log = SqliteRunLog(path)
    assert list(dict(RunTable({"sample": PIPELINE}, log, FakeClock(), owner="next").recover())) == ["r-2"]
    log.close()
