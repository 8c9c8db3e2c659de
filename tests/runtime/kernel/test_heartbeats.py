"""Who hangs: only who has answered once, owes an answer for long enough, and was not named for that already."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.hosting.failure_detector import Heartbeats
from runtime.primitives.ids import Address

A, B = Address("a"), Address("b")


def known(*addresses: Address) -> Heartbeats:
    beats = Heartbeats(hangs_after_s=6)
    for address in addresses:
        beats.ask(address, 0)
        beats.answered(address)
    return beats


@pytest.mark.parametrize(("waited_s", "hangs"), [(5.999, []), (6, [A]), (6.001, [A])])
def test_who_owes_an_answer_for_six_seconds_hangs(waited_s: float, hangs: list[Address]) -> None:
    beats = known(A)
    beats.ask(A, 10)
    assert beats.hanging(10 + waited_s) == hangs


def test_nobody_is_judged_before_the_first_answer() -> None:
    beats = Heartbeats(hangs_after_s=6)
    beats.ask(A, 0)
    assert beats.hanging(1_000) == []
    beats.answered(A)
    beats.ask(A, 1_000)
    assert beats.hanging(1_006) == [A]


def test_who_owes_an_answer_is_not_asked_again_and_the_first_question_counts() -> None:
    beats = known(A)
    assert beats.ask(A, 10)
    assert not beats.ask(A, 15)
    assert beats.hanging(16) == [A]


def test_who_hangs_is_named_once_in_six_seconds_and_its_successor_is_judged_from_its_first_question() -> None:
    beats = known(A, B)
    beats.ask(A, 10)
    beats.ask(B, 12)
    assert beats.hanging(16) == [A]
    assert beats.hanging(18) == [B]
    assert beats.hanging(21) == []
    beats.unreachable(A)
    beats.unreachable(B)
    assert beats.hanging(99) == [], "while they start up they cannot be asked"
    assert beats.ask(A, 100)
    assert beats.hanging(106) == [A]


def test_an_answer_in_time_or_an_error_is_no_silence() -> None:
    beats = known(A, B)
    beats.ask(A, 10)
    beats.ask(B, 10)
    beats.answered(A)
    beats.unreachable(B)
    assert beats.hanging(99) == []
    assert beats.ask(A, 99)
    assert beats.ask(B, 99)


steps = st.tuples(st.sampled_from(["ask", "answered", "unreachable", "hanging"]), st.sampled_from([A, B]))


@given(st.lists(st.tuples(steps, st.integers(0, 4)), max_size=50))
def test_whatever_happens_who_is_named_has_answered_and_has_been_silent_since(
    history: list[tuple[tuple[str, Address], int]],
) -> None:
    beats, now_s = Heartbeats(hangs_after_s=6), 0
    told: dict[Address, list[tuple[str, int]]] = {A: [], B: []}
    for (what, address), later_s in history:
        now_s += later_s
        if what == "hanging":
            assert set(beats.hanging(now_s)) == {one for one in (A, B) if _hangs(told[one], now_s)}
            for one in (A, B):
                told[one] += [("named", now_s)] if _hangs(told[one], now_s) else []
            continue
        result: Any = getattr(beats, what)(*((address, now_s) if what == "ask" else (address,)))
        if what == "ask":
            assert result == (not _owed_since(told[address]))
        told[address].append((what, now_s))


def _owed_since(told: list[tuple[str, int]], what_counts: str = "ask") -> list[int]:
    last = max((number for number, (what, _) in enumerate(told) if what in {"answered", "unreachable"}), default=-1)
    return [at_s for what, at_s in told[last + 1 :] if what == what_counts]


def _hangs(told: list[tuple[str, int]], now_s: int) -> bool:
    owed = _owed_since(told)
    silent_since = max([*owed[:1], *_owed_since(told, "named")], default=now_s)
    return bool(owed) and now_s - silent_since >= 6 and any(what == "answered" for what, _ in told)
