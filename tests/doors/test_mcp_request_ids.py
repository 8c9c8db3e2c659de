"""The id of a request that cannot be parsed: read from both ends, and never that of something else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.mcp.transports.request_ids import SEEN_BYTES, request_id_of

TEXT = st.text(st.sampled_from('ab",:{}[]\\\\ id5é'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.just("id"), inner, max_size=3),
    max_leaves=8,
)
IDS = st.integers(-(10**17), 10**17) | st.text(st.sampled_from("ab-,:{}[] "), max_size=10)


@given(request_id=IDS, params=st.dictionaries(TEXT | st.just("id"), VALUES, max_size=3), place=st.integers(0, 3))
@pytest.mark.parametrize("indent", [None, 1])
def test_the_id_of_a_request_is_read_wherever_it_stands(
    request_id: Any, params: dict[str, Any], place: int, indent: int | None
) -> None:
    members = [("jsonrpc", "2.0"), ("method", "tools/call"), ("params", params)]
    members.insert(place, ("id", request_id))
    line = json.dumps(dict(members), indent=indent).encode()
    assert request_id_of(line[:SEEN_BYTES], line[-SEEN_BYTES:]) == request_id
    cut = line + b"x" * SEEN_BYTES
    assert request_id_of(cut[:SEEN_BYTES], cut[-SEEN_BYTES:]) == request_id


@given(params=st.dictionaries(TEXT | st.just("id"), VALUES, max_size=3))
def test_an_id_among_the_parameters_is_not_taken_for_it(params: dict[str, Any]) -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": "m", "params": {"id": 5, "deep": params}}).encode()
    assert request_id_of(line, line) is None
    for cut in range(0, len(line), 7):
        assert request_id_of(line[:cut], line) is None


@given(head=st.binary(max_size=40) | TEXT.map(str.encode), tail=st.binary(max_size=40) | TEXT.map(str.encode))
def test_any_bytes_are_taken(head: bytes, tail: bytes) -> None:
    request_id_of(head, tail)
    request_id_of(b'{"id":' + head, tail + b',"id":1}')


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":3,"result":{}}',
        b'{"jsonrpc":"2.0","error":{},"id":3}',
        b'{"jsonrpc":"2.0","id":true,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"m"}',
        b'{"jsonrpc":"2.0","id":null,"method":"m"}',
        b'[{"jsonrpc":"2.0","id":3,"method":"m"}]',
    ],
)
def test_what_has_no_id_of_a_request_has_none(line: bytes) -> None:
    assert request_id_of(line, line) is None
