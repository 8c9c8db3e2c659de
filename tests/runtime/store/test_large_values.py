"""Large values of events: kept once by their hash, whole when they are read, gone with the last run that has them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import StateStorageError, WireError
from runtime.primitives.ids import RunId, StageKey
from runtime.run.envelope import Request
from runtime.store.event_rows import LARGE_BYTES, event_of, row_of
from runtime.store.run_log import RunLog, SqlRunLog
from runtime.store.run_records import Entry
from runtime.store.sql_run_log import IDS_AT_ONCE
from runtime.supervision.events import CancelRequested, Event, Payload, RunRequested, StageSucceeded, encode_event
from runtime.supervision.forking import with_run_id
from tests.runtime.store.conftest import LogOpener, Place

RUN = RunId("r-1")
KEY = StageKey(RUN, 1)

# What msgpack writes before a text of fewer than 64 KiB, and before a longer one.
HEAD_BYTES, LONG_HEAD_BYTES = 3, 5
TEXT = "x" * LARGE_BYTES
MANY = [{"line": number, "text": "y" * 90} for number in range(1_000)]


def gave(output: dict[str, Any], seq: int = 1, run_id: str = RUN) -> Event:
    return Event(RunId(run_id), seq, 7, StageSucceeded(KEY, output))


def wrapped(text: str) -> list[dict[str, Any]]:
    """Values at several depths, all of them beside small ones."""
    return [
        {"text": text},
        {"a": {"b": [1, {"c": text}, None]}, "small": "s"},
        {"items": [text, text, {"again": text}]},
    ]


LARGE: list[Payload] = [
    *(StageSucceeded(KEY, output) for output in wrapped(TEXT)),
    StageSucceeded(KEY, {"lines": MANY, "count": 3}),
    StageSucceeded(KEY, {f"k{number}": "z" * 500 for number in range(300)}),
    StageSucceeded(KEY, {"bytes": b"\x00\xff" * LARGE_BYTES, "numbers": {1: TEXT}}),
    RunRequested(Request("p", TEXT, metadata={"files": {"a.py": TEXT, "b.py": "small"}})),
    CancelRequested(TEXT),
]


@pytest.mark.parametrize("payload", LARGE, ids=range(len(LARGE)))
def test_an_event_with_large_values_comes_back_whole(open_log: LogOpener, payload: Payload) -> None:
    written = [Event(RUN, 1, 5, payload), gave({"small": 1}, 2), Event(RUN, 3, 6, payload)]
    open_log().append_all([Entry("p", event) for event in written])
    log = open_log()
    assert log.events(RUN) == written
    assert log.events(RUN, 1) == written[1:]
    assert log.events(RunId("r-2")) == []


@pytest.mark.parametrize(("more", "is_beside"), [(-1, False), (0, False), (1, True)])
def test_a_value_lies_beside_its_event_when_it_is_larger_than_the_limit(more: int, is_beside: bool) -> None:
    text = "x" * (LARGE_BYTES - HEAD_BYTES + more)
    row = row_of(gave({"text": text, "other": "y" * LARGE_BYTES}))
    assert [len(value.body) for value in row.large] == [LARGE_BYTES + 1] * is_beside + [LARGE_BYTES + LONG_HEAD_BYTES]


def test_an_event_that_is_small_is_one_row_without_its_run_and_number() -> None:
    event = gave({"text": "x" * 1_000})
    row = row_of(event)
    assert row.large == ()
    assert row.body == msgspec.msgpack.encode(event.payload)
    assert event_of(event.run_id, event.seq, event.at_ms, row.body) == event


def test_only_the_innermost_large_value_is_taken_out_and_the_rest_of_the_event_stays() -> None:
    row = row_of(gave({"found": {"text": TEXT, "file": "a.py"}}))
    (value,) = row.large
    assert msgspec.msgpack.decode(value.path) == ["output", "found", "text"]
    assert msgspec.msgpack.decode(row.body)["output"] == {"found": {"text": None, "file": "a.py"}}


def counts(place: Place) -> tuple[int, int]:
    """Values and references."""
    with place.open().read() as queries:
        tables = ("blobs", "blob_references")
        found = [queries.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables]
    return found[0], found[1]


def test_a_value_is_kept_once_for_all_events_and_runs_that_have_it(place: Place) -> None:
    log = SqlRunLog(place.open())
    first = [gave({"text": TEXT}), gave({"other": {"text": TEXT}}, 2)]
    log.append_all([Entry("p", event) for event in first])
    log.append_all([Entry("p", with_run_id(event, RunId("r-fork"))) for event in first])
    assert counts(place) == (1, 4)
    assert [event.payload for event in log.events(RunId("r-fork"))] == [
        with_run_id(event, RunId("r-fork")).payload for event in first
    ]


def test_a_value_goes_with_the_last_run_that_has_it(place: Place) -> None:
    log = SqlRunLog(place.open())
    for number, name in enumerate(("r-1", "r-2", "r-3")):
        log.append_all([Entry("p", msgspec.structs.replace(gave({"text": TEXT}, 1, name), at_ms=number), ends=True)])
    log.append("p", gave({"text": TEXT + name}, 1, "r-open"))
    assert log.drop_finished(1) == ["r-1"]
    assert counts(place) == (2, 3)
    assert log.events(RunId("r-2"))[0].payload == gave({"text": TEXT}).payload
    assert log.drop_finished(9) == ["r-2", "r-3"]
    assert counts(place) == (1, 1)
    assert log.events(RunId("r-open"))[0].payload == gave({"text": TEXT + name}).payload


def test_a_write_that_is_refused_keeps_no_value(place: Place) -> None:
    log = SqlRunLog(place.open())
    with pytest.raises(StateStorageError):
        log.append_all([Entry("p", gave({"text": TEXT})), Entry("p", gave({}, 9))])
    assert counts(place) == (0, 0)


@pytest.mark.parametrize(
    ("harm", "said"),
    [("UPDATE blobs SET body = ?", "is damaged: its content has another hash"), ("DELETE FROM blobs", "is not there")],
)
def test_a_value_that_is_damaged_or_gone_is_said_and_runs_without_it_are_read(
    place: Place, harm: str, said: str
) -> None:
    log = SqlRunLog(place.open())
    log.append_all([Entry("p", gave({"text": TEXT})), Entry("p", gave({"small": 1}, 1, "r-2"))])
    with place.open().transaction("spoil it") as changes:
        changes.execute(harm, (b"y",) if "?" in harm else ())
    with pytest.raises(StateStorageError, match=said):
        log.events(RUN)
    assert log.events(RunId("r-2")) == [gave({"small": 1}, 1, "r-2")]


def test_events_that_an_older_version_wrote_whole_are_read_beside_new_ones(place: Place) -> None:
    log = SqlRunLog(place.open())
    events = [gave({"text": TEXT}), gave({"text": TEXT}, 2)]
    log.append_all([Entry("p", event) for event in events])
    with place.open().transaction("write as before") as changes:
        changes.execute("DELETE FROM blob_references WHERE seq = 1")
        changes.execute("UPDATE run_events SET body = ? WHERE seq = 1", (encode_event(events[0]),))
    assert log.events(RUN) == events


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x81\xa4type\xa4none", encode_event(gave({}))[:-1]])
def test_bytes_that_are_no_event_are_said(body: bytes) -> None:
    with pytest.raises(WireError, match="are no event"):
        event_of(RUN, 1, 0, body)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4) | st.integers(0, 9), inner),
    max_leaves=8,
)


@given(plain, st.sampled_from([TEXT, TEXT * 2, MANY, {"deep": [MANY, TEXT]}]), st.lists(st.text(), max_size=3))
def test_whatever_stands_beside_a_large_value_comes_back_as_it_was(beside: Any, large: Any, names: list[str]) -> None:
    value: Any = [beside, large]
    for name in names:
        value = {name: value, f"{name} too": beside}
    event = gave({"found": value})
    row = row_of(event)
    assert row.large
    taken = [(part.path, part.body) for part in row.large]
    assert event_of(event.run_id, event.seq, event.at_ms, row.body, taken) == event


def test_the_log_of_a_run_in_memory_is_held_to_the_same(log: RunLog) -> None:
    log.append("p", gave({"text": TEXT}))
    assert log.events(RUN) == [gave({"text": TEXT})]


def test_lists_read_first_events_and_leave_out_those_with_large_values(place: Place) -> None:
    log = SqlRunLog(place.open())
    texts = {RunId(f"r-{number}"): f"question {number}" for number in range(IDS_AT_ONCE + 2)}
    texts[RunId("r-1")] = TEXT
    first = [Event(run_id, 1, 5, RunRequested(Request("p", text))) for run_id, text in texts.items()]
    log.append_all([Entry("p", event) for event in first])
    log.append_all([Entry("p", gave({}, 2, "r-0"))])
    found = log.first_events([*texts, RunId("r-unknown")])
    assert sorted(found, key=lambda event: event.run_id) == sorted(
        (event for event in first if event.run_id != "r-1"), key=lambda event: event.run_id
    )
    assert log.first_events([]) == []
