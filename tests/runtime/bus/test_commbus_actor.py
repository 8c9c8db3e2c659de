"""The bus as an actor, with endpoints that stand in for actors: hand-over, losses, middleware from plain data."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import ActorDiedError, ActorUnavailableError

from actors.commbus_actor import ENDPOINT_LOST, CommBusActor
from actors.participant import Participant
from runtime.bus.frames import Frame, Header, Kind, decode_frame, encode_frame, pack_body, reply_to, unpack_body
from runtime.bus.memory_bus import settle
from runtime.bus.queries import error_from_wire, error_to_wire
from runtime.errors import BusError, CircuitOpenError, HandlerLostError, JeevesError, SettingsError
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import Address, MessageId, new_message_id

ASKER, HANDLER, EXPECTED = Address("asker"), Address("handler"), Address("expected")


class Remote:
    """What `actor.method` is on a handle: something with `.remote()`."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self.remote = call


class ActorHandle:
    """A handle to an endpoint's actor: keeps frames; `lose` makes its process die."""

    def __init__(self, dies_of_frames: bool = False) -> None:
        self.dies_of_frames = dies_of_frames
        self.got: list[Frame] = []
        self.loss: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.process = str(new_message_id())
        self.on_frames = Remote(self._on_frames)
        self.stay_alive = Remote(self._stay_alive)
        self.process_id = Remote(self._process_id)

    async def _on_frames(self, frames: list[bytes]) -> list[None]:
        if self.loss.done():
            await self.loss
        self.got += map(decode_frame, frames)
        if self.dies_of_frames:
            self.lose(for_good=False)
            await self.loss
        return [None for _ in frames]

    async def _stay_alive(self, door: object) -> None:
        await self.loss

    async def _process_id(self) -> str:
        """Once its process is gone, Ray reaches the one that took its place."""
        return "another" if self.loss.done() else self.process

    def lose(self, for_good: bool) -> None:
        self.loss.set_exception(ActorDiedError() if for_good else ActorUnavailableError("restarting", actor_id=None))


def bus_of(expected: dict[Address, tuple[str, ...]], **options: Any) -> CommBusActor:
    """A bus that is no process: it opens no socket."""
    return CommBusActor(expected, links=False, **options)


def frame(kind: Kind, type_: str = "t", target: Address | None = None) -> bytes:
    return encode_frame(Frame(Header(new_message_id(), kind, type_, ASKER, target), b""))


async def deliver(bus: CommBusActor, *frames: bytes) -> list[str]:
    return list(await bus.deliver_all(list(frames)))


async def connect(
    bus: CommBusActor,
    address: Address,
    handles: tuple[str, ...] = (),
    hears: tuple[str, ...] = (),
    dies_of_frames: bool = False,
) -> Any:
    handle = ActorHandle(dies_of_frames)
    await bus.connect(address, handle, handle.process, handles, hears)
    return handle


async def fail(bus: CommBusActor, asker: ActorHandle, handler: ActorHandle, error: JeevesError) -> JeevesError:
    """Ask `t`, let the handler fail, and return what the asker hears."""
    given = len(handler.got)
    assert await deliver(bus, frame("query")) == ["accepted"]
    await settle()
    if len(handler.got) > given:
        body = pack_body(error_to_wire(error))
        await deliver(bus, encode_frame(reply_to(handler.got[-1].header, HANDLER, body, True, error.code)))
        await settle()
    return error_from_wire(unpack_body(asker.got[-1].body))


async def test_a_frame_that_cannot_be_read_costs_those_that_travel_with_it_nothing() -> None:
    bus = bus_of({})
    handle = await connect(bus, HANDLER, ("t",))
    assert await deliver(bus, frame("command"), b"junk", frame("command")) == ["accepted", "refused", "accepted"]
    await settle()
    assert len(handle.got) == 2


class Taker(Participant):
    """A participant outside a cluster, whose endpoint keeps what it is given."""

    def __init__(self) -> None:
        self.got: list[Frame] = []
        self.endpoint = SimpleNamespace(address=HANDLER, on_frame=self.got.append)  # type: ignore[assignment]


async def test_an_endpoint_takes_the_frames_before_and_behind_one_that_cannot_be_read() -> None:
    taker = Taker()
    assert await taker.on_frames([frame("command", "a"), b"junk", frame("command", "b")]) == [None, None, None]
    assert [got.header.type for got in taker.got] == ["a", "b"]


async def test_frames_for_an_expected_endpoint_wait_for_it() -> None:
    bus = bus_of({EXPECTED: ("t",)})
    assert await deliver(bus, frame("query")) == ["accepted"]
    handle = await connect(bus, EXPECTED, ("t",))
    await settle()
    assert [got.header.type for got in handle.got] == ["t"]


async def test_an_endpoint_that_is_restarted_gets_what_could_not_be_handed_over() -> None:
    bus = bus_of({})
    first = await connect(bus, HANDLER, ("t",))
    first.lose(for_good=False)
    await deliver(bus, frame("command"))
    await settle()
    second = await connect(bus, HANDLER, ("t",))
    await settle()
    assert (len(first.got), len(second.got)) == (0, 1)


async def test_what_was_resent_to_a_process_that_died_is_not_given_to_the_next_when_the_sender_is_told_of_it() -> None:
    bus = bus_of({})
    await connect(bus, ASKER, hears=(ENDPOINT_LOST,))
    first = await connect(bus, HANDLER)
    first.lose(for_good=False)
    await settle()
    untold = Address("untold")
    parked = [
        Header(new_message_id(), "command", "t", source, HANDLER, correlation_id=about)
        for source, about in ((ASKER, MessageId("m1")), (ASKER, None), (untold, MessageId("m2")))
    ]
    assert await deliver(bus, *(encode_frame(Frame(header)) for header in parked)) == ["accepted"] * 3
    second = await connect(bus, HANDLER)
    await settle()
    assert [got.header.message_id for got in second.got] == [header.message_id for header in parked[1:]]


async def test_what_was_resent_before_an_endpoint_first_came_up_waits_for_it() -> None:
    bus = bus_of({EXPECTED: ()})
    await connect(bus, ASKER, hears=(ENDPOINT_LOST,))
    header = Header(new_message_id(), "command", "t", ASKER, EXPECTED, correlation_id=MessageId("m1"))
    await deliver(bus, encode_frame(Frame(header)))
    handle = await connect(bus, EXPECTED)
    await settle()
    assert [got.header.message_id for got in handle.got] == [header.message_id]


async def test_a_command_that_kills_whoever_takes_it_is_given_up_at_the_fourth_death() -> None:
    bus = bus_of({})
    lives = [await connect(bus, HANDLER, ("t",), dies_of_frames=True)]
    await deliver(bus, frame("command"))
    await settle()
    while lives[-1].got:
        lives.append(await connect(bus, HANDLER, ("t",), dies_of_frames=True))
        await settle()
    assert [len(life.got) for life in lives] == [1, 1, 1, 1, 0]
    (letter,) = (await bus.stats())["latest_dead_letters"]
    assert letter["reason"] == "endpoint handler died 4 times while handling it"


async def test_a_query_is_failed_when_it_is_given_up_and_says_after_how_many_deaths() -> None:
    bus = bus_of({})
    asker, handler = await connect(bus, ASKER), await connect(bus, HANDLER, ("t",), dies_of_frames=True)
    await deliver(bus, frame("query"))
    await settle()
    while handler.got:
        handler = await connect(bus, HANDLER, ("t",), dies_of_frames=True)
        await settle()
    error = error_from_wire(unpack_body(asker.got[-1].body))
    assert (type(error), error.values["deaths"], len(asker.got)) == (HandlerLostError, 4, 1)


async def test_an_endpoint_is_lost_once_another_process_takes_its_place() -> None:
    bus = bus_of({})
    watcher = await connect(bus, ASKER, hears=(ENDPOINT_LOST,))
    handler = await connect(bus, HANDLER)
    await settle()
    handler.lose(for_good=False)
    await settle()
    assert watcher.got == []
    follower = await connect(bus, HANDLER)
    await settle()
    told = {"address": "handler", "for_good": False, "life": await follower.process_id.remote()}
    assert [unpack_body(got.body) for got in watcher.got] == [told]


async def test_an_endpoint_that_is_gone_for_good_is_told_at_once() -> None:
    bus = bus_of({})
    watcher = await connect(bus, ASKER, hears=(ENDPOINT_LOST,))
    handler = await connect(bus, HANDLER)
    await settle()
    handler.lose(for_good=True)
    await settle()
    assert [unpack_body(got.body) for got in watcher.got] == [{"address": "handler", "for_good": True, "life": None}]


async def test_an_endpoint_that_binds_again_from_the_same_process_has_lost_nothing() -> None:
    bus = bus_of({})
    watcher = await connect(bus, ASKER, hears=(ENDPOINT_LOST,))
    handler = await connect(bus, HANDLER)
    await bus.connect(HANDLER, handler, handler.process, (), ())
    await settle()
    assert watcher.got == []


async def test_a_query_in_the_hands_of_an_endpoint_that_dies_fails_at_once() -> None:
    bus = bus_of({})
    asker, handler = await connect(bus, ASKER), await connect(bus, HANDLER, ("t",))
    await deliver(bus, frame("query"))
    await settle()
    handler.lose(for_good=True)
    await settle()
    error = error_from_wire(unpack_body(asker.got[-1].body))
    assert type(error) is HandlerLostError
    assert error.message == "handler died while handling 't'"


async def test_the_default_middleware_drops_copies_counts_and_breaks_circuits() -> None:
    clock = FakeClock()
    bus = bus_of({}, clock=clock)
    asker, handler = await connect(bus, ASKER), await connect(bus, HANDLER, ("t",))
    errors = [await fail(bus, asker, handler, BusError("broken")) for _ in range(6)]
    assert [type(error) for error in errors] == [BusError] * 5 + [CircuitOpenError]
    assert len(handler.got) == 5
    doubled = frame("command", target=HANDLER)
    assert await deliver(bus, doubled, doubled) == ["accepted", "accepted"]
    stats = await bus.stats()
    assert stats["middleware"]["circuit_breaker"] == {"t": {"state": "open", "failures": 5, "refused": 1}}
    assert stats["counts"]["doubled"] == 1
    samples = stats["middleware"]["metrics"]["jeeves_bus_messages"]
    assert {sample["labels"]["outcome"]: sample["value"] for sample in samples if sample["labels"]["type"] == "t"} == {
        **{"accepted": 1, "failed": 5, "stopped": 1}
    }
    await clock.advance(30)
    assert type(await fail(bus, asker, handler, BusError("broken"))) is BusError


async def test_the_middleware_is_chosen_by_plain_data() -> None:
    bus = bus_of({}, middleware=[{"use": "circuit_breaker", "failure_threshold": 1}])
    asker, handler = await connect(bus, ASKER), await connect(bus, HANDLER, ("t",))
    errors = [await fail(bus, asker, handler, BusError("broken")) for _ in range(2)]
    assert [type(error) for error in errors] == [BusError, CircuitOpenError]
    with pytest.raises(SettingsError, match="no middleware is named 'tea'"):
        CommBusActor({}, [{"use": "tea"}])


async def test_what_nobody_takes_is_refused_logged_and_shown_as_a_dead_letter(caplog: pytest.LogCaptureFixture) -> None:
    bus = bus_of({})
    with caplog.at_level(logging.WARNING):
        assert await deliver(bus, frame("command", "unknown")) == ["refused"]
    assert "bus.not_taken" in caplog.text
    (letter,) = (await bus.stats())["latest_dead_letters"]
    assert (letter["type"], letter["reason"]) == ("unknown", "nobody handles 'unknown'")


async def test_a_second_handler_for_a_type_is_not_connected(caplog: pytest.LogCaptureFixture) -> None:
    bus = bus_of({})
    await connect(bus, HANDLER, ("t",))
    with caplog.at_level(logging.ERROR):
        await connect(bus, ASKER, ("t",))
    assert "bus.refused_endpoint" in caplog.text
    assert ASKER not in (await bus.stats())["endpoints"]


@pytest.mark.parametrize(("restarted", "told"), [(True, ["handler"]), (False, [])])
def test_a_restarted_bus_tells_the_endpoints_that_it_expects(
    monkeypatch: pytest.MonkeyPatch, restarted: bool, told: list[str]
) -> None:
    rebound: list[str] = []

    def get_actor(name: str, namespace: str) -> Any:
        if name == EXPECTED:
            raise ValueError(f"no actor {name} in {namespace}")
        return SimpleNamespace(rebind=SimpleNamespace(remote=lambda: rebound.append(name)))

    context = SimpleNamespace(was_current_actor_reconstructed=restarted)
    standing_in = {"is_initialized": lambda: True, "get_runtime_context": lambda: context, "get_actor": get_actor}
    monkeypatch.setattr("actors.commbus_actor.ray", SimpleNamespace(**standing_in))
    CommBusActor({EXPECTED: (), HANDLER: ("t",)})
    assert rebound == told
