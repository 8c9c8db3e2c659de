"""The bodies of small events in a run log: shorter than what they say, and the same when they are read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import WireError
from runtime.primitives.ids import RunId, StageKey
from runtime.store.compact_bodies import MAX_BYTES, compacted, expanded
from runtime.store.event_rows import event_of, row_of
from runtime.supervision.events import (
    CancelRequested,
    Event,
    Payload,
    StageStarted,
    StageSucceeded,
    StageUsage,
    encode_payload,
)

RUN = RunId("r-1")

numbers = st.integers(0, 2**40)
keys = st.builds(StageKey, st.sampled_from([RUN, RunId("r-2")]), numbers, numbers, numbers)
values = st.recursive(st.none() | st.booleans() | numbers | st.text(), lambda inner: st.lists(inner, max_size=3))
outputs = st.dictionaries(st.text(), values, max_size=4)
payloads = st.one_of(
    st.builds(StageStarted, keys),
    st.builds(StageSucceeded, keys, outputs, usage=st.builds(StageUsage, duration_ms=numbers)),
    st.builds(CancelRequested, st.text()),
)


def stored(payload: Payload) -> bytes:
    return row_of(Event(RUN, 3, 7, payload)).body


def read(body: bytes) -> Payload:
    return event_of(RUN, 3, 7, body).payload


@given(payloads)
def test_what_is_read_is_what_was_stored_and_never_took_more_room(payload: Payload) -> None:
    body = stored(payload)
    assert read(body) == payload
    assert len(body) <= len(encode_payload(Event(RUN, 3, 7, payload)))


@given(payloads, st.dictionaries(st.sampled_from(["newer", "newest"]), values, min_size=1))
def test_what_a_newer_version_wrote_in_an_event_stays_in_it(payload: Payload, newer: dict[str, Any]) -> None:
    told = msgspec.msgpack.decode(encode_payload(Event(RUN, 3, 7, payload))) | newer
    event = event_of(RUN, 3, 7, compacted(RUN, msgspec.msgpack.encode(told)))
    assert msgspec.msgpack.decode(expanded(RUN, row_of(event).body)) == told


def test_a_start_takes_a_few_bytes_and_a_result_little_more_than_its_output() -> None:
    key = StageKey(RUN, 12)
    assert stored(StageStarted(key)) == msgspec.msgpack.encode([0, 12, 0, 1])
    assert stored(StageSucceeded(key, {"n": 1})) == msgspec.msgpack.encode([1, 12, 0, 1, {"output": {"n": 1}}])


def test_bodies_that_were_stored_before_are_read_as_they_are() -> None:
    payload = StageSucceeded(StageKey(RUN, 12), {"n": 1})
    assert read(encode_payload(Event(RUN, 3, 7, payload))) == payload


@pytest.mark.parametrize(("beyond", "is_short"), [(-1, True), (0, True), (1, False)])
def test_only_small_bodies_are_taken_apart(beyond: int, is_short: bool) -> None:
    def told(characters: int) -> bytes:
        return encode_payload(Event(RUN, 3, 7, StageSucceeded(StageKey(RUN, 1), {"text": "x" * characters})))

    body = told(300 + MAX_BYTES + beyond - len(told(300)))
    assert len(body) == MAX_BYTES + beyond
    assert (len(compacted(RUN, body)) < len(body)) is is_short


@pytest.mark.parametrize(
    "damaged",
    [[], [0], [0, 1, 0], [0, 1, 0, 1, {}, {}], [-1, 1, 0, 1], [2, 1, 0, 1], [[], 1, 0, 1], [1, 1, 0, 1, 5]],
    ids=str,
)
def test_a_list_that_is_no_short_event_is_refused(damaged: list[Any]) -> None:
    with pytest.raises(WireError, match="are no event"):
        read(msgspec.msgpack.encode(damaged))


@pytest.mark.parametrize("body", [b"", b"\x94\x00", b"\x94\x00\x01\x00\x01\x01"], ids=["none", "cut", "more"])
def test_bytes_that_are_cut_short_or_go_on_are_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        read(body)
