"""What the kernel costs: deciding, and frames on the wire."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from runtime.bus.frames import Frame, Header, decode_frame, decode_header, encode_frame, pack_body
from runtime.primitives.ids import Address, MessageId, RunId
from runtime.supervision.decide import decide
from runtime.supervision.events import Event
from runtime.supervision.state import RunState, new_state
from runtime.testing import Bench, PipelineBuilder
from tests.benchmarks.conftest import Report

LOOPS = 50


def logged_run() -> tuple[Bench, list[Event]]:
    """A run that goes round a loop of two stages, driven by hand, and its log."""
    config = (
        PipelineBuilder("loop", max_iterations=LOOPS, max_agent_hops=4 * LOOPS)
        .stage("work", default_next="judge")
        .stage("judge", default_next="end")
        .rule("again", True, "work", clear=("work",))
        .build()
    )
    bench = Bench(config)
    bench.request()
    for number in range(LOOPS + 1):
        for output in ({"found": "x" * 200}, {"again": number < LOOPS}):
            bench.start()
            bench.succeed(output)
    assert bench.envelope.terminal_reason == "completed"
    return bench, bench.log


def test_deciding_on_the_events_of_a_loop(benchmark: Any, held_against: Report) -> None:
    bench, events = logged_run()

    def fold() -> RunState:
        state = new_state(bench.run_id)
        for event in events:
            state = decide(bench.config, state, event).state
        return state

    assert benchmark(fold).envelope.terminal_reason == "completed"
    envelope = bench.envelope

    def floor() -> None:
        for number in range(len(events)):
            msgspec.structs.replace(envelope, received_at_ms=number)

    held_against(floor, "events", len(events), named="copying as many structures")


BODIES = {
    "small": {"state": "running", "hop": 3},
    "large": {"facts": [{"file": "a/b.py", "line": n} for n in range(500)]},
}


@pytest.mark.parametrize("size", BODIES)
def test_a_frame_there_and_back(benchmark: Any, held_against: Report, size: str) -> None:
    body = pack_body(BODIES[size])
    header = Header(
        MessageId("m-1"), "command", "stage.run", Address("supervisor"), Address("critic"), run_id=RunId("r-1")
    )
    raw = msgspec.to_builtins(header)

    def there_and_back() -> Frame:
        return decode_frame(encode_frame(Frame(header, body)))

    assert benchmark(there_and_back) == Frame(header, body)
    held_against(
        lambda: [msgspec.msgpack.decode(msgspec.msgpack.encode([raw, body])) for _ in range(1000)],
        "frames",
        1,
        1000,
        named="MessagePack there and back",
    )


def test_reading_only_the_header_as_the_bus_does(benchmark: Any, held_against: Report) -> None:
    data = encode_frame(Frame(Header(MessageId("m-1"), "event", "x", Address("a")), pack_body(BODIES["large"])))
    _, body_at = benchmark(decode_header, data)
    held_against(
        lambda: [msgspec.msgpack.decode(data[4:body_at]) for _ in range(1000)],
        "headers",
        1,
        1000,
        named="MessagePack of the header",
    )
