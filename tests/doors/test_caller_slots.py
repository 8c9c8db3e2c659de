"""One caller's requests under way: as many as permitted, and what ends frees its slot."""

from __future__ import annotations

import pytest

from runtime.errors import RateLimitedError
from serve.http.access.caller_slots import CallerSlots

ANN, BOB = "address:192.0.2.1", "address:192.0.2.2"


@pytest.mark.parametrize(("under_way", "is_taken"), [(1, True), (2, False)])
def test_two_requests_of_a_caller_are_answered_at_once_and_a_third_is_refused(under_way: int, is_taken: bool) -> None:
    slots = CallerSlots(2)
    held = [slots.slot(ANN) for _ in range(under_way)]
    for slot in held:
        slot.__enter__()
    with slots.slot(BOB):
        pass
    if is_taken:
        with slots.slot(ANN):
            pass
        return
    with pytest.raises(RateLimitedError, match=r"2 requests of .address:192\.0\.2\.1. are being answered") as refused:
        slots.slot(ANN).__enter__()
    assert refused.value.values["retry_after_s"] == 1
    held[0].__exit__(None, None, None)
    with slots.slot(ANN):
        pass


def test_a_request_that_fails_frees_its_slot_and_idle_callers_take_no_memory() -> None:
    slots = CallerSlots(1)
    for number in range(100):
        with pytest.raises(ValueError, match="broken"), slots.slot(f"address:{number}"):
            raise ValueError("broken")
    assert len(slots) == 0


def test_a_stream_holds_its_slot_until_it_is_given_back() -> None:
    slots = CallerSlots(1)
    give_back = slots.take(ANN)
    with pytest.raises(RateLimitedError):
        slots.take(ANN)
    give_back()
    assert len(slots) == 0
    slots.take(ANN)
