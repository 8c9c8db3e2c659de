"""Frames on their way to endpoints by Ray calls: order, processes that are gone for a moment, and the most at once."""

from __future__ import annotations

import asyncio

import pytest
from ray.exceptions import ActorUnavailableError, ObjectStoreFullError, OutOfDiskError

from actors import frame_router
from actors.frame_router import FrameRouter
from runtime.bus.dispatcher import Dispatcher
from runtime.bus.frames import Frame, Header, encode_frame
from runtime.bus.memory_bus import settle
from runtime.bus.middleware import Chain
from runtime.bus.routing_table import RoutingTable
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address, MessageId

A = Address("a")


def frame(number: int) -> bytes:
    return encode_frame(Frame(Header(MessageId(str(number)), "command", "work", Address("sender"), A)))


class Process:
    """An endpoint's process: keeps what arrives; its first `unavailable` calls fail, and `gate` holds all of them."""

    def __init__(self, unavailable: int = 0, error: Exception | None = None) -> None:
        self.got: list[bytes] = []
        self.unavailable = unavailable
        self.error = error or ActorUnavailableError("not now", None)
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, frames: list[bytes]) -> list[None]:
        await self.gate.wait()
        if self.unavailable:
            self.unavailable -= 1
            raise self.error
        self.got += frames
        return [None] * len(frames)


def router_to(process: Process) -> tuple[FrameRouter, RoutingTable]:
    table = RoutingTable()
    router = FrameRouter(table, Dispatcher(table, Chain(), SystemClock()))
    table.connect(A)
    router.carry_to(A, process)
    return router, table


async def test_frames_arrive_in_the_order_in_which_they_were_routed() -> None:
    process = Process()
    router, _ = router_to(process)
    frames = [frame(number) for number in range(600)]
    assert [router.route(data) for data in frames] == ["accepted"] * 600
    while len(process.got) < 600:
        await settle()
    assert process.got == frames


async def test_a_frame_for_a_process_that_is_away_for_a_moment_is_delivered_all_the_same() -> None:
    process = Process(unavailable=2)
    router, _ = router_to(process)
    assert router.route(frame(1)) == "accepted"
    async with asyncio.timeout(10):
        while not process.got:  # noqa: ASYNC110
            await asyncio.sleep(frame_router.RETRY_S / 10)
    assert process.got == [frame(1)]


@pytest.mark.parametrize("kind", [OutOfDiskError, ObjectStoreFullError])
async def test_a_frame_for_which_the_object_store_has_no_room_is_delivered_once_it_has(kind: type[Exception]) -> None:
    process = Process(unavailable=1, error=kind("full"))
    router, table = router_to(process)
    assert router.route(frame(1)) == "accepted"
    async with asyncio.timeout(10):
        while not process.got:  # noqa: ASYNC110
            await asyncio.sleep(frame_router.RETRY_FULL_S / 10)
    assert process.got == [frame(1)]
    assert table.stats()["dead_letters"] == 0


async def test_a_frame_for_an_endpoint_that_is_lost_meanwhile_waits_for_the_next_process() -> None:
    process = Process(unavailable=1)
    router, table = router_to(process)
    router.route(frame(1))
    table.mark_lost(A, 1, for_good=False)
    await settle()
    assert (process.got, table.connect(A)) == ([], [frame(1)])


@pytest.mark.long
@pytest.mark.parametrize(("beyond", "outcome"), [(-1, "accepted"), (0, "full"), (1, "full")])
async def test_only_so_many_frames_are_under_way_at_once(beyond: int, outcome: str) -> None:
    process = Process()
    process.gate.clear()
    router, _ = router_to(process)
    outcomes = [router.route(frame(number)) for number in range(frame_router.FRAMES_UNDER_WAY + beyond + 1)]
    assert outcomes[-1] == outcome
    process.gate.set()
    while len(process.got) < min(len(outcomes), frame_router.FRAMES_UNDER_WAY):
        await settle()
    assert router.route(frame(-1)) == "accepted"


async def test_bytes_that_are_no_frame_are_refused_and_the_others_of_their_batch_are_routed() -> None:
    process = Process()
    router, _ = router_to(process)
    assert router.route_batch([frame(1), b"?", frame(2)]) == bytes([0, 1, 0])
    await settle()
    assert process.got == [frame(1), frame(2)]
