"""The bus's rules: who gets a frame, what is parked, what is a dead letter."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.bus.frames import Frame, Header, Kind, encode_frame
from runtime.bus.routing_table import (
    KEPT_DEAD_LETTERS,
    MAX_DEATHS_PER_FRAME,
    PARKED_FRAMES_PER_ADDRESS,
    Routing,
    RoutingTable,
)
from runtime.errors import DuplicateHandlerError
from runtime.primitives.ids import Address, MessageId, new_message_id

A, B, C = Address("a"), Address("b"), Address("c")


def header(kind: Kind, type_: str = "t", target: Address | None = None, message_id: str | None = None) -> Header:
    return Header(MessageId(message_id or new_message_id()), kind, type_, Address("sender"), target)


def data(name: str, about: str | None = None) -> bytes:
    sent = header("command", target=A, message_id=name)
    return encode_frame(Frame(replace(sent, correlation_id=about and MessageId(about)), name.encode()))


@pytest.fixture
def table() -> RoutingTable:
    return RoutingTable()


def test_an_event_goes_to_every_subscriber_and_to_nobody_else(table: RoutingTable) -> None:
    table.connect(A, subscribes=("t",))
    table.connect(B, subscribes=("t", "u"))
    table.connect(C, handles=("t",))
    assert table.route(header("event")) == Routing((A, B))
    assert table.route(header("event", "u")) == Routing((B,))


def test_an_event_that_nobody_wants_is_no_dead_letter(table: RoutingTable) -> None:
    assert table.route(header("event")) == Routing()
    assert table.stats()["dead_letters"] == 0


@pytest.mark.parametrize("kind", ["command", "query"])
def test_a_command_or_query_goes_to_its_target(table: RoutingTable, kind: Kind) -> None:
    table.connect(A)
    table.connect(B, handles=("t",))
    assert table.route(header(kind, target=A)) == Routing((A,))


@pytest.mark.parametrize("kind", ["command", "query"])
def test_without_a_target_the_handler_of_the_type_gets_it(table: RoutingTable, kind: Kind) -> None:
    table.connect(A)
    table.connect(B, handles=("t",))
    assert table.route(header(kind)) == Routing((B,))


def test_a_reply_goes_to_the_asker_even_where_somebody_handles_its_type(table: RoutingTable) -> None:
    table.connect(A)
    table.connect(B, handles=("t",))
    assert table.route(header("reply", target=A)) == Routing((A,))


@pytest.mark.parametrize("kind", ["command", "query", "reply", "cancel"])
def test_a_frame_for_nobody_is_a_dead_letter_that_says_why(table: RoutingTable, kind: Kind) -> None:
    lost = header(kind)
    assert table.route(lost).refused == "nobody handles 't'"
    assert [(letter.header, letter.reason) for letter in table.dead_letters] == [(lost, "nobody handles 't'")]
    assert table.counts["dead_letter"] == 1


def test_a_frame_for_an_address_that_never_was_is_a_dead_letter(table: RoutingTable) -> None:
    assert table.route(header("command", target=A)).refused == "endpoint a is not there"


def test_a_frame_for_an_endpoint_that_is_gone_for_good_is_a_dead_letter(table: RoutingTable) -> None:
    table.connect(A)
    assert table.mark_lost(A, table.incarnation(A), for_good=True)
    assert table.route(header("command", target=A)).refused == "endpoint a is not there"


def test_a_dead_subscriber_costs_the_others_nothing(table: RoutingTable) -> None:
    table.connect(A, subscribes=("t",))
    table.connect(B, subscribes=("t",))
    table.connect(C, subscribes=("t",))
    table.mark_lost(A, 1, for_good=True)
    table.mark_lost(B, 1, for_good=False)
    assert table.route(header("event")) == Routing((C,), (B,))


def test_only_the_newest_dead_letters_are_kept_but_all_are_counted(table: RoutingTable) -> None:
    for number in range(KEPT_DEAD_LETTERS + 1):
        table.route(header("command", message_id=str(number)))
    assert len(table.dead_letters) == KEPT_DEAD_LETTERS
    assert table.dead_letters[0].header.message_id == "1"
    assert table.counts["dead_letter"] == KEPT_DEAD_LETTERS + 1


def test_frames_for_an_endpoint_that_is_away_are_parked_and_handed_over_in_order(table: RoutingTable) -> None:
    table.connect(A)
    table.mark_lost(A, 1, for_good=False)
    assert table.route(header("command", target=A)) == Routing(park=(A,))
    kept = [data(str(number)) for number in range(3)]
    assert all(table.park(A, frame) for frame in kept)
    assert table.connect(A) == kept
    assert table.connect(A) == []
    assert table.route(header("command", target=A)) == Routing((A,))


def test_frames_for_an_endpoint_that_is_expected_wait_for_it(table: RoutingTable) -> None:
    table.expect(A, handles=("t",))
    assert table.route(header("command", target=A)) == Routing(park=(A,))
    assert table.route(header("query")) == Routing(park=(A,))
    table.park(A, data("1"))
    assert table.connect(A, handles=("t",)) == [data("1")]
    assert table.route(header("query")) == Routing((A,))


def test_expecting_an_endpoint_that_is_there_changes_nothing(table: RoutingTable) -> None:
    table.connect(A)
    table.expect(A)
    assert table.route(header("command", target=A)) == Routing((A,))


@pytest.mark.parametrize(("before", "taken"), [(-1, True), (0, False), (1, False)])
def test_as_many_frames_are_parked_as_the_limit_says(table: RoutingTable, before: int, taken: bool) -> None:
    table.expect(A)
    for number in range(PARKED_FRAMES_PER_ADDRESS + before):
        table.park(A, data(str(number)))
    assert table.park(A, data("last")) is taken
    refused = 0 if before < 0 else before + 1
    assert table.counts["dead_letter"] == refused
    assert len(table.connect(A)) == min(PARKED_FRAMES_PER_ADDRESS, PARKED_FRAMES_PER_ADDRESS + before + 1)


def test_the_queue_of_one_endpoint_takes_no_room_from_another(table: RoutingTable) -> None:
    for number in range(PARKED_FRAMES_PER_ADDRESS):
        table.park(A, data(str(number)))
    assert table.park(B, data("b"))


def test_the_loss_of_an_incarnation_that_was_replaced_is_passed_over(table: RoutingTable) -> None:
    table.connect(A)
    table.connect(A)
    assert not table.mark_lost(A, 1, for_good=True)
    assert table.route(header("command", target=A)) == Routing((A,))
    assert table.mark_lost(A, 2, for_good=False)


def test_the_loss_of_an_endpoint_that_never_was_is_passed_over(table: RoutingTable) -> None:
    assert not table.mark_lost(A, 1, for_good=True)
    assert table.stats()["endpoints"] == {}


def test_what_was_parked_for_an_endpoint_that_died_becomes_dead_letters(table: RoutingTable) -> None:
    table.connect(A)
    table.park(A, data("1"))
    table.mark_lost(A, 1, for_good=True)
    assert [letter.header.message_id for letter in table.dead_letters] == ["1"]
    assert table.connect(A) == []


def test_a_frame_that_could_not_be_handed_over_is_tried_again_while_nothing_is_known_of_a_loss(
    table: RoutingTable,
) -> None:
    table.connect(A)
    assert table.requeue(A, data("1"), 1) == "retry"
    assert table.connect(A) == []


def test_a_frame_that_could_not_be_handed_over_waits_for_an_endpoint_that_is_away(table: RoutingTable) -> None:
    table.connect(A)
    table.mark_lost(A, 1, for_good=False)
    assert table.requeue(A, data("1"), 1) == "parked"
    assert table.connect(A) == [data("1")]


def test_a_frame_that_could_not_be_handed_to_a_dead_endpoint_is_a_dead_letter(table: RoutingTable) -> None:
    table.connect(A)
    table.mark_lost(A, 1, for_good=True)
    assert table.requeue(A, data("1"), 1) == "refused"
    assert table.counts["dead_letter"] == 1


def dies_in_hand(table: RoutingTable, *names: str) -> list[str]:
    """The endpoint is there, is given frames, and dies with them in hand; what became of each."""
    table.connect(A)
    incarnation = table.incarnation(A)
    table.mark_lost(A, incarnation, for_good=False)
    return [table.requeue(A, data(name), incarnation) for name in names]


def test_a_frame_is_handed_over_until_its_fourth_death_in_hand(table: RoutingTable) -> None:
    assert [dies_in_hand(table, "1") for _ in range(MAX_DEATHS_PER_FRAME)] == [["parked"]] * 3 + [["poison"]]
    assert [letter.reason for letter in table.dead_letters] == ["endpoint a died 4 times while handling it"]
    assert table.connect(A) == []


def test_each_frame_has_deaths_of_its_own(table: RoutingTable) -> None:
    for _ in range(MAX_DEATHS_PER_FRAME - 1):
        dies_in_hand(table, "1")
    assert dies_in_hand(table, "1", "2") == ["poison", "parked"]


def test_a_command_that_its_sender_repeats_dies_with_the_process_that_had_it_in_hand(table: RoutingTable) -> None:
    repeated, other = data("1", about="run:1"), data("2")
    table.connect(A)
    table.mark_lost(A, 1, for_good=False)
    assert [table.requeue(A, frame, 1) for frame in (repeated, other)] == ["parked", "parked"]
    assert table.connect(A) == [other]
    assert table.requeue(A, repeated, 1) == "dropped"
    assert table.requeue(A, repeated, 2) == "retry"
    assert table.dead_letters == deque()


def test_a_command_that_its_sender_repeats_waits_for_a_process_that_was_out_of_reach(table: RoutingTable) -> None:
    repeated = data("1", about="run:1")
    table.connect(A)
    table.mark_lost(A, 1, for_good=False)
    assert table.requeue(A, repeated, 1) == "parked"
    assert table.rejoin(A, 1) == [repeated]


def test_a_command_that_its_sender_repeats_waits_for_the_first_process_that_is_there(table: RoutingTable) -> None:
    repeated = data("1", about="run:1")
    table.expect(A)
    assert table.park(A, repeated)
    assert table.connect(A) == [repeated]


def test_one_process_that_cannot_be_reached_again_and_again_is_one_death(table: RoutingTable) -> None:
    table.connect(A)
    assert [table.requeue(A, data("1"), 1) for _ in range(10)] == ["retry"] * 10


def test_the_deaths_of_a_frame_are_forgotten_once_it_is_taken(table: RoutingTable) -> None:
    for _ in range(MAX_DEATHS_PER_FRAME - 1):
        dies_in_hand(table, "1")
    table.settled(A, data("1"))
    assert dies_in_hand(table, "1") == ["parked"]


def test_an_endpoint_that_can_be_reached_again_gets_what_was_parked_and_stays_the_same(table: RoutingTable) -> None:
    table.connect(A)
    table.mark_lost(A, 1, for_good=False)
    table.park(A, data("1"))
    assert table.rejoin(A, 1) == [data("1")]
    assert table.incarnation(A) == 1
    assert table.route(header("command", target=A)) == Routing((A,))


def test_an_endpoint_that_was_replaced_cannot_rejoin(table: RoutingTable) -> None:
    table.connect(A)
    table.mark_lost(A, 1, for_good=False)
    table.connect(A)
    table.mark_lost(A, 2, for_good=False)
    table.park(A, data("1"))
    assert table.rejoin(A, 1) is None
    assert table.connect(A) == [data("1")]


def test_a_second_handler_is_refused_and_nothing_changes(table: RoutingTable) -> None:
    table.connect(A, handles=("t",))
    before = table.stats()
    with pytest.raises(DuplicateHandlerError, match="'t' is handled by a already, not by b"):
        table.connect(B, handles=("u", "t"), subscribes=("v",))
    assert table.stats() == before
    assert table.incarnation(B) == 0
    assert table.route(header("query", "u")).refused == "nobody handles 'u'"
    assert table.route(header("event", "v")) == Routing()


def test_an_endpoint_that_comes_back_keeps_its_types_and_is_subscribed_once(table: RoutingTable) -> None:
    for _ in range(3):
        table.connect(A, handles=("t",), subscribes=("e",))
    assert table.incarnation(A) == 3
    assert table.route(header("event", "e")) == Routing((A,))
    assert table.route(header("query")) == Routing((A,))


def test_the_statistics_count_frames_by_kind(table: RoutingTable) -> None:
    table.connect(A, handles=("t",), subscribes=("e",))
    for kind in ("command", "query", "query"):
        table.route(header(kind))
    table.route(header("event", "e"))
    table.route(header("reply", target=B))
    assert table.stats() == {
        "endpoints": {A: "connected"},
        "handlers": {"t": A},
        "subscribers": {"e": 1},
        "parked": 0,
        "dead_letters": 1,
        "counts": {"command": 1, "query": 2, "event": 1, "reply": 1, "dead_letter": 1},
    }


moves = st.lists(
    st.tuples(st.sampled_from(["connect", "lose", "die", "send"]), st.sampled_from([A, B])), min_size=1, max_size=40
)


@given(moves)
def test_whatever_comes_and_goes_each_command_is_delivered_parked_or_refused_exactly_once(
    steps: list[tuple[str, Address]],
) -> None:
    table = RoutingTable()
    sent = got = waiting = 0
    for step, address in steps:
        if step == "connect":
            handed = len(table.connect(address))
            got, waiting = got + handed, waiting - handed
        elif step == "send":
            frame = header("command", target=address)
            routing = table.route(frame)
            sent += 1
            assert len(routing.deliver) + len(routing.park) + (routing.refused is not None) == 1
            got += len(routing.deliver)
            for parked in routing.park:
                assert table.park(parked, encode_frame(Frame(frame)))
                waiting += 1
        else:
            before = table.counts["dead_letter"]
            table.mark_lost(address, table.incarnation(address), for_good=step == "die")
            waiting -= table.counts["dead_letter"] - before
    assert sent == got + waiting + table.counts["dead_letter"]


def test_an_event_that_nobody_wants_is_counted(table: RoutingTable) -> None:
    table.route(header("event"))
    assert table.counts == {"event": 1, "dropped": 1}


def test_types_can_be_taken_up_and_given_back(table: RoutingTable) -> None:
    table.connect(A)
    table.register_handler(A, "q")
    table.subscribe(A, "e")
    table.subscribe(A, "e")
    assert (table.has_handler("q"), table.handler_types, table.subscribers("e")) == (True, ["q"], (A,))
    table.deregister_handler(B, "q")
    table.unsubscribe(B, "e")
    assert (table.has_handler("q"), table.subscribers("e")) == (True, (A,))
    table.deregister_handler(A, "q")
    table.unsubscribe(A, "e")
    assert (table.has_handler("q"), table.handler_types, table.subscribers("e")) == (False, [], ())


def test_a_type_of_an_endpoint_that_is_away_cannot_be_taken_by_another(table: RoutingTable) -> None:
    table.connect(A, handles=("q",))
    table.mark_lost(A, 1, for_good=False)
    with pytest.raises(DuplicateHandlerError):
        table.register_handler(B, "q")


def test_the_types_of_an_endpoint_that_died_are_free_again(table: RoutingTable) -> None:
    table.connect(A, handles=("q",), subscribes=("e",))
    table.mark_lost(A, 1, for_good=True)
    table.connect(B, handles=("q",))
    assert table.route(header("query", "q")) == Routing((B,))
    assert table.subscribers("e") == ()
