"""Messages of a link: whatever the pieces in which bytes arrive, the same messages come out, or a WireError."""

from __future__ import annotations

import struct
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bus.frames import SendOutcome
from runtime.bus.link_messages import (
    ANSWER,
    CALL,
    HELLO,
    Hello,
    LinkReader,
    decode_hello,
    decode_outcomes,
    encode_batch,
    encode_hello,
    encode_message,
    encode_outcomes,
    frames_in,
)
from runtime.errors import WireError

BATCHES = st.lists(st.lists(st.binary(max_size=300), max_size=5), max_size=6)


@given(BATCHES, st.lists(st.integers(1, 200), min_size=1, max_size=20))
def test_batches_survive_any_cutting_of_the_stream(batches: list[list[bytes]], cuts: list[int]) -> None:
    stream = b"".join(part for number, frames in enumerate(batches, 1) for part in encode_batch(number, frames))
    reader, found, at, turn = LinkReader(), [], 0, 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        found += reader.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert [(message.kind, message.call_id) for message in found] == [(CALL, n) for n in range(1, len(batches) + 1)]
    assert [frames_in(message.content) for message in found] == batches


@given(st.binary(max_size=400))
def test_other_bytes_are_messages_or_a_wire_error_and_nothing_else(data: bytes) -> None:
    try:
        messages = LinkReader(max_bytes=300).feed(data)
    except WireError:
        return
    for message in messages:
        assert message.kind in (HELLO, CALL, ANSWER)
        assert len(message.content) <= 300
        for read in (frames_in, decode_hello, decode_outcomes):
            try:
                read(message.content)
            except WireError as error:
                assert error.message


@pytest.mark.parametrize(("size", "is_allowed"), [(99, True), (100, True), (101, False)])
def test_a_message_is_at_most_as_large_as_allowed(size: int, is_allowed: bool) -> None:
    data = encode_message(ANSWER, 7, b"x" * (size - 5))
    if is_allowed:
        assert len(LinkReader(max_bytes=100).feed(data)) == 1
    else:
        with pytest.raises(WireError, match="101 bytes"):
            LinkReader(max_bytes=100).feed(data)


def test_a_length_that_is_announced_is_refused_before_its_bytes_are_here() -> None:
    with pytest.raises(WireError, match="4294967295 bytes"):
        LinkReader().feed(struct.pack(">IBI", 2**32 - 1, CALL, 1))


def test_a_batch_that_announces_more_frames_than_it_holds_is_refused_at_once() -> None:
    with pytest.raises(WireError, match="cannot hold 4294967295 frames"):
        frames_in(memoryview(struct.pack(">I", 2**32 - 1) + b"abcd"))


@pytest.mark.parametrize("cut", [b"", b"\0\0", struct.pack(">II", 1, 5) + b"four", struct.pack(">II", 1, 1) + b"two"])
def test_a_batch_whose_frames_do_not_fill_it_exactly_is_refused(cut: bytes) -> None:
    with pytest.raises(WireError):
        frames_in(memoryview(cut))


def test_every_outcome_survives_the_wire() -> None:
    outcomes = list(get_args(SendOutcome))
    assert decode_outcomes(encode_outcomes(outcomes)) == outcomes


def test_an_unknown_outcome_is_refused() -> None:
    with pytest.raises(WireError, match="unknown outcome"):
        decode_outcomes(bytes([len(get_args(SendOutcome))]))


def test_a_hello_says_who_opens_the_link() -> None:
    hello = Hello("agent:line.a", "p1", b"secret")
    (message,) = LinkReader().feed(encode_hello(hello))
    assert (message.kind, decode_hello(message.content)) == (HELLO, hello)
