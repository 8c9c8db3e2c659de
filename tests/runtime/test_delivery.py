"""Delivery: sent until acknowledged, dealt with once."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bus.outbox import Inbox, NewestAttempts, Outbox
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
    assert out.acknowledge(MessageId("m"))
    assert out.due(10_000) == []
    assert out.next_due_ms() is None
    assert not out.acknowledge(MessageId("m"))


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
    out.acknowledge(MessageId("a"))
    assert out.put(MessageId("c"), "c", 0)
    assert MessageId("a") not in out
    assert MessageId("c") in out


def test_a_host_that_was_asleep_sends_each_message_once_however_long_it_slept() -> None:
    out = box(first_wait_ms=100, max_wait_ms=200)
    for name in "ab":
        out.put(MessageId(name), name, 0)
    assert out.due(1_000_000) == ["a", "b"]
    assert out.due(1_000_000) == []


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
            assert out.acknowledge(message_id) == (message_id in waiting)
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
                    out.acknowledge(MessageId(message))
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
