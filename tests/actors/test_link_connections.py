"""Links between a listener and those that connect to it, in one process: admission, order, loss, hostile peers."""

from __future__ import annotations

import asyncio
import socket
import struct
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from typing import cast

import msgspec
import pytest

from actors.links.carrier import Carrier
from actors.links.doors import Door, LinksBy, Listener, connected
from actors.links.encryption import SERVER_NAME, connecting_context
from actors.links.link import HELLO_TIMEOUT_S, Link, OnFrames
from runtime.bus.frames import SendOutcome
from runtime.bus.link_messages import (
    ANSWER,
    MAX_MESSAGE_BYTES,
    Hello,
    decode_outcomes,
    encode_batch,
    encode_hello,
    encode_message,
)
from runtime.bus.memory_bus import settle
from runtime.errors import LinkLostError

pytestmark = pytest.mark.timeout(30)


class BusEnd:
    """A listener that keeps what arrives, and the links that it has admitted."""

    def __init__(self, hello_timeout_s: float = HELLO_TIMEOUT_S, by: LinksBy = True) -> None:
        self.got: list[bytes] = []
        self.links: list[Link] = []
        self.known = {"a": "p1"}
        self.take: OnFrames = self.keep
        self.listener = Listener("here", self._admit, hello_timeout_s, by=by)

    def _admit(self, link: Link, hello: Hello) -> OnFrames | None:
        if self.known.get(hello.address) != hello.process_id:
            return None
        self.links.append(link)
        return self._taken

    def _taken(self, frames: list[bytes]) -> bytes:
        return self.take(frames)

    def keep(self, frames: list[bytes]) -> bytes:
        self.got += frames
        return bytes(len(frames))


@pytest.fixture(params=[True, "tcp"], ids=["unix", "tcp"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[BusEnd]:
    end = BusEnd(by=request.param)
    yield end
    for link in end.links:
        link.close()
    end.listener.close()


async def door_of(bus: BusEnd, address: str = "a") -> Door:
    door = await bus.listener.door_for(address)
    assert door is not None
    return door


def fails(_frames: list[bytes]) -> bytes:
    raise RuntimeError("a bug")


def nothing(_frames: list[bytes]) -> bytes:
    return b""


async def raw(door: Door) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if door.port:
        context = connecting_context(door.certificate)
        return await asyncio.open_connection(door.host, door.port, ssl=context, server_hostname=SERVER_NAME)
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    connection.connect(door.path)
    return await asyncio.open_unix_connection(sock=connection)


async def test_both_ends_call_each_other_and_frames_keep_their_order(bus: BusEnd) -> None:
    got: list[bytes] = []

    def take(frames: list[bytes]) -> bytes:
        got.extend(frames)
        return b"ok"

    link = await connected(await door_of(bus), "a", "p1", take)
    answers = await asyncio.gather(*(link.call([b"%d" % number, b"x" * 200_000]) for number in range(20)))
    assert answers == [bytes(2)] * 20
    assert bus.got[::2] == [b"%d" % number for number in range(20)]
    assert await bus.links[0].call([b"to you"]) == b"ok"
    assert got == [b"to you"]
    link.close()


async def test_the_former_door_of_an_endpoint_is_shut_and_those_of_others_are_not(bus: BusEnd) -> None:
    bus.known["b"] = "p2"
    former, other, newest = await door_of(bus), await door_of(bus, "b"), await door_of(bus)
    with pytest.raises(LinkLostError):
        await connected(former, "a", "p1", nothing)
    for door, address, process_id in ((other, "b", "p2"), (newest, "a", "p1")):
        assert await (await connected(door, address, process_id, nothing)).call([b"x"]) == bytes(1)


async def test_many_doors_at_once_lead_to_one_socket(bus: BusEnd) -> None:
    assert len({door.path for door in await asyncio.gather(*(door_of(bus, str(n)) for n in range(20)))}) == 1


@pytest.mark.parametrize(("address", "process_id"), [("a", "p2"), ("b", "p1"), ("", "")])
async def test_only_the_process_that_the_bus_knows_gets_in(bus: BusEnd, address: str, process_id: str) -> None:
    with pytest.raises(LinkLostError):
        await connected(await door_of(bus, address), address, process_id, nothing)
    with pytest.raises(LinkLostError):
        await connected(await door_of(bus, "a"), address, "p2", nothing)
    assert bus.links == []


async def test_a_wrong_secret_opens_no_link(bus: BusEnd) -> None:
    door = await door_of(bus)
    for secret in (b"", bytes(32), door.secret[:-1], door.secret + b"x"):
        with pytest.raises(LinkLostError):
            await connected(msgspec.structs.replace(door, secret=secret), "a", "p1", nothing)
    assert bus.links == []


HOSTILE = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"\0" * 20,
    b"".join(encode_batch(1, [b"a frame before the hello"])),
    struct.pack(">IBI", 4_097, 1, 0),
    struct.pack(">IBI", 8, 1, 0) + b"\xc1\xc1\xc1",
    encode_hello(Hello("a" * 5_000, "p1", b"")),
]


@pytest.mark.parametrize("data", HOSTILE)
async def test_whoever_sends_something_else_first_is_cut_off_and_others_are_served(bus: BusEnd, data: bytes) -> None:
    door = await door_of(bus)
    reader, writer = await raw(door)
    writer.write(data)
    assert await reader.read() == b""
    writer.close()
    assert await (await connected(door, "a", "p1", nothing)).call([b"x"]) == b"\0"


async def test_whoever_does_not_introduce_itself_in_time_is_cut_off() -> None:
    bus = BusEnd(hello_timeout_s=0.05)
    reader, writer = await raw(await door_of(bus))
    assert await reader.read() == b""
    writer.close()
    bus.listener.close()


async def test_a_second_hello_closes_the_link(bus: BusEnd) -> None:
    door = await door_of(bus)
    reader, writer = await raw(door)
    hello = encode_hello(Hello("a", "p1", door.secret))
    writer.write(hello)
    assert await reader.readexactly(9) == struct.pack(">IBI", 5, 3, 0)
    writer.write(hello)
    assert await reader.read() == b""
    writer.close()


async def test_a_link_that_breaks_fails_the_calls_under_way_and_all_later_ones(bus: BusEnd) -> None:
    link = await connected(await door_of(bus), "a", "p1", nothing)
    silent = asyncio.ensure_future(link.call([b"x"]))
    bus.links[0].close()
    with pytest.raises(LinkLostError):
        await silent
    await link.closed.wait()
    assert not link.is_open
    with pytest.raises(LinkLostError):
        await link.call([b"y"])


async def test_a_handler_that_fails_closes_the_link_and_nothing_else(
    bus: BusEnd, caplog: pytest.LogCaptureFixture
) -> None:
    link = await connected(await door_of(bus), "a", "p1", nothing)
    bus.take = fails
    with pytest.raises(LinkLostError):
        await link.call([b"x"])
    assert "a bug" in caplog.text
    bus.take = bus.keep
    assert await (await connected(await door_of(bus), "a", "p1", nothing)).call([b"x"]) == b"\0"


async def test_a_peer_that_does_not_read_holds_back_its_own_callers_alone(bus: BusEnd) -> None:
    door = await door_of(bus)
    reader, writer = await raw(door)
    writer.write(encode_hello(Hello("a", "p1", door.secret)))
    await reader.readexactly(9)
    cast(asyncio.Transport, writer.transport).pause_reading()
    big = [b"x" * 1_000_000]
    calls = [asyncio.ensure_future(bus.links[0].call(big)) for _ in range(40)]
    bus.known["b"] = "p2"
    other = await connected(await door_of(bus, "b"), "b", "p2", nothing)
    assert await other.call([b"x"]) == b"\0"
    buffered = bus.links[0]._transport
    assert buffered is not None
    assert buffered.get_write_buffer_size() < 10_000_000
    bus.links[0].close()
    assert {type(each) for each in await asyncio.gather(*calls, return_exceptions=True)} == {LinkLostError}
    writer.close()


class Calls:
    """Ray calls of a carrier: each is answered when the test says so."""

    def __init__(self) -> None:
        self.made: list[list[bytes]] = []
        self.answers: list[asyncio.Future[None]] = []
        self.is_made = asyncio.Event()

    async def __call__(self, frames: list[bytes]) -> Sequence[str]:
        self.made.append(frames)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.answers.append(answer)
        self.is_made.set()
        await answer
        return ["by ray"] * len(frames)

    async def until_made(self, count: int) -> None:
        """Return when so many calls have been made."""
        while len(self.made) < count:
            self.is_made.clear()
            await self.is_made.wait()


def decoded(_answer: bytes, count: int) -> list[str]:
    return ["by link"] * count


async def test_a_batch_by_link_waits_for_the_calls_before_it(bus: BusEnd) -> None:
    calls = Calls()
    carrier: Carrier[str] = Carrier(calls, decoded)
    first = carrier.post(b"1")
    await calls.until_made(1)
    carrier.use(await connected(await door_of(bus), "a", "p1", nothing))
    second, third = carrier.post(b"2"), carrier.post(b"3")
    await settle()
    assert (calls.made, bus.got) == ([[b"1"]], [])
    calls.answers[0].set_result(None)
    assert [await first, await second, await third] == ["by ray", "by link", "by link"]
    assert bus.got == [b"2", b"3"]


async def test_what_a_broken_link_did_not_answer_is_repeated_as_calls_in_its_order_before_all_else(bus: BusEnd) -> None:
    calls = Calls()
    carrier: Carrier[str] = Carrier(calls, decoded)
    link = await connected(await door_of(bus), "a", "p1", nothing)
    carrier.use(link)
    bus.take = fails
    carried = []
    for number in range(3):
        carried.append(carrier.post(b"%d" % number))
        await asyncio.sleep(0)  # each is a batch of its own
    while link.is_open:  # noqa: ASYNC110
        await asyncio.sleep(0)
    carried.append(carrier.post(b"3"))
    await calls.until_made(1)
    for answer in calls.answers:
        answer.set_result(None)
    assert await asyncio.gather(*carried) == ["by ray"] * 4
    assert [frame for frames in calls.made for frame in frames] == [b"0", b"1", b"2", b"3"]
    assert not carrier.has_link


async def test_what_the_former_link_did_not_answer_goes_by_the_new_one_before_all_else(bus: BusEnd) -> None:
    carrier: Carrier[str] = Carrier(Calls(), decoded)
    door = await door_of(bus)
    reader, writer = await raw(door)
    writer.write(encode_hello(Hello("a", "p1", door.secret)))
    await reader.readexactly(9)
    carrier.use(bus.links[0])  # its other end answers nothing
    carried = [carrier.post(b"1")]
    await settle()
    got: list[bytes] = []

    def take(frames: list[bytes]) -> bytes:
        got.extend(frames)
        return b""

    link = await connected(door, "a", "p1", take)
    carried.append(carrier.post(b"2"))
    carrier.use(bus.links[1])
    carried.append(carrier.post(b"3"))
    assert await asyncio.gather(*carried) == ["by link"] * 3
    assert got == [b"1", b"2", b"3"]
    writer.close()
    link.close()


async def test_an_answer_that_cannot_be_understood_ends_the_link_and_the_frames_go_by_ray(bus: BusEnd) -> None:
    calls = Calls()
    carrier: Carrier[SendOutcome] = Carrier(calls, lambda answer, _: decode_outcomes(answer))  # type: ignore[arg-type]
    link = await connected(await door_of(bus), "a", "p1", nothing)
    carrier.use(link)
    bus.take = lambda _: b"\xff"
    carried = carrier.post(b"1")
    await calls.until_made(1)
    calls.answers[0].set_result(None)
    assert (str(await carried), carrier.has_link) == ("by ray", False)


async def test_answers_without_news_share_the_write_of_the_next_frames_and_others_do_not_wait(bus: BusEnd) -> None:
    door = await door_of(bus)
    reader, writer = await raw(door)
    writer.write(encode_hello(Hello("a", "p1", door.secret)))
    await reader.readexactly(9)
    writer.write(b"".join(encode_batch(7, [b"x"])))
    while bus.got != [b"x"]:  # noqa: ASYNC110
        await asyncio.sleep(0)
    asked = bus.links[0].post([b"y"])
    answer = encode_message(ANSWER, 7, b"\0")
    assert await reader.read(1_000) == answer + b"".join(encode_batch(1, [b"y"]))
    bus.take = lambda _: b"\1"
    writer.write(b"".join(encode_batch(8, [b"z"])))
    assert await reader.readexactly(len(answer)) == encode_message(ANSWER, 8, b"\1")
    writer.close()
    with pytest.raises(LinkLostError):
        await asked


@pytest.mark.long
async def test_the_numbers_of_calls_take_no_memory_however_many_there_are(bus: BusEnd) -> None:
    link = await connected(await door_of(bus), "a", "p1", nothing)
    await link.call([b"x"])
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        for _ in range(2_000):
            await link.call([])
        grown = tracemalloc.take_snapshot().compare_to(before, "filename")
    finally:
        tracemalloc.stop()
    of_links = [line for line in grown if "/actors/links/" in line.traceback[0].filename]
    assert sum(line.size_diff for line in of_links) < 20_000


async def test_a_batch_too_large_for_a_link_goes_by_ray(bus: BusEnd) -> None:
    calls = Calls()
    carrier: Carrier[str] = Carrier(calls, decoded)
    carrier.use(await connected(await door_of(bus), "a", "p1", nothing))
    large = bytes(MAX_MESSAGE_BYTES)
    carried = carrier.post(large)
    await calls.until_made(1)
    calls.answers[0].set_result(None)
    assert (await carried, carrier.has_link) == ("by ray", True)


async def test_a_new_link_replaces_the_former_one(bus: BusEnd) -> None:
    carrier: Carrier[str] = Carrier(Calls(), decoded)
    former = await connected(await door_of(bus), "a", "p1", nothing)
    carrier.use(former)
    assert carrier.has_link
    carrier.use(await connected(await door_of(bus), "a", "p1", nothing))
    await former.closed.wait()
    assert await carrier.send(b"x") == "by link"
