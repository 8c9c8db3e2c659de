"""The envelope on the wire: nothing is lost, foreign fields included, and rubbish is refused by name."""

from __future__ import annotations

import typing
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import WireError
from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.primitives.ids import GoalId, RunId, StageName
from runtime.run.envelope import (
    BOUND_REASONS,
    FAILURE_REASONS,
    SCHEMA_VERSION,
    Bounds,
    Envelope,
    HistoryRecord,
    Interrupt,
    InterruptResponse,
    InterruptStatus,
    Request,
    StageStatus,
    TerminalReason,
    Usage,
    decode_envelope,
    encode_envelope,
)
from runtime.run.goals import Goal, GoalBoard

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
counts = st.integers(0, 2**40)
outputs = st.dictionaries(st.text(max_size=4), st.dictionaries(st.text(max_size=4), values, max_size=3), max_size=3)
envelopes = st.builds(
    Envelope,
    run_id=st.text(max_size=5).map(RunId),
    request=st.builds(
        Request,
        pipeline=st.text(max_size=5),
        raw_input=st.text(),
        metadata=st.dictionaries(st.text(max_size=4), values, max_size=2),
        limits=st.dictionaries(st.text(max_size=4), st.integers(-5, 5), max_size=2),
        deadline_s=st.none() | st.floats(allow_nan=False),
    ),
    bounds=st.builds(Bounds, max_iterations=counts, max_tokens=st.none() | counts, deadline_ms=st.none() | counts),
    usage=st.builds(Usage, iterations=counts, edges=st.dictionaries(st.text(max_size=4), counts, max_size=2)),
    outputs=outputs,
    goals=st.just(GoalBoard((Goal(GoalId("a"), "find"),), 2)),
    current_stage=st.none() | st.just(StageName("x")),
    lifecycle=st.sampled_from(["new", "running", "waiting", "terminated"]),
    history=st.lists(
        st.builds(
            HistoryRecord,
            stage=st.just(StageName("x")),
            hop=counts,
            attempt=counts,
            started_at_ms=counts,
            duration_ms=counts,
            status=st.sampled_from(["success", "error", "skipped", "cancelled"]),
        ),
        max_size=2,
    ).map(tuple),
    errors=st.lists(st.text(max_size=4), max_size=2).map(tuple),
    interrupt=st.none()
    | st.builds(
        Interrupt,
        id=st.text(max_size=4),
        kind=st.sampled_from(typing.get_args(InterruptKind)),
        question=st.text(max_size=4),
        data=st.dictionaries(st.text(max_size=4), values, max_size=2),
        expires_at_ms=st.none() | counts,
        status=st.sampled_from(typing.get_args(InterruptStatus)),
        response=st.none() | st.builds(InterruptResponse, text=st.text(max_size=4), approved=st.none() | st.booleans()),
    ),
    interrupts_raised=counts,
    stages=st.dictionaries(st.text(max_size=4), st.sampled_from(typing.get_args(StageStatus)), max_size=2),
    terminal_reason=st.none() | st.sampled_from(typing.get_args(TerminalReason)),
)
foreign = st.dictionaries(st.text(max_size=4).map(lambda key: f"future_{key}"), values, max_size=3)


@given(envelopes)
def test_an_envelope_comes_back_from_the_wire_unchanged(envelope: Envelope) -> None:
    assert decode_envelope(encode_envelope(envelope)) == envelope


@given(envelopes, foreign)
def test_fields_that_this_version_does_not_know_survive_a_round_trip(
    envelope: Envelope, unknown: dict[str, Any]
) -> None:
    newer = msgspec.msgpack.encode({**msgspec.msgpack.decode(encode_envelope(envelope)), **unknown})
    read = decode_envelope(newer)
    assert read.extra == unknown
    assert msgspec.structs.replace(read, extra={}) == envelope
    changed = msgspec.structs.replace(read, config_hash="changed here")
    again = msgspec.msgpack.decode(encode_envelope(changed))
    assert again["config_hash"] == "changed here"
    assert {key: again[key] for key in unknown} == unknown
    assert decode_envelope(encode_envelope(read)) == read


@given(st.binary(max_size=60) | values.map(msgspec.msgpack.encode))
def test_bytes_that_are_no_envelope_are_a_wire_error_that_says_how_many(data: bytes) -> None:
    with pytest.raises(WireError) as caught:
        decode_envelope(data)
    assert caught.value.values["size_bytes"] == len(data)


def test_an_envelope_nested_deeper_than_can_be_read_is_a_wire_error() -> None:
    with pytest.raises(WireError):
        decode_envelope(b"\x91" * 100_000 + b"\x90")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lifecycle", "resting"),
        ("terminal_reason", "bored"),
        ("outputs", {"a": 1}),
        ("history", [{"stage": "x"}]),
        ("run_id", 7),
    ],
)
def test_a_field_of_the_wrong_kind_is_a_wire_error_that_names_it(field: str, value: Any) -> None:
    good = {"run_id": "r-1", "request": {"pipeline": "p", "raw_input": "?"}}
    with pytest.raises(WireError, match=field):
        decode_envelope(msgspec.msgpack.encode({**good, field: value}))


def test_the_schema_version_is_written_even_when_it_is_the_default() -> None:
    raw = msgspec.msgpack.decode(encode_envelope(Envelope(RunId("r-1"), Request("p", "?"))))
    assert raw["schema_version"] == SCHEMA_VERSION


def test_an_envelope_as_version_one_wrote_it_stays_readable() -> None:
    frozen = (
        b"\x85\xa6run_id\xa3r-1\xa7request\x82\xa8pipeline\xa1p\xa9raw_input\xa1?"
        b"\xa9lifecycle\xa7running\xa7outputs\x81\xa1a\x81\xa1x\x01\xaeschema_version\x01"
    )
    envelope = decode_envelope(frozen)
    assert (envelope.run_id, envelope.lifecycle, envelope.outputs) == ("r-1", "running", {"a": {"x": 1}})
    assert (envelope.bounds.max_iterations, envelope.bounds.max_llm_calls, envelope.bounds.max_agent_hops) == (
        3,
        10,
        21,
    )


def test_there_are_eighteen_terminal_reasons_and_the_groups_are_among_them() -> None:
    reasons = typing.get_args(TerminalReason)
    assert len(reasons) == len(set(reasons)) == 18
    assert set(reasons) >= BOUND_REASONS | FAILURE_REASONS
    assert not BOUND_REASONS & FAILURE_REASONS
