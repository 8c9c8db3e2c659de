"""Endpoints through bad weather: a bus that restarts, queries called off, deadlines, traces, stops, and handlers that
come and go."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from runtime.bus.builtin_middleware import CircuitBreaker
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import Frame, Header, pack_body
from runtime.bus.memory_bus import MemoryBus, settle
from runtime.bus.middleware import Middleware, Outcome, Stop, Verdict
from runtime.bus.sender import RetryRules
from runtime.errors import (
    BusError,
    CircuitOpenError,
    DuplicateHandlerError,
    MessageStoppedError,
    NoHandlerError,
    QueryCancelledError,
    QueryTimeoutError,
)
from runtime.primitives.ids import Address, MessageId, RunId

RETRY = RetryRules(tries=3, first_s=1.0, longest_s=2.0, max_waiting=2)
WHOLE_RETRY_S = 1 + 2 + 2


class Handler:
    """Answers queries and takes frames once `go_on` is set; knows how often it began, ended and was cancelled."""

    def __init__(self, waits: bool = False) -> None:
        self.go_on = asyncio.Event()
        if not waits:
            self.go_on.set()
        self.begun = self.ended = self.cancelled = 0

    async def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.begun += 1
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.ended += 1
        return {"heard": body}

    async def take(self, _frame: Frame) -> None:
        await self.answer({})


async def fail(*_anything: Any) -> dict[str, Any]:
    raise ZeroDivisionError("by zero")


async def fail_at_frame(_frame: Frame) -> None:
    raise ZeroDivisionError("by zero")


@pytest.fixture
def bus() -> MemoryBus:
    return MemoryBus()


@pytest.fixture
def asker(bus: MemoryBus) -> Endpoint:
    return bus.join("asker", retry=RETRY)


# A bus that is away


async def test_a_frame_that_finds_no_bus_is_sent_again_when_the_bus_is_back(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler()
    bus.join("handler", frames={"do": handler.take})
    bus.answer = "unreachable"
    sending = asyncio.create_task(asker.command(Address("handler"), "do", b""))
    await bus.clock.advance(0.999)
    assert len(bus.sent) == 1
    bus.answer = None
    await bus.clock.advance(0.001)
    assert await sending == "accepted"
    await settle()
    assert handler.ended == 1


@pytest.mark.parametrize(("waited_s", "given_up"), [(WHOLE_RETRY_S - 0.001, False), (WHOLE_RETRY_S, True)])
async def test_an_endpoint_gives_up_after_a_bounded_number_of_tries(
    bus: MemoryBus, asker: Endpoint, waited_s: float, given_up: bool, caplog: pytest.LogCaptureFixture
) -> None:
    bus.answer = "unreachable"
    sending = asyncio.create_task(asker.send("do", b""))
    await bus.clock.advance(waited_s)
    assert sending.done() is given_up
    await bus.clock.advance(1)
    assert await sending == "unreachable"
    assert len(bus.sent) == 1 + RETRY.tries
    assert len({frame.header.message_id for frame in bus.sent}) == 1


@pytest.mark.parametrize(("waiting", "outcome"), [(1, None), (2, "full"), (3, "full")])
async def test_only_so_many_frames_wait_for_a_bus_that_is_away(
    bus: MemoryBus, asker: Endpoint, waiting: int, outcome: str | None
) -> None:
    bus.answer = "unreachable"
    tasks = [asyncio.create_task(asker.send("do", b"")) for _ in range(waiting)]
    await settle()
    last = asyncio.create_task(asker.send("do", b""))
    await settle()
    assert (last.result() if last.done() else None) == outcome
    await bus.clock.advance(WHOLE_RETRY_S)
    assert [task.result() for task in tasks] == ["unreachable"] * min(waiting, 2) + ["full"] * (waiting - 2)


async def test_frames_that_were_given_up_make_room_for_others(bus: MemoryBus, asker: Endpoint) -> None:
    bus.answer = "unreachable"
    for _ in range(3):
        sending = asyncio.create_task(asker.send("do", b""))
        await bus.clock.advance(WHOLE_RETRY_S)
        assert await sending == "unreachable"


async def test_whoever_finds_no_bus_appears_again_on_the_next_one(bus: MemoryBus, asker: Endpoint) -> None:
    endpoint = bus.join("handler", queries={"echo": Handler().answer}, retry=RETRY)
    bus.answer = "unreachable"
    sending = asyncio.create_task(endpoint.publish("news", b""))
    await settle()
    bus.start()
    bus.answer = None
    await bus.clock.advance(1)
    assert await sending == "accepted"
    assert bus.table.handler_types == ["echo"]
    assert bus.table.incarnation(endpoint.address) == 1


async def test_queries_that_have_an_answer_are_not_sent_again(bus: MemoryBus, asker: Endpoint) -> None:
    bus.join("handler", queries={"echo": Handler().answer})
    await asker.query("echo", {})
    asker.bind()
    await settle()
    assert bus.kinds() == ["query", "reply"]


async def test_a_full_or_living_bus_is_not_asked_twice(bus: MemoryBus, asker: Endpoint) -> None:
    assert await asker.send("do", b"") == "refused"
    bus.answer = "full"
    assert await asker.send("do", b"") == "full"
    assert len(bus.sent) == 2


async def test_a_query_to_a_bus_that_stays_away_says_so(bus: MemoryBus, asker: Endpoint) -> None:
    bus.answer = "unreachable"
    asking = asyncio.create_task(asker.query("echo", {}))
    await bus.clock.advance(WHOLE_RETRY_S)
    with pytest.raises(BusError, match="the bus is not reachable; 'echo' was not sent"):
        await asking


async def test_an_answer_survives_a_restart_of_the_bus(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler(waits=True)
    bus.join("handler", queries={"echo": handler.answer}, retry=RETRY)
    asking = asyncio.create_task(asker.query("echo", {"n": 1}))
    await settle()
    bus.answer = "unreachable"
    handler.go_on.set()
    await settle()
    bus.start()
    bus.answer = None
    asker.bind()
    await bus.clock.advance(1)
    assert await asking == {"heard": {"n": 1}}
    assert handler.begun == 1


async def test_a_query_that_the_bus_forgot_is_sent_again_when_its_asker_is_told_of_the_restart(
    bus: MemoryBus, asker: Endpoint
) -> None:
    bus.table.expect(Address("handler"), ("echo",))
    asking = asyncio.create_task(asker.query("echo", {}))
    await settle()
    bus.start()
    handler = Handler()
    bus.join("handler", queries={"echo": handler.answer})
    asker.bind()
    assert await asking == {"heard": {}}


async def test_a_query_that_is_handed_over_twice_is_worked_on_once(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler(waits=True)
    endpoint = bus.join("handler", queries={"echo": handler.answer})
    asking = asyncio.create_task(asker.query("echo", {}))
    await settle()
    endpoint.on_frame(bus.sent[0])
    await settle()
    handler.go_on.set()
    await asking
    assert handler.begun == 1


async def test_what_was_taken_up_later_is_told_to_the_restarted_bus_as_well(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler()
    endpoint = bus.join("handler")
    await endpoint.register_handler("echo", handler.answer)
    await endpoint.register_command("do", handler.take)
    await endpoint.subscribe("news", handler.take)
    bus.start()
    for each in (endpoint, asker):
        each.bind()
    assert await asker.handler_types() == ["do", "echo"]
    assert await asker.subscribers("news") == ["handler"]


async def test_a_reply_for_which_there_is_no_bus_is_logged_in_the_end(
    bus: MemoryBus, asker: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Handler(waits=True)
    bus.join("handler", queries={"echo": handler.answer}, retry=RETRY)
    asking = asyncio.create_task(asker.query("echo", {}, timeout_s=WHOLE_RETRY_S + 2))
    await settle()
    bus.answer = "unreachable"
    handler.go_on.set()
    with caplog.at_level(logging.WARNING):
        await bus.clock.advance(WHOLE_RETRY_S + 1)
    assert "reply.lost" in caplog.text
    await bus.clock.advance(WHOLE_RETRY_S + 1)
    with pytest.raises(QueryTimeoutError):
        await asking


# Cancel, timeout, deadline


@pytest.mark.parametrize(("waited_s", "over"), [(29.999, False), (30, True)])
async def test_a_query_waits_thirty_seconds_unless_told_otherwise(
    bus: MemoryBus, asker: Endpoint, waited_s: float, over: bool
) -> None:
    bus.join("handler", queries={"echo": Handler(waits=True).answer})
    asking = asyncio.create_task(asker.query("echo", {}))
    await bus.clock.advance(waited_s)
    assert asking.done() is over
    await bus.clock.advance(1)
    with pytest.raises(QueryTimeoutError, match="no answer to 'echo' within 30 s"):
        await asking


async def test_a_timeout_cancels_the_handlers_work_and_says_that_it_is_one(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler(waits=True)
    bus.join("handler", queries={"echo": handler.answer})
    asking = asyncio.create_task(asker.query("echo", {}, timeout_s=5))
    await bus.clock.advance(5)
    with pytest.raises(QueryTimeoutError):
        await asking
    await settle()
    assert (handler.begun, handler.cancelled) == (1, 1)
    assert bus.kinds() == ["query", "cancel"]
    assert bus.sent[-1].header.reason == "timeout"


async def test_a_cancelled_asker_cancels_the_handlers_work_and_says_that_it_is_no_timeout(
    bus: MemoryBus, asker: Endpoint
) -> None:
    handler = Handler(waits=True)
    bus.join("handler", queries={"echo": handler.answer})
    asking = asyncio.create_task(asker.query("echo", {}))
    await settle()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await settle()
    assert handler.cancelled == 1
    assert bus.kinds() == ["query", "cancel"]
    assert bus.sent[-1].header.reason == "cancelled"


async def test_a_cancel_frame_for_work_that_is_done_or_unknown_is_passed_over(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler()
    endpoint = bus.join("handler", queries={"echo": handler.answer})
    await asker.query("echo", {})
    for query_id in (bus.sent[0].header.message_id, MessageId("unknown"), None):
        header = Header(MessageId("c"), "cancel", "echo", Address("asker"), correlation_id=query_id)
        endpoint.on_frame(Frame(header))
    await settle()
    assert (handler.ended, handler.cancelled) == (1, 0)


async def test_an_endpoint_that_closes_answers_that_it_called_the_work_off(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler(waits=True)
    endpoint = bus.join("handler", queries={"echo": handler.answer})
    asking = asyncio.create_task(asker.query("echo", {}))
    await settle()
    await endpoint.close()
    with pytest.raises(QueryCancelledError, match="handler cancelled its work on 'echo'"):
        await asking
    assert handler.cancelled == 1


async def test_an_endpoint_that_closes_answers_what_it_took_a_moment_ago(bus: MemoryBus) -> None:
    endpoint = bus.join("handler", queries={"echo": Handler(waits=True).answer})
    bus.join("asker")
    endpoint.on_frame(Frame(Header(MessageId("m"), "query", "echo", Address("asker")), pack_body({})))
    await endpoint.close()
    assert [frame.header.reason for frame in bus.sent] == ["query_cancelled"]


async def test_an_endpoint_that_closes_calls_off_what_it_asked(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler(waits=True)
    bus.join("handler", queries={"echo": handler.answer})
    asking = asyncio.create_task(asker.query("echo", {}))
    await settle()
    await asker.close()
    with pytest.raises(QueryCancelledError, match="'echo' was cancelled: its asker closed"):
        await asking
    await settle()
    assert handler.cancelled == 1


async def test_a_handler_whose_own_work_was_cancelled_says_so(bus: MemoryBus, asker: Endpoint) -> None:
    async def give_up(_body: dict[str, Any]) -> dict[str, Any]:
        raise asyncio.CancelledError

    bus.join("handler", queries={"echo": give_up})
    with pytest.raises(QueryCancelledError):
        await asker.query("echo", {})


@pytest.mark.parametrize(("early_ms", "begun"), [(1, 1), (0, 0), (-1, 0)])
async def test_a_query_past_its_deadline_is_not_begun(
    bus: MemoryBus, asker: Endpoint, early_ms: int, begun: int
) -> None:
    handler = Handler()
    endpoint = bus.join("handler", queries={"echo": handler.answer})
    deadline_ms = bus.clock.now_ms() + early_ms
    header = Header(MessageId("m"), "query", "echo", Address("asker"), deadline_ms=deadline_ms)
    endpoint.on_frame(Frame(header, pack_body({})))
    await settle()
    assert handler.begun == begun
    assert bus.sent[-1].header.reason == (None if begun else "query_timeout")


# Failures


async def test_a_failed_command_goes_to_the_log_and_to_the_dead_letters(
    bus: MemoryBus, asker: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    bus.join("handler", frames={"do": fail_at_frame})
    with caplog.at_level(logging.ERROR):
        await asker.command(Address("handler"), "do", b"", RunId("r-1"))
        await settle()
    assert "frame.failed" in caplog.text
    (letter,) = bus.table.dead_letters
    assert (letter.header.kind, letter.header.type, letter.header.run_id) == ("command", "do", "r-1")
    assert letter.reason == "ZeroDivisionError: by zero"


async def test_a_command_that_its_endpoint_does_not_know_is_a_dead_letter(bus: MemoryBus, asker: Endpoint) -> None:
    bus.join("handler")
    await asker.command(Address("handler"), "do", b"")
    await settle()
    assert [letter.reason for letter in bus.table.dead_letters] == ["NoHandlerError: handler does not handle 'do'"]


async def test_a_failing_subscriber_hurts_no_other_and_is_counted(
    bus: MemoryBus, asker: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, third = Handler(), Handler(), Handler()
    endpoint = bus.join("first", frames={"news": first.take}, subscribes=("news",))
    await endpoint.subscribe("news", fail_at_frame)
    await endpoint.subscribe("news", second.take)
    bus.join("second", frames={"news": third.take}, subscribes=("news",))
    with caplog.at_level(logging.CRITICAL):
        assert await asker.publish("news", b"") == "accepted"
        await settle()
    assert (first.ended, second.ended, third.ended) == (1, 1, 1)
    assert bus.table.counts["handler_failed"] == 1
    assert not bus.table.dead_letters


async def test_consecutive_failures_open_the_circuit_and_a_probe_closes_it(
    bus: MemoryBus, asker: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    bus.dispatcher.add_middleware(CircuitBreaker(bus.clock))
    healthy = False

    async def moody(body: dict[str, Any]) -> dict[str, Any]:
        return body if healthy else await fail()

    bus.join("handler", queries={"mood": moody})
    with caplog.at_level(logging.CRITICAL):
        for _ in range(5):
            with pytest.raises(BaseException, match="by zero"):
                await asker.query("mood", {})
    with pytest.raises(CircuitOpenError, match="it is tried again in 30 s") as caught:
        await asker.query("mood", {})
    assert caught.value.values["probe_at_ms"] == bus.clock.now_ms() + 30_000
    await bus.clock.advance(30)
    healthy = True
    assert await asker.query("mood", {"ok": True}) == {"ok": True}


async def test_queries_that_time_out_open_the_circuit_too(bus: MemoryBus, asker: Endpoint) -> None:
    bus.dispatcher.add_middleware(CircuitBreaker(bus.clock))
    bus.join("handler", queries={"slow": Handler(waits=True).answer})
    for _ in range(5):
        asking = asyncio.create_task(asker.query("slow", {}, timeout_s=1))
        await bus.clock.advance(1)
        with pytest.raises(QueryTimeoutError):
            await asking
        await settle()
    with pytest.raises(CircuitOpenError):
        await asker.query("slow", {})


async def test_a_query_without_a_handler_never_opens_the_circuit(bus: MemoryBus, asker: Endpoint) -> None:
    bus.dispatcher.add_middleware(CircuitBreaker(bus.clock))
    for _ in range(10):
        with pytest.raises(NoHandlerError):
            await asker.query("nothing", {})


# Middleware at the endpoint


class Guard(Middleware):
    """Stops everything of type `forbidden`, and remembers outcomes."""

    name = "guard"

    def __init__(self) -> None:
        self.outcomes: list[tuple[str, Outcome]] = []

    def before(self, header: Header) -> Verdict:
        return Stop("forbidden here") if header.type == "forbidden" else super().before(header)

    def after(self, header: Header, outcome: Outcome) -> None:
        self.outcomes.append((header.type, outcome))


async def test_an_endpoints_middleware_hears_how_its_handlers_ended(
    bus: MemoryBus, asker: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    guard = Guard()
    queries = {"good": Handler().answer, "bad": fail, "slow": Handler(waits=True).answer}
    endpoint = bus.join("handler", queries=queries, frames={"do": Handler().take, "fail": fail_at_frame})
    endpoint.add_middleware(guard)
    with caplog.at_level(logging.CRITICAL):
        for type_ in ("good", "bad"):
            await asyncio.gather(asker.query(type_, {}), return_exceptions=True)
        for type_ in ("do", "fail"):
            await asker.command(Address("handler"), type_, b"")
        asking = asyncio.create_task(asker.query("slow", {}, timeout_s=1))
        await bus.clock.advance(2)
    assert isinstance(asking.exception(), QueryTimeoutError)
    assert guard.outcomes == [
        *(("good", "answered"), ("bad", "failed"), ("do", "accepted"), ("fail", "failed"), ("slow", "cancelled"))
    ]


async def test_what_an_endpoints_middleware_stops_is_answered_or_a_dead_letter(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler()
    bus.join("handler", queries={"forbidden": handler.answer}, middleware=[Guard()])
    with pytest.raises(MessageStoppedError, match="'forbidden' was stopped by guard: forbidden here"):
        await asker.query("forbidden", {})
    await asker.command(Address("handler"), "forbidden", b"")
    await settle()
    assert handler.begun == 0
    assert len(bus.table.dead_letters) == 1


# Traces


async def test_what_is_sent_while_a_frame_is_handled_carries_its_trace_its_parent_and_its_run(
    bus: MemoryBus, asker: Endpoint
) -> None:
    middle = bus.join("middle")

    async def ask_on(_frame: Frame) -> None:
        await asyncio.gather(middle.query("echo", {}), middle.publish("news", b""))

    await middle.register_command("do", ask_on)
    bus.join("handler", queries={"echo": Handler().answer})
    bus.sent.clear()
    await asker.send("do", b"", RunId("r-1"))
    await settle()
    by_kind = {frame.header.kind: frame.header for frame in bus.sent}
    root = by_kind["command"]
    assert (root.trace_id, root.parent_id) == (root.message_id, None)
    for kind in ("query", "event"):
        child = by_kind[kind]
        assert (child.trace_id, child.parent_id, child.run_id) == (root.trace_id, root.message_id, "r-1")
    reply = by_kind["reply"]
    assert (reply.trace_id, reply.parent_id) == (root.trace_id, by_kind["query"].message_id)


async def test_a_query_asked_for_the_sake_of_another_names_it_as_its_parent(bus: MemoryBus, asker: Endpoint) -> None:
    middle = bus.join("middle")

    async def ask_on(body: dict[str, Any]) -> dict[str, Any]:
        return await middle.query("echo", body)

    await middle.register_handler("relay", ask_on)
    bus.join("handler", queries={"echo": Handler().answer})
    bus.sent.clear()
    await asker.query("relay", {})
    first, second = (frame.header for frame in bus.sent if frame.header.kind == "query")
    assert (second.trace_id, second.parent_id) == (first.message_id, first.message_id)


async def test_frames_outside_a_handler_begin_a_trace_each(bus: MemoryBus, asker: Endpoint) -> None:
    for _ in range(2):
        await asker.publish("news", b"")
    first, second = (frame.header for frame in bus.sent)
    assert first.trace_id != second.trace_id
    assert (first.parent_id, second.parent_id) == (None, None)


# Handlers that come and go


async def test_a_handler_can_be_registered_and_deregistered_at_any_time(bus: MemoryBus, asker: Endpoint) -> None:
    endpoint = bus.join("handler")
    await endpoint.register_handler("echo", Handler().answer)
    assert await asker.has_handler("echo")
    assert await asker.query("echo", {}) == {"heard": {}}
    await endpoint.deregister("echo")
    assert not await asker.has_handler("echo")
    with pytest.raises(NoHandlerError):
        await asker.query("echo", {})


async def test_a_second_handler_for_a_type_is_an_error_here_and_elsewhere(bus: MemoryBus, asker: Endpoint) -> None:
    endpoint = bus.join("handler", queries={"echo": Handler().answer})
    with pytest.raises(DuplicateHandlerError, match="handler handles 'echo' already"):
        await endpoint.register_handler("echo", fail)
    with pytest.raises(DuplicateHandlerError, match="'echo' is handled by handler already, not by asker"):
        await asker.register_handler("echo", fail)
    with pytest.raises(DuplicateHandlerError):
        await asker.register_command("echo", fail_at_frame)
    assert await asker.query("echo", {}) == {"heard": {}}
    assert await asker.handler_types() == ["echo"]


async def test_a_type_that_another_gave_back_can_be_taken_after_a_failed_attempt(
    bus: MemoryBus, asker: Endpoint
) -> None:
    endpoint = bus.join("handler", queries={"echo": Handler().answer})
    with pytest.raises(DuplicateHandlerError):
        await asker.register_handler("echo", Handler().answer)
    await endpoint.deregister("echo")
    await asker.register_handler("echo", Handler().answer)
    assert await endpoint.query("echo", {}) == {"heard": {}}


async def test_a_command_goes_to_whoever_registered_its_type(bus: MemoryBus, asker: Endpoint) -> None:
    handler = Handler()
    await bus.join("handler").register_command("do", handler.take)
    assert await asker.send("do", b"") == "accepted"
    await settle()
    assert handler.ended == 1


async def test_subscribing_returns_its_undo_which_may_be_called_twice(bus: MemoryBus, asker: Endpoint) -> None:
    first, second = Handler(), Handler()
    endpoint = bus.join("handler")
    undo_first = await endpoint.subscribe("news", first.take)
    undo_second = await endpoint.subscribe("news", second.take)
    assert await asker.subscribers("news") == ["handler"]
    for undo in (undo_first, undo_first):
        await undo()
        await asker.publish("news", b"")
    await settle()
    assert (first.ended, second.ended) == (0, 2)
    await undo_second()
    assert await asker.subscribers("news") == []


async def test_the_bus_tells_an_endpoint_what_it_has_counted(bus: MemoryBus, asker: Endpoint) -> None:
    await asker.send("unknown", b"")
    stats = await asker.bus_stats()
    assert stats["dead_letters"] == 1
    assert stats["latest_dead_letters"][0]["type"] == "unknown"
