"""Endpoints over a bus in memory: queries and their answers, failures of handlers, and what a silent bus means."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import Frame, Header, pack_body
from runtime.bus.memory_bus import MemoryBus, settle
from runtime.errors import (
    BusError,
    DuplicateHandlerError,
    HandlerLostError,
    JeevesError,
    NoHandlerError,
    QueryTimeoutError,
    RepositoryError,
    StateStorageError,
    UnknownNameError,
)
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address, MessageId, RunId

ASKER, ANSWERER = Address("asker"), Address("answerer")


@pytest.fixture
def bus() -> MemoryBus:
    return MemoryBus(SystemClock())


def join(bus: MemoryBus, address: Address, **options: Any) -> Endpoint:
    return bus.join(address, **options)


async def echo(body: dict[str, Any]) -> dict[str, Any]:
    return {"heard": body}


async def test_a_query_is_answered_by_whoever_handles_its_type(bus: MemoryBus) -> None:
    join(bus, ANSWERER, queries={"echo": echo})
    asker = join(bus, ASKER)
    assert await asker.query("echo", {"n": 1, "text": "ünï"}) == {"heard": {"n": 1, "text": "ünï"}}
    assert [(frame.header.kind, frame.header.source) for frame in bus.sent] == [("query", ASKER), ("reply", ANSWERER)]
    assert bus.table.counts == {"query": 1, "reply": 1}


async def test_an_endpoint_can_ask_itself(bus: MemoryBus) -> None:
    assert await join(bus, ASKER, queries={"echo": echo}).query("echo", {}) == {"heard": {}}


class Mortal:
    """Answers after it has died so many times."""

    def __init__(self, deaths: int) -> None:
        self._deaths = deaths
        self.asked = 0

    async def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        if self.asked <= self._deaths:
            raise HandlerLostError("its process died", type="echo")
        return body


@pytest.mark.parametrize("deaths", [0, 2, 3])
async def test_a_query_whose_handler_dies_is_asked_again_three_times(bus: MemoryBus, deaths: int) -> None:
    mortal = Mortal(deaths)
    join(bus, ANSWERER, queries={"echo": mortal.answer})
    assert await join(bus, ASKER).query("echo", {"n": 1}) == {"n": 1}
    assert mortal.asked == deaths + 1


async def test_a_query_that_kills_whoever_handles_it_is_given_up_at_the_fourth_death(bus: MemoryBus) -> None:
    mortal = Mortal(4)
    join(bus, ANSWERER, queries={"echo": mortal.answer})
    with pytest.raises(
        HandlerLostError, match="'echo' died 4 times while handling it; it is not asked again"
    ) as caught:
        await join(bus, ASKER).query("echo", {})
    assert caught.value.values["deaths"] == mortal.asked == 4


async def test_what_a_handler_gave_up_is_not_asked_for_again_by_who_asked_the_handler(bus: MemoryBus) -> None:
    mortal = Mortal(99)
    join(bus, ANSWERER, queries={"echo": mortal.answer})
    between = join(bus, Address("between"))

    async def ask_on(body: dict[str, Any]) -> dict[str, Any]:
        return await between.query("echo", body)

    await between.register_handler("on", ask_on)
    with pytest.raises(HandlerLostError, match="died 4 times"):
        await join(bus, ASKER).query("on", {})
    assert mortal.asked == 4


@pytest.mark.parametrize(("dies_after_s", "times"), [(9.99, 2), (10, 1), (10.001, 1)])
async def test_a_query_is_asked_again_while_some_of_its_time_is_left_and_not_after_that(
    dies_after_s: float, times: int
) -> None:
    bus, deadlines_s = MemoryBus(), list[float]()

    async def dies(_body: dict[str, Any]) -> dict[str, Any]:
        (query,) = [frame for frame in bus.sent if frame.header.kind == "query"][len(deadlines_s) :]
        deadlines_s.append(((query.header.deadline_ms or 0) - bus.clock.now_ms()) / 1000)
        await bus.clock.sleep(dies_after_s if len(deadlines_s) == 1 else 99)
        raise HandlerLostError("its process died", type="echo")

    join(bus, ANSWERER, queries={"echo": dies})
    asked = asyncio.ensure_future(join(bus, ASKER).query("echo", {}, timeout_s=10))
    await bus.clock.advance(30)
    with pytest.raises((HandlerLostError, QueryTimeoutError)):
        await asked
    assert len(deadlines_s) == times
    assert deadlines_s[0] == 10
    assert deadlines_s[1:] == [pytest.approx(0.01, abs=0.0015)] * (times - 1)


async def test_many_queries_at_once_get_each_their_own_answer(bus: MemoryBus) -> None:
    async def slow_first(body: dict[str, Any]) -> dict[str, Any]:
        for _ in range(20 - body["n"]):
            await asyncio.sleep(0)
        return body

    join(bus, ANSWERER, queries={"echo": slow_first})
    asker = join(bus, ASKER)
    answers = await asyncio.gather(*(asker.query("echo", {"n": number}) for number in range(20)))
    assert [answer["n"] for answer in answers] == list(range(20))


@pytest.mark.parametrize(
    "error", [StateStorageError("full"), RepositoryError("gone"), UnknownNameError("who?", name="x")]
)
async def test_an_error_of_the_handler_comes_back_as_its_class_with_its_words(
    bus: MemoryBus, error: JeevesError
) -> None:
    async def fail(_body: dict[str, Any]) -> dict[str, Any]:
        raise error

    join(bus, ANSWERER, queries={"look": fail})
    with pytest.raises(type(error)) as caught:
        await join(bus, ASKER).query("look", {})
    assert caught.value.message == error.message
    assert caught.value.exit_status == error.exit_status


async def test_a_bug_in_the_handler_comes_back_as_an_error_and_the_endpoint_lives_on(
    bus: MemoryBus, caplog: pytest.LogCaptureFixture
) -> None:
    async def stumble(_body: dict[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError("by zero")

    join(bus, ANSWERER, queries={"odd": stumble, "echo": echo})
    asker = join(bus, ASKER)
    with caplog.at_level(logging.CRITICAL), pytest.raises(JeevesError, match="ZeroDivisionError: by zero"):
        await asker.query("odd", {})
    assert await asker.query("echo", {}) == {"heard": {}}


async def test_an_answer_that_cannot_be_written_comes_back_as_an_error(
    bus: MemoryBus, caplog: pytest.LogCaptureFixture
) -> None:
    async def unspeakable(_body: dict[str, Any]) -> dict[str, Any]:
        return {"x": object()}

    join(bus, ANSWERER, queries={"odd": unspeakable})
    with caplog.at_level(logging.CRITICAL), pytest.raises(JeevesError, match="object"):
        await join(bus, ASKER).query("odd", {})


async def test_a_query_that_nobody_handles_fails_at_once(bus: MemoryBus) -> None:
    asker = join(bus, ASKER)
    with pytest.raises(NoHandlerError, match="nobody handles 'echo'"):
        await asker.query("echo", {})


async def test_a_query_that_reaches_an_endpoint_without_its_handler_fails_at_once(bus: MemoryBus) -> None:
    bus.table.expect(ANSWERER, ("echo",))
    join(bus, ANSWERER)
    asker = join(bus, ASKER)
    with pytest.raises(NoHandlerError, match="answerer does not handle 'echo'"):
        await asyncio.wait_for(asker.query("echo", {}), 5)


async def test_a_full_bus_fails_the_query_at_once(bus: MemoryBus) -> None:
    asker = join(bus, ASKER)
    bus.answer = "full"
    with pytest.raises(BusError, match="full"):
        await asker.query("echo", {})


async def test_no_answer_in_time_is_a_timeout_that_names_the_query(bus: MemoryBus) -> None:
    async def never(_body: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    join(bus, ANSWERER, queries={"slow": never})
    with pytest.raises(QueryTimeoutError, match=r"no answer to 'slow' within 0\.01 s"):
        await join(bus, ASKER).query("slow", {}, timeout_s=0.01)


async def test_an_answer_after_the_timeout_is_passed_over(bus: MemoryBus) -> None:
    go_on = asyncio.Event()

    async def late(_body: dict[str, Any]) -> dict[str, Any]:
        await go_on.wait()
        return {"late": True}

    join(bus, ANSWERER, queries={"slow": late, "echo": echo})
    asker = join(bus, ASKER)
    with pytest.raises(QueryTimeoutError):
        await asker.query("slow", {}, timeout_s=0.01)
    go_on.set()
    await settle()
    assert await asker.query("echo", {}) == {"heard": {}}


async def test_a_query_tells_its_deadline(bus: MemoryBus) -> None:
    join(bus, ANSWERER, queries={"echo": echo})
    before_ms = SystemClock().now_ms()
    await join(bus, ASKER).query("echo", {}, timeout_s=7)
    deadline_ms = bus.sent[0].header.deadline_ms
    assert deadline_ms is not None
    assert before_ms + 7_000 <= deadline_ms <= SystemClock().now_ms() + 7_000


async def test_a_reply_that_nobody_waits_for_is_passed_over(bus: MemoryBus) -> None:
    asker = join(bus, ASKER)
    header = Header(MessageId("m"), "reply", "echo", ANSWERER, ASKER, correlation_id=MessageId("unknown"))
    asker.on_frame(Frame(header, pack_body({})))
    asker.on_frame(Frame(Header(MessageId("n"), "reply", "echo", ANSWERER, ASKER), b""))
    await settle()


async def test_a_command_reaches_the_handler_of_its_type_with_its_run(bus: MemoryBus) -> None:
    got: list[Frame] = []

    async def take(frame: Frame) -> None:
        got.append(frame)

    join(bus, ANSWERER, frames={"do": take})
    assert await join(bus, ASKER).command(ANSWERER, "do", b"it", RunId("r-1")) == "accepted"
    await settle()
    assert [(frame.header.kind, frame.header.run_id, frame.body) for frame in got] == [("command", "r-1", b"it")]


async def test_a_command_to_nobody_says_so(bus: MemoryBus) -> None:
    assert await join(bus, ASKER).command(Address("nobody"), "do", b"") == "refused"


async def test_a_failing_command_does_not_end_the_endpoint(bus: MemoryBus, caplog: pytest.LogCaptureFixture) -> None:
    async def stumble(_frame: Frame) -> None:
        raise ZeroDivisionError

    join(bus, ANSWERER, frames={"do": stumble}, queries={"echo": echo})
    asker = join(bus, ASKER)
    with caplog.at_level(logging.ERROR):
        await asker.command(ANSWERER, "do", b"")
        await settle()
    assert "frame.failed" in caplog.text
    assert await asker.query("echo", {}) == {"heard": {}}


async def test_a_command_that_the_endpoint_does_not_know_is_logged_and_dropped(
    bus: MemoryBus, caplog: pytest.LogCaptureFixture
) -> None:
    join(bus, ANSWERER)
    with caplog.at_level(logging.WARNING):
        await join(bus, ASKER).command(ANSWERER, "do", b"")
        await settle()
    assert "frame.unhandled" in caplog.text


async def test_a_slow_command_does_not_hold_up_the_next(bus: MemoryBus) -> None:
    order: list[bytes] = []
    go_on = asyncio.Event()

    async def work(frame: Frame) -> None:
        if frame.body == b"slow":
            await go_on.wait()
        order.append(frame.body)

    join(bus, ANSWERER, frames={"do": work})
    asker = join(bus, ASKER)
    await asker.command(ANSWERER, "do", b"slow")
    await asker.command(ANSWERER, "do", b"quick")
    await settle()
    go_on.set()
    await settle()
    assert order == [b"quick", b"slow"]


async def test_an_event_reaches_every_subscriber(bus: MemoryBus) -> None:
    heard: list[str] = []

    def hearer(name: str) -> Endpoint:
        async def hear(_frame: Frame) -> None:
            heard.append(name)

        return join(bus, Address(name), frames={"news": hear}, subscribes=("news",))

    hearer("first")
    hearer("second")
    assert await join(bus, ASKER).publish("news", b"") == "accepted"
    await settle()
    assert sorted(heard) == ["first", "second"]


async def test_a_second_endpoint_for_a_query_is_refused(bus: MemoryBus) -> None:
    join(bus, ANSWERER, queries={"echo": echo})
    with pytest.raises(DuplicateHandlerError):
        join(bus, Address("other"), queries={"echo": echo})
