"""Delivery: sent until acknowledged, dealt with once."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bus.outbox import ASKED_AT_ONCE, ASKED_MORE, Inbox, NewestAttempts, Outbox
from runtime.primitives.ids import MessageId, RunId, StageKey

ids = st.sampled_from([MessageId(name) for name in "abcde"])


def box(**settings: int) -> Outbox[str]:
    return Outbox(**settings)


def test_a_message_comes_due_after_waits_that_double_up_to_the_cap() -> None:
    out = box(first_wait_ms=100, max_wait_ms=400)
    out.put(MessageId("m"), "hello", 0)
    sent = [now for now in range(0, 2_000, 10) if out.due(now)]
    assert sent == [100, 300, 700, 1_100, 1_500, 1_900]


def test_what_was_acknowledged_is_not_sent_again() -> None:
    out = box(first_wait_ms=100)
    out.put(MessageId("m"), "hello", 0)
    assert out.acknowledge(MessageId("m"), 0)
    assert out.due(10_000) == []
    assert out.next_due_ms() is None
    assert not out.acknowledge(MessageId("m"), 0)


def test_a_message_put_again_is_replaced_and_waits_anew() -> None:
    out = box(first_wait_ms=100)
    out.put(MessageId("m"), "old", 0)
    out.put(MessageId("m"), "new", 60)
    assert out.due(100) == []
    assert out.next_due_ms() == 160
    assert out.due(160) == ["new"]
    assert len(out) == 1


def test_a_full_outbox_says_so_and_takes_more_once_something_was_acknowledged() -> None:
    out = box(capacity=2)
    assert [out.put(MessageId(name), name, 0) for name in ("a", "b", "c", "a")] == [True, True, False, True]
    out.acknowledge(MessageId("a"), 0)
    assert out.put(MessageId("c"), "c", 0)
    assert MessageId("a") not in out
    assert MessageId("c") in out


def test_a_host_that_was_asleep_sends_each_message_once_however_long_it_slept() -> None:
    out = box(first_wait_ms=100, max_wait_ms=200)
    for name in "ab":
        out.put(MessageId(name), name, 0)
    assert out.due(1_000_000) == ["a", "b"]
    assert out.due(1_000_000) == []


def put_all(out: Outbox[str], names: list[str], now_ms: int = 0, receiver: str = "") -> None:
    for name in names:
        assert out.put(MessageId(name), name, now_ms, receiver)


def test_messages_that_wait_in_a_long_queue_are_not_sent_again() -> None:
    out = box(first_wait_ms=1_000)
    names = [str(number) for number in range(1_000)]
    again = []
    for now in range(0, 10_010, 10):
        put_all(out, names[now // 10 * 100 : now // 10 * 100 + 100], now)
        if now >= 10:
            assert out.acknowledge(MessageId(names[now // 10 - 1]), now)
        again += out.due(now)
    assert (again, len(out)) == ([], 0)


@pytest.mark.parametrize(("later_ms", "lost"), [(99, []), (100, ["m"]), (101, ["m"])])
def test_a_message_is_lost_when_one_sent_its_wait_later_has_arrived(later_ms: int, lost: list[str]) -> None:
    out = box(first_wait_ms=100)
    put_all(out, ["m"])
    put_all(out, ["later"], later_ms)
    out.acknowledge(MessageId("later"), later_ms + 1)
    assert out.next_due_ms() == later_ms + 1 + (0 if lost else 100)
    assert out.due(later_ms + 1) == lost
    assert out.due(later_ms + 1) == []


def test_a_silent_receiver_is_asked_by_a_few_messages_and_then_by_more() -> None:
    out = box(first_wait_ms=100, max_wait_ms=400)
    put_all(out, [str(number) for number in range(1_000)])
    asked = {now: out.due(now) for now in range(0, 1_200, 10)}
    more = ASKED_AT_ONCE * ASKED_MORE
    assert {now: len(found) for now, found in asked.items() if found} == {
        **{100: ASKED_AT_ONCE, 300: more, 700: more * ASKED_MORE, 1_100: 1_000}
    }
    assert asked[100] == [str(number) for number in range(ASKED_AT_ONCE)], "the longest overdue ask first"


@pytest.mark.parametrize(("answers", "asked_again"), [("sent twice", 64), ("sent once", 8)])
def test_an_answer_to_what_was_sent_once_shows_that_the_others_wait_in_a_queue(answers: str, asked_again: int) -> None:
    out = box(first_wait_ms=100)
    put_all(out, [str(number) for number in range(1_000)])
    assert len(out.due(100)) == ASKED_AT_ONCE
    out.acknowledge(MessageId({"sent twice": "0", "sent once": "999"}[answers]), 101)
    assert len(out.due(101 + 202)) == asked_again


def test_the_answer_to_a_message_that_was_sent_twice_may_be_that_to_the_first_sending() -> None:
    out = box(first_wait_ms=100)
    put_all(out, [str(number) for number in range(ASKED_AT_ONCE + 1)])
    assert len(out.due(100)) == ASKED_AT_ONCE
    out.acknowledge(MessageId("0"), 101)
    assert out.due(102) == [], "it does not prove that what was sent before it arrived is lost"


@pytest.mark.parametrize(("waited_ms", "again"), [(599, []), (600, ["b"]), (601, ["b"])])
def test_a_receiver_is_silent_after_twice_the_time_of_its_newest_answer(waited_ms: int, again: list[str]) -> None:
    out = box(first_wait_ms=400)
    put_all(out, ["a", "b"])
    out.acknowledge(MessageId("a"), 300)
    assert out.due(300 + waited_ms) == again


def test_what_one_receiver_acknowledges_says_nothing_of_another() -> None:
    out = box(first_wait_ms=100)
    put_all(out, ["a"], receiver="first")
    put_all(out, ["b"], receiver="second")
    put_all(out, ["later"], 100, receiver="second")
    out.acknowledge(MessageId("later"), 100)
    assert sorted(out.due(100)) == ["a", "b"], "one is silent, the other has lost something"


def test_what_is_no_longer_wanted_is_no_sign_of_life() -> None:
    out = box(first_wait_ms=100)
    put_all(out, ["a", "b"])
    assert out.forget(MessageId("b"))
    assert not out.forget(MessageId("b"))
    assert out.due(100) == ["a"]


def test_what_is_lost_with_its_carrier_is_sent_again_at_once_and_waits_anew() -> None:
    out = box(first_wait_ms=100)
    names = [str(number) for number in range(100)]
    put_all(out, names)
    out.lose()
    assert out.next_due_ms() == 0
    assert out.due(10) == names
    assert out.due(109) == []
    assert len(out.due(110)) == ASKED_AT_ONCE


@given(st.lists(st.tuples(st.sampled_from(["put", "ack", "due"]), ids, st.integers(0, 500)), max_size=60))
def test_whatever_is_not_acknowledged_is_sent_again_and_nothing_else_ever(
    steps: list[tuple[str, MessageId, int]],
) -> None:
    out, now, waiting = box(first_wait_ms=50, max_wait_ms=300), 0, set()
    for step, message_id, passed in steps:
        now += passed
        if step == "put":
            out.put(message_id, message_id, now)
            waiting.add(message_id)
        elif step == "ack":
            assert out.acknowledge(message_id, now) == (message_id in waiting)
            waiting.discard(message_id)
        else:
            assert set(out.due(now)) <= waiting
        next_due = out.next_due_ms()
        assert (next_due is None) == (not waiting)
        assert len(out) == len(waiting)
    assert set(out.due(now + 300)) == waiting


def test_a_double_is_known_and_one_that_failed_half_way_is_not() -> None:
    inbox = Inbox()
    assert not inbox.is_duplicate(MessageId("m"))
    assert not inbox.is_duplicate(MessageId("m")), "only what was dealt with is noted"
    inbox.note(MessageId("m"))
    assert inbox.is_duplicate(MessageId("m"))


@given(st.lists(ids, max_size=40), st.integers(1, 5))
def test_an_inbox_knows_the_newest_ids_and_never_more_than_its_capacity(noted: list[MessageId], capacity: int) -> None:
    inbox = Inbox(capacity)
    for message_id in noted:
        inbox.note(message_id)
    newest = list(dict.fromkeys(reversed(noted)))[:capacity]
    assert len(inbox) == len(newest)
    assert all(inbox.is_duplicate(message_id) for message_id in newest)


@given(st.integers(0, 2**32), st.integers(0, 70), st.integers(0, 70))
def test_over_a_bad_line_every_message_arrives_and_takes_effect_once(seed: int, lose: int, double: int) -> None:
    rng = random.Random(seed)
    out, inbox, effects = box(first_wait_ms=10, max_wait_ms=40), Inbox(), []
    for number in range(8):
        out.put(MessageId(f"m{number}"), f"m{number}", 0)
    for now in range(0, 40_000, 10):
        for message in out.due(now):
            copies = 0 if rng.randrange(100) < lose else 1 + (rng.randrange(100) < double)
            for _ in range(copies):
                if not inbox.is_duplicate(MessageId(message)):
                    effects.append(message)
                    inbox.note(MessageId(message))
                if rng.randrange(100) >= lose:
                    out.acknowledge(MessageId(message), now)
        if not len(out):
            break
    assert sorted(effects) == [f"m{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("attempts", "admitted"),
    [
        ([1, 1], ["begin", "duplicate"]),
        ([1, 2, 1], ["begin", "begin", "outdated"]),
        ([3, 2, 3, 4], ["begin", "outdated", "duplicate", "begin"]),
    ],
)
def test_only_a_newer_attempt_of_a_visit_begins(attempts: list[int], admitted: list[str]) -> None:
    newest = NewestAttempts()
    assert [newest.admit(StageKey(RunId("r"), 1, 0, attempt)) for attempt in attempts] == admitted
    assert newest.admit(StageKey(RunId("r"), 2)) == "begin"
    assert newest.admit(StageKey(RunId("r"), 1, 1)) == "begin"


def test_newest_attempts_are_bounded() -> None:
    newest = NewestAttempts(capacity=2)
    for hop in (1, 2, 3):
        newest.admit(StageKey(RunId("r"), hop))
    assert newest.admit(StageKey(RunId("r"), 3)) == "duplicate"
    assert newest.admit(StageKey(RunId("r"), 1)) == "begin", "the oldest was forgotten"
