"""Frames on the wire: what is written is read back, and bytes that are no frame are refused as such."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bus.frames import (
    Frame,
    Header,
    Kind,
    decode_frame,
    decode_header,
    encode_frame,
    pack_body,
    reply_to,
    unpack_body,
)
from runtime.errors import WireError
from runtime.primitives.ids import Address, MessageId, RunId, new_message_id

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
kinds: st.SearchStrategy[Kind] = st.sampled_from(get_args(Kind))
headers = st.builds(
    Header,
    message_id=st.builds(MessageId, texts),
    kind=kinds,
    type=texts,
    source=st.builds(Address, texts),
    target=st.none() | st.builds(Address, texts),
    correlation_id=st.none() | st.builds(MessageId, texts),
    run_id=st.none() | st.builds(RunId, texts),
    deadline_ms=st.none() | st.integers(-(2**63), 2**63 - 1),
    trace_id=st.none() | texts,
    parent_id=st.none() | st.builds(MessageId, texts),
    incarnation=st.integers(0, 2**31),
    failed=st.booleans(),
    reason=st.none() | texts,
)
frames = st.builds(Frame, headers, st.binary(max_size=200))

PLAIN = Header(MessageId("m1"), "event", "a.type", Address("here"))


@given(frames)
def test_a_frame_is_read_as_it_was_written(frame: Frame) -> None:
    assert decode_frame(encode_frame(frame)) == frame


@given(frames)
def test_the_header_is_read_without_touching_the_body(frame: Frame) -> None:
    data = encode_frame(frame)
    header, body_at = decode_header(data)
    assert header == frame.header
    assert data[body_at:] == frame.body


@given(headers, st.data())
def test_a_frame_cut_short_in_its_header_is_refused(header: Header, data: st.DataObject) -> None:
    whole = encode_frame(Frame(header))
    with pytest.raises(WireError):
        decode_frame(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.binary(max_size=300))
def test_garbage_is_a_frame_or_a_wire_error_and_nothing_else(data: bytes) -> None:
    try:
        frame = decode_frame(data)
    except WireError:
        return  # the refusal is one of the two allowed outcomes
    assert isinstance(frame.header, Header)


@given(frames, st.data())
def test_a_flipped_byte_in_the_header_is_a_frame_or_a_wire_error(frame: Frame, data: st.DataObject) -> None:
    whole = bytearray(encode_frame(frame))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        decode_frame(bytes(whole))
    except WireError:
        return  # a change that is noticed; one in the body is not the frame's to notice


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x01\xc0",
        b"\0\0\0\x02\x81\xa1",
        (9).to_bytes(4, "big") + msgspec.msgpack.encode({"kind": 1}),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_bytes_that_are_no_frame_are_refused_with_their_size(data: bytes) -> None:
    with pytest.raises(WireError, match=f"{len(data)} bytes"):
        decode_frame(data)


def test_a_header_of_an_unknown_kind_is_refused() -> None:
    odd = msgspec.msgpack.encode({"message_id": "m", "kind": "shout", "type": "t", "source": "s"})
    with pytest.raises(WireError, match="unreadable"):
        decode_frame(len(odd).to_bytes(4, "big") + odd)


def test_fields_of_a_newer_version_in_a_header_are_passed_over() -> None:
    newer = msgspec.msgpack.encode({"message_id": "m", "kind": "event", "type": "t", "source": "s", "colour": "red"})
    assert decode_frame(len(newer).to_bytes(4, "big") + newer).header.message_id == "m"


@given(st.dictionaries(texts, texts | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none()))
def test_a_body_is_read_as_it_was_packed(value: dict[str, object]) -> None:
    assert unpack_body(pack_body(value)) == value


def test_an_empty_body_is_an_empty_map() -> None:
    assert unpack_body(b"") == {}


@pytest.mark.parametrize(
    "body",
    [
        b"\xc1",
        b"\x93\x01",
        b"\x81\xa1\x80\xc0",
        b"\x81\xa1a" + b"\x91" * 100_000,
        pack_body([1]),
        pack_body("text"),
        pack_body({1: 2}),
    ],
    ids=["no type", "cut short", "no text", "nested too deep", "list", "string", "number as key"],
)
def test_a_body_that_is_no_map_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        unpack_body(body)


def test_a_reply_goes_back_to_the_asker_under_the_id_of_the_query() -> None:
    query = Header(
        MessageId("q1"), "query", "look", Address("asker"), run_id=RunId("r-1"), trace_id="trace", deadline_ms=5
    )
    reply = reply_to(query, Address("answerer"), b"body", failed=True)
    assert reply.header == Header(
        message_id=reply.header.message_id,
        kind="reply",
        type="look",
        source=Address("answerer"),
        target=Address("asker"),
        correlation_id=MessageId("q1"),
        run_id=RunId("r-1"),
        trace_id="trace",
        parent_id=MessageId("q1"),
        failed=True,
    )
    assert reply.header.message_id != "q1"
    assert reply.body == b"body"


def test_message_ids_differ_in_and_between_threads_and_in_a_forked_process() -> None:
    reading, writing = os.pipe()
    made: list[str] = [new_message_id()]
    child = os.fork()
    if child == 0:
        os.write(writing, "".join(new_message_id() for _ in range(300)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="ascii") as told:
        theirs = told.read()
    os.waitpid(child, 0)
    with ThreadPoolExecutor(4) as pool:
        made += [each for some in pool.map(lambda _: [new_message_id() for _ in range(500)], range(4)) for each in some]
    made += [theirs[at : at + 16] for at in range(0, len(theirs), 16)]
    assert len(made) == 2_301 == len(set(made))
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in made)
