"""One caller's requests under way: as many as permitted, and what ends frees its slot."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.errors import RateLimitedError
from serve.http.caller_slots import CallerSlots

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


async def test_a_stream_holds_its_slot_until_it_ends_or_its_client_goes() -> None:
    async def parts() -> AsyncIterator[str]:
        yield "one"
        yield "two"

    slots = CallerSlots(1)
    stream = slots.held(ANN, parts())
    assert await anext(stream) == "one"
    assert len(slots) == 1
    assert [part async for part in stream] == ["two"]
    assert len(slots) == 0
    left = slots.held(ANN, parts())
    await anext(left)
    await left.aclose()
    assert len(slots) == 0
