"""Commands that are sent again until they are acknowledged, and not once more."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from runtime.bus.frames import Frame
from runtime.bus.memory_bus import MemoryBus, settle
from runtime.bus.outbox import Inbox, Outbox
from runtime.bus.reliable_sender import FIRST_WAIT_MS, OutgoingCommand, ReliableSender
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import Address, MessageId, RunId

RECEIVER = Address("receiver")
COMMAND = OutgoingCommand(RECEIVER, "t", b"body", RunId("r-1"), 7)


class SenderHarness:
    """A sender, and somebody who takes what it sends and stays silent."""

    def __init__(self, capacity: int = 10) -> None:
        self.bus = MemoryBus()
        self.clock: FakeClock = self.bus.clock
        self.taken: list[Frame] = []
        self.bus.join(RECEIVER, frames={"t": self.take})
        self.sender = ReliableSender(
            self.bus.join("sender"), self.clock, Outbox(capacity=capacity, first_wait_ms=FIRST_WAIT_MS)
        )

    async def take(self, frame: Frame) -> None:
        self.taken.append(frame)

    @property
    def ids(self) -> list[str | None]:
        return [frame.header.correlation_id for frame in self.taken]


async def test_a_parcel_is_sent_at_once_under_its_id_with_run_and_epoch() -> None:
    harness = SenderHarness()
    assert await harness.sender.send(MessageId("m"), COMMAND) == "accepted"
    await settle()
    (frame,) = harness.taken
    header = frame.header
    assert (header.correlation_id, header.run_id, header.incarnation, frame.body) == ("m", "r-1", 7, b"body")


@pytest.mark.parametrize(("waited_s", "times"), [(0.999, 1), (1.0, 2), (1.001, 2), (2.999, 2), (3.0, 3)])
async def test_a_command_is_sent_again_after_a_second_and_then_after_twice_as_long(waited_s: float, times: int) -> None:
    harness = SenderHarness()
    await harness.sender.send(MessageId("m"), COMMAND)
    await harness.clock.advance(waited_s)
    assert harness.ids == ["m"] * times
    assert len({frame.header.message_id for frame in harness.taken}) == times, "copies of a frame would be dropped"


async def test_what_was_acknowledged_is_not_sent_again() -> None:
    harness = SenderHarness()
    await harness.sender.send(MessageId("m"), COMMAND)
    assert harness.sender.acknowledge(MessageId("m"))
    assert not harness.sender.acknowledge(MessageId("m"))
    await harness.clock.advance(60)
    assert (len(harness.taken), len(harness.sender)) == (1, 0)


async def test_what_is_called_off_while_those_before_it_wait_for_the_bus_is_not_sent_after_that() -> None:
    harness = SenderHarness()
    for name in ("first", "second"):
        await harness.sender.send(MessageId(name), COMMAND)
    await settle()
    harness.bus.answer = "unreachable"
    await harness.clock.advance(1.05)
    harness.sender.acknowledge(MessageId("second"))
    harness.bus.answer = None
    await harness.clock.advance(1)
    assert harness.ids == ["first", "second", "first"]


async def test_one_parcel_that_cannot_be_sent_does_not_end_the_sending_of_the_others() -> None:
    harness = SenderHarness()
    for name in ("first", "second"):
        await harness.sender.send(MessageId(name), COMMAND)
    await settle()
    deliver, failures = harness.bus.deliver, ["once"]

    def failing(data: bytes) -> object:
        if failures:
            failures.pop()
            raise RuntimeError("the bus said something odd")
        return deliver(data)

    harness.bus.deliver = failing  # type: ignore[assignment, method-assign]
    await harness.clock.advance(3)
    assert harness.ids == ["first", "second", "second", "first", "second"]


async def test_a_full_outbox_lets_a_parcel_go_once() -> None:
    harness = SenderHarness(capacity=1)
    for name in ("kept", "once"):
        await harness.sender.send(MessageId(name), COMMAND)
    await harness.clock.advance(1)
    assert harness.ids == ["kept", "once", "kept"]


async def test_a_closed_sender_sends_nothing_more() -> None:
    harness = SenderHarness()
    await harness.sender.send(MessageId("m"), COMMAND)
    harness.sender.close()
    await harness.clock.advance(60)
    assert harness.ids == ["m"]


def test_a_copy_of_what_is_being_dealt_with_is_told_apart_until_that_is_done() -> None:
    inbox = Inbox()
    with ExitStack() as stack:
        assert [stack.enter_context(inbox.in_hand(MessageId("m"))) for _ in range(3)] == [True, False, False]
    with pytest.raises(ValueError, match="odd"), inbox.in_hand(MessageId("m")) as again:
        assert again
        raise ValueError("odd")
    with inbox.in_hand(MessageId("m")) as after:
        assert after
    assert not inbox.is_duplicate(MessageId("m"))


def test_the_end_of_a_copy_does_not_end_the_dealing_with_the_first() -> None:
    inbox = Inbox()
    with inbox.in_hand(MessageId("m")):
        for _ in range(2):
            with inbox.in_hand(MessageId("m")) as copy:
                assert not copy
