"""What the bus does with a frame: outcomes for the middleware, dead letters, queries under way, questions to it."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from runtime.bus import dispatcher
from runtime.bus.builtin_middleware import Deduplication, Tracing
from runtime.bus.dispatcher import OVERDUE_MS, Dispatcher, DispatchResult
from runtime.bus.frames import (
    BUS,
    Frame,
    Header,
    Kind,
    cancel_of,
    decode_frame,
    encode_frame,
    failure_report,
    pack_body,
    reply_to,
    unpack_body,
)
from runtime.bus.middleware import CONTINUE, Chain, Middleware, Outcome, Replace, Stop, Verdict
from runtime.bus.queries import error_from_wire, error_to_wire
from runtime.bus.routing_table import PARKED_FRAMES_PER_ADDRESS, RoutingTable
from runtime.errors import (
    BusError,
    DuplicateHandlerError,
    HandlerLostError,
    JeevesError,
    MessageStoppedError,
    NoHandlerError,
    QueryCancelledError,
    QueryTimeoutError,
    RepositoryError,
    WireError,
)
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import Address, MessageId, RunId, new_message_id

ASKER, HANDLER, OTHER = Address("asker"), Address("handler"), Address("other")


class Watching(Middleware):
    """Keeps every outcome; `verdict` is what it says to every message."""

    name = "watching"

    def __init__(self) -> None:
        self.outcomes: list[tuple[str, Outcome]] = []
        self.verdict: Verdict = CONTINUE

    def before(self, header: Header) -> Verdict:
        return self.verdict

    def after(self, header: Header, outcome: Outcome) -> None:
        self.outcomes.append((header.kind, outcome))


class Bus:
    """A dispatcher with an asker and a handler of `t` at it."""

    def __init__(self, *links: Middleware) -> None:
        self.clock = FakeClock()
        self.table = RoutingTable()
        self.watching = Watching()
        self.dispatcher = Dispatcher(self.table, Chain([Deduplication(), *links, self.watching]), self.clock)
        self.table.connect(ASKER)
        self.table.connect(HANDLER, handles=("t",), subscribes=("e",))

    def frame(self, kind: Kind, type_: str = "t", target: Address | None = None, **fields: Any) -> Frame:
        body = fields.pop("body", b"")
        return Frame(Header(new_message_id(), kind, type_, ASKER, target, **fields), body)

    def query(self, **fields: Any) -> Header:
        """A query that is under way now."""
        query = self.frame("query", **fields)
        assert self.take(query).outcome == "accepted"
        return query.header

    def take(self, frame: Frame) -> DispatchResult:
        return self.dispatcher.dispatch(encode_frame(frame))

    def answer(self, query: Header, error: JeevesError | None = None) -> DispatchResult:
        code = error.code if error else None
        return self.take(reply_to(query, HANDLER, b"", failed=error is not None, reason=code))

    def ask_bus(self, type_: str, about: str = "", source: Address = ASKER) -> dict[str, Any]:
        header = Header(new_message_id(), "query", type_, source, BUS)
        return answer_in(self.take(Frame(header, pack_body({"type": about}))), source)

    def dead_letters(self) -> list[tuple[str, str]]:
        return [(letter.header.kind, letter.reason) for letter in self.table.dead_letters]


def answer_in(taken: DispatchResult, asker: Address = ASKER) -> dict[str, Any]:
    """What the one reply in there says. Raises what it carries."""
    ((address, data),) = taken.deliver
    reply = decode_frame(data)
    assert (address, reply.header.kind) == (asker, "reply")
    answer = unpack_body(reply.body)
    if reply.header.failed:
        raise error_from_wire(answer)
    return answer


@pytest.fixture
def bus() -> Bus:
    return Bus()


def test_a_frame_leaves_as_the_bytes_that_it_came_in(bus: Bus) -> None:
    data = encode_frame(bus.frame("query", body=b"\xffno map"))
    assert bus.dispatcher.dispatch(data) == DispatchResult("accepted", ((HANDLER, data),))


def test_a_replaced_header_travels_with_the_old_body() -> None:
    bus = Bus(Tracing())
    frame = bus.frame("command", body=b"it")
    ((_, data),) = bus.take(frame).deliver
    assert decode_frame(data).body == b"it"
    assert decode_frame(data).header.trace_id == frame.header.message_id


def test_a_copy_is_accepted_and_goes_nowhere(bus: Bus) -> None:
    frame = bus.frame("command")
    assert len(bus.take(frame).deliver) == 1
    assert bus.take(frame) == DispatchResult("accepted")
    assert bus.table.counts == {"command": 1, "doubled": 1}
    assert bus.watching.outcomes == [("command", "accepted")]


def test_a_copy_of_what_was_refused_is_refused_again(bus: Bus) -> None:
    frame = bus.frame("query", "unknown")
    assert [bus.take(frame).outcome for _ in range(2)] == ["refused", "refused"]


@pytest.mark.parametrize("data", [b"", b"\x00\x00\x00\x09abc"])
def test_bytes_that_are_no_frame_are_refused(bus: Bus, data: bytes) -> None:
    with pytest.raises(WireError):
        bus.dispatcher.dispatch(data)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "answered"),
        (BusError("x"), "failed"),
        (JeevesError("x"), "failed"),
        (RepositoryError("no folder"), "rejected"),
        (NoHandlerError("x"), "refused"),
        (QueryCancelledError("x"), "cancelled"),
        (QueryTimeoutError("x"), "timeout"),
    ],
)
def test_a_reply_is_the_outcome_of_its_query(bus: Bus, error: JeevesError | None, outcome: Outcome) -> None:
    query = bus.query()
    assert bus.watching.outcomes == []
    assert [address for address, _ in bus.answer(query, error).deliver] == [ASKER]
    assert bus.watching.outcomes == [("query", outcome)]


def test_a_second_reply_is_handed_on_and_counted_no_more(bus: Bus) -> None:
    query = bus.query()
    bus.answer(query)
    assert len(bus.answer(query).deliver) == 1
    assert bus.watching.outcomes == [("query", "answered")]


@pytest.mark.parametrize("reason", ["timeout", "cancelled"])
def test_a_cancel_frame_tells_a_timeout_from_a_cancellation_and_reaches_the_handler(bus: Bus, reason: Any) -> None:
    query = bus.query()
    assert [address for address, _ in bus.take(cancel_of(query, reason)).deliver] == [HANDLER]
    assert bus.watching.outcomes == [("query", reason)]


def test_a_cancel_frame_goes_to_who_was_asked_though_another_handles_the_type_by_now(bus: Bus) -> None:
    query = bus.query()
    bus.table.deregister_handler(HANDLER, "t")
    bus.table.connect(OTHER, handles=("t",))
    assert [address for address, _ in bus.take(cancel_of(query, "timeout")).deliver] == [HANDLER]


@pytest.mark.parametrize(
    ("kind", "outcome", "seen"),
    [("query", "refused", "refused"), ("command", "refused", "refused"), ("event", "accepted", "dropped")],
)
def test_without_a_taker_a_query_and_a_command_are_refused_and_an_event_is_dropped_and_counted(
    bus: Bus, kind: Kind, outcome: str, seen: Outcome
) -> None:
    assert bus.take(bus.frame(kind, "unknown")).outcome == outcome
    assert bus.watching.outcomes == [(kind, seen)]
    assert bus.table.counts["dropped"] == (kind == "event")
    assert len(bus.table.dead_letters) == (kind != "event")


def test_a_stopped_query_is_answered_with_who_stopped_it_and_why(bus: Bus) -> None:
    bus.watching.verdict = Stop("not today")
    with pytest.raises(MessageStoppedError, match="'t' was stopped by watching: not today") as caught:
        answer_in(bus.take(bus.frame("query")))
    assert (caught.value.values["by"], caught.value.values["reason"]) == ("watching", "not today")
    assert bus.table.counts["stopped"] == 1


def test_a_stopped_command_is_a_dead_letter_and_a_stopped_event_is_not(bus: Bus) -> None:
    bus.watching.verdict = Stop("not today")
    assert [bus.take(bus.frame(kind)).outcome for kind in ("command", "event")] == ["refused", "refused"]
    assert bus.dead_letters() == [("command", "'t' was stopped by watching: not today")]


def test_a_failed_command_is_a_dead_letter_with_its_own_header_and_its_error(bus: Bus) -> None:
    command = bus.frame("command", run_id=RunId("r-1"))
    bus.take(command)
    assert bus.take(failure_report(command.header, HANDLER, "ZeroDivisionError: by zero")) == DispatchResult("accepted")
    (letter,) = bus.table.dead_letters
    assert (letter.header, letter.reason) == (command.header, "ZeroDivisionError: by zero")
    assert bus.watching.outcomes == [("command", "accepted"), ("command", "failed")]


def test_a_failed_subscriber_is_counted_and_no_dead_letter(bus: Bus) -> None:
    event = bus.frame("event", "e")
    bus.take(event)
    bus.take(failure_report(event.header, HANDLER, "x"))
    assert bus.table.counts["handler_failed"] == 1
    assert bus.watching.outcomes == [("event", "accepted"), ("event", "failed")]
    assert not bus.table.dead_letters


def test_a_failure_report_that_cannot_be_read_is_a_wire_error(bus: Bus) -> None:
    report = failure_report(bus.frame("command").header, HANDLER, "x")
    with pytest.raises(WireError):
        bus.take(Frame(report.header, b"\xc1"))


@pytest.mark.parametrize(("under_way", "outcome"), [(2, "accepted"), (3, "full"), (4, "full")])
def test_a_bounded_number_of_queries_is_under_way(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, under_way: int, outcome: str
) -> None:
    monkeypatch.setattr(dispatcher, "MAX_PENDING_QUERIES", 3)
    for _ in range(min(under_way, 3)):
        bus.query()
    query = bus.frame("query")
    assert bus.take(query).outcome == outcome
    bus.take(bus.frame("command"))
    assert (bus.watching.outcomes[0] == ("query", "full")) is (outcome == "full")


@pytest.mark.parametrize(("waited_ms", "left"), [(-1, 1), (0, 0), (1, 0)])
async def test_a_query_whose_asker_is_gone_is_forgotten_some_time_after_its_deadline(
    bus: Bus, waited_ms: int, left: int
) -> None:
    bus.query(deadline_ms=bus.clock.now_ms() + 30_000)
    await bus.clock.advance((30_000 + OVERDUE_MS + waited_ms) / 1000)
    bus.query()
    assert bus.dispatcher.stats()["queries_under_way"] == left + 1
    assert bus.watching.outcomes == [("query", "timeout")] * (1 - left)


def test_queries_for_an_endpoint_that_dies_fail_at_once(bus: Bus) -> None:
    bus.query()
    news, failures = bus.dispatcher.mark_lost(HANDLER, 1, for_good=True)
    assert news
    with pytest.raises(BusError, match="handler died while handling 't'"):
        answer_in(DispatchResult("accepted", failures))
    assert bus.watching.outcomes == [("query", "failed")]


def test_queries_for_an_endpoint_that_is_restarted_wait_on(bus: Bus) -> None:
    bus.query()
    assert bus.dispatcher.mark_lost(HANDLER, 1, for_good=False) == (True, ())
    assert bus.dispatcher.stats()["queries_under_way"] == 1


def test_queries_that_a_replaced_process_had_fail_and_those_that_its_successor_gets_wait_on(bus: Bus) -> None:
    bus.query()
    bus.table.mark_lost(HANDLER, 1, for_good=False)
    bus.query()
    failures = bus.dispatcher.on_replaced(HANDLER, bus.table.connect(HANDLER, handles=("t",)))
    with pytest.raises(HandlerLostError, match="handler died while handling 't'"):
        answer_in(DispatchResult("accepted", failures))
    assert bus.dispatcher.stats()["queries_under_way"] == 1


def test_a_query_whose_asker_knows_of_the_death_is_not_handed_to_the_next_process(bus: Bus) -> None:
    ((_, data),) = bus.take(bus.frame("query")).deliver
    bus.table.mark_lost(HANDLER, 1, for_good=False)
    assert len(bus.dispatcher.on_replaced(HANDLER, bus.table.connect(HANDLER, handles=("t",)))) == 1
    assert bus.dispatcher.requeue(HANDLER, data, 1) == (False, ())
    assert bus.table.dead_letters == deque()


def test_a_query_that_can_no_longer_be_handed_over_fails(bus: Bus) -> None:
    ((_, data),) = bus.take(bus.frame("query")).deliver
    assert bus.dispatcher.requeue(HANDLER, data, 1) == (True, ())
    bus.table.mark_lost(HANDLER, 1, for_good=False)
    for _ in range(PARKED_FRAMES_PER_ADDRESS):
        bus.take(bus.frame("command"))
    again, failures = bus.dispatcher.requeue(HANDLER, data, 1)
    with pytest.raises(HandlerLostError, match="'t' could not be handed to handler"):
        answer_in(DispatchResult("accepted", failures))
    assert (again, bus.dispatcher.stats()["queries_under_way"]) == (False, 0)


def test_a_death_is_one_failure_however_many_queries_of_a_type_it_took_along(bus: Bus) -> None:
    for _ in range(5):
        bus.query()
    bus.table.mark_lost(HANDLER, 1, for_good=False)
    assert len(bus.dispatcher.on_replaced(HANDLER, ())) == 5
    assert sorted(outcome for _, outcome in bus.watching.outcomes) == ["cancelled"] * 4 + ["failed"]


def test_the_loss_of_an_incarnation_that_was_replaced_is_no_news(bus: Bus) -> None:
    bus.query()
    bus.table.connect(HANDLER, handles=("t",))
    assert bus.dispatcher.mark_lost(HANDLER, 1, for_good=True) == (False, ())


def test_a_query_for_an_endpoint_with_too_many_parked_frames_finds_it_full(bus: Bus) -> None:
    bus.table.mark_lost(HANDLER, 1, for_good=False)
    for _ in range(PARKED_FRAMES_PER_ADDRESS):
        assert bus.take(bus.frame("command")).outcome == "accepted"
    assert bus.take(bus.frame("query")).outcome == "full"
    assert bus.watching.outcomes[-1] == ("query", "full")


def test_an_event_is_accepted_though_one_subscriber_has_no_room(bus: Bus) -> None:
    bus.table.connect(OTHER, subscribes=("e",))
    bus.table.mark_lost(HANDLER, 1, for_good=False)
    for _ in range(PARKED_FRAMES_PER_ADDRESS):
        bus.take(bus.frame("command"))
    taken = bus.take(bus.frame("event", "e"))
    assert taken.outcome == "accepted"
    assert [address for address, _ in taken.deliver] == [OTHER]
    assert bus.dead_letters() == [("event", f"{PARKED_FRAMES_PER_ADDRESS} frames wait for handler already")]


def test_the_bus_answers_who_handles_and_who_hears(bus: Bus) -> None:
    assert [bus.ask_bus("bus.has_handler", type_) for type_ in ("t", "x")] == [
        {"has_handler": True},
        {"has_handler": False},
    ]
    assert bus.ask_bus("bus.handler_types") == {"handler_types": ["t"]}
    assert bus.ask_bus("bus.subscribers", "e") == {"subscribers": ["handler"]}
    assert bus.watching.outcomes == [("query", "answered")] * 4


def test_types_can_be_taken_up_and_given_back(bus: Bus) -> None:
    bus.ask_bus("bus.register_handler", "new")
    bus.ask_bus("bus.subscribe", "e")
    assert [address for address, _ in bus.take(bus.frame("query", "new")).deliver] == [ASKER]
    assert [address for address, _ in bus.take(bus.frame("event", "e")).deliver] == [HANDLER, ASKER]
    bus.ask_bus("bus.deregister_handler", "new")
    bus.ask_bus("bus.unsubscribe", "e")
    assert bus.take(bus.frame("query", "new")).outcome == "refused"
    assert [address for address, _ in bus.take(bus.frame("event", "e")).deliver] == [HANDLER]


def test_a_second_handler_for_a_type_is_an_error(bus: Bus) -> None:
    with pytest.raises(DuplicateHandlerError, match="'t' is handled by handler already, not by asker"):
        bus.ask_bus("bus.register_handler", "t")
    assert bus.watching.outcomes == [("query", "rejected")]


def test_nobody_gives_back_the_type_of_another(bus: Bus) -> None:
    bus.ask_bus("bus.deregister_handler", "t")
    assert bus.table.has_handler("t")


@pytest.mark.parametrize("frame", [("query", "bus.tea"), ("command", "bus.stats"), ("event", "bus.stats")])
def test_the_bus_takes_no_commands_and_no_other_questions(bus: Bus, frame: tuple[Kind, str]) -> None:
    taken = bus.take(bus.frame(*frame, target=BUS))
    assert (taken.outcome, taken.why) == ("refused", f"the bus does not handle the {frame[0]} '{frame[1]}'")


def test_a_body_for_the_bus_that_cannot_be_read_is_answered_so(bus: Bus) -> None:
    with pytest.raises(WireError):
        answer_in(bus.take(bus.frame("query", "bus.stats", BUS, body=b"\xc1")))


def test_the_statistics_show_dead_letters_and_what_the_middleware_knows(bus: Bus) -> None:
    bus.take(bus.frame("command", "unknown", run_id=RunId("r-1")))
    stats = bus.ask_bus("bus.stats")
    (letter,) = stats["latest_dead_letters"]
    assert (letter["type"], letter["source"], letter["run_id"], letter["reason"]) == (
        *("unknown", "asker", "r-1"),
        "nobody handles 'unknown'",
    )
    assert stats["dead_letters"] == 1
    assert stats["middleware"]["deduplication"]["doubled"] == 0


def test_middleware_can_be_added_later(bus: Bus) -> None:
    late = Watching()
    bus.dispatcher.add_middleware(late)
    bus.take(bus.frame("command"))
    assert late.outcomes == [("command", "accepted")]


def test_errors_travel_with_those_of_their_values_that_are_plain_data() -> None:
    error = MessageStoppedError("no", by="a", many=["x", 1, None], odd=object())
    assert error_from_wire(error_to_wire(error)).values == {"by": "a", "many": ["x", 1, None]}


def test_a_replaced_target_is_followed(bus: Bus) -> None:
    bus.table.connect(OTHER)
    frame = Frame(Header(MessageId("m"), "command", "t", ASKER))
    bus.watching.verdict = Replace(Header(MessageId("m"), "command", "t", ASKER, OTHER))
    assert [address for address, _ in bus.take(frame).deliver] == [OTHER]
