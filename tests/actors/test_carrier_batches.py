"""Batches by Ray calls: what gathers goes together, in order; what fails fails those alone that were in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.links.carrier import MAX_BATCH_BYTES, MAX_BATCH_ITEMS, MAX_CONCURRENT_CALLS, Carrier
from runtime.bus.memory_bus import settle


class Place:
    """Takes bundles; each call ends when `let_go` is called, or at once when it is open."""

    def __init__(self, is_open: bool = True) -> None:
        self.bundles: list[list[bytes]] = []
        self.under_way: list[asyncio.Future[None]] = []
        self.is_open = is_open

    async def __call__(self, items: list[bytes]) -> list[int]:
        self.bundles.append(items)
        if not self.is_open:
            self.under_way.append(asyncio.get_running_loop().create_future())
            await self.under_way[-1]
        return [len(item) for item in items]

    @property
    def sizes(self) -> list[int]:
        return [len(bundle) for bundle in self.bundles]


def carrier_to(place: Callable[[list[bytes]], Awaitable[Sequence[int]]]) -> Carrier[int]:
    """A carrier that never has a link."""
    return Carrier(place, lambda _, count: [0] * count)


def sent(carrier: Carrier[int], items: list[bytes]) -> list[asyncio.Task[int]]:
    return [asyncio.create_task(carrier.send(item)) for item in items]


async def test_an_item_alone_goes_at_once() -> None:
    place = Place()
    assert await carrier_to(place).send(b"xyz") == 3
    assert place.bundles == [[b"xyz"]]


async def test_what_is_sent_in_one_turn_goes_together_and_each_hears_its_own_outcome() -> None:
    place = Place()
    assert await asyncio.gather(*sent(carrier_to(place), [b"a", b"bb", b"ccc"])) == [1, 2, 3]
    assert place.bundles == [[b"a", b"bb", b"ccc"]]


async def test_what_is_sent_while_calls_are_under_way_gathers_and_waits_for_one_of_them() -> None:
    place = Place(is_open=False)
    carrier = carrier_to(place)
    tasks = []
    for number in range(MAX_CONCURRENT_CALLS + 3):
        tasks += sent(carrier, [bytes([number])])
        await settle()
    assert place.sizes == [1] * MAX_CONCURRENT_CALLS
    place.under_way[0].set_result(None)
    await settle()
    assert place.sizes == [1] * MAX_CONCURRENT_CALLS + [3]
    for call in place.under_way[1:]:
        call.set_result(None)
    assert await asyncio.gather(*tasks) == [1] * len(tasks)


@pytest.mark.parametrize("number", [MAX_BATCH_ITEMS - 1, MAX_BATCH_ITEMS, MAX_BATCH_ITEMS + 1])
async def test_a_bundle_has_a_largest_number_of_items(number: int) -> None:
    place = Place()
    await asyncio.gather(*sent(carrier_to(place), [b"x"] * number))
    assert place.sizes == [number] if number <= MAX_BATCH_ITEMS else [MAX_BATCH_ITEMS, 1]


@pytest.mark.parametrize(("last", "bundles"), [(-1, 1), (0, 1), (1, 2)])
async def test_a_bundle_has_a_largest_size(last: int, bundles: int) -> None:
    place = Place()
    half = MAX_BATCH_BYTES // 2
    await asyncio.gather(*sent(carrier_to(place), [b"x" * half, b"x" * (MAX_BATCH_BYTES - half + last)]))
    assert len(place.bundles) == bundles


async def test_an_item_larger_than_a_bundle_goes_alone() -> None:
    place = Place()
    await asyncio.gather(*sent(carrier_to(place), [b"a", b"x" * (MAX_BATCH_BYTES + 1), b"b"]))
    assert place.sizes == [1, 1, 1]


async def test_what_a_call_raises_is_raised_for_its_items_and_for_no_others() -> None:
    calls = 0

    async def once_broken(items: list[bytes]) -> list[int]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ConnectionError("gone")
        return [1 for _ in items]

    carrier = carrier_to(once_broken)
    first = await asyncio.gather(*sent(carrier, [b"a", b"b"]), return_exceptions=True)
    assert [str(error) for error in first] == ["gone", "gone"]
    assert await asyncio.gather(*sent(carrier, [b"c", b"d"])) == [1, 1]


async def test_a_call_that_answers_for_fewer_items_than_it_got_is_an_error_for_all_of_them() -> None:
    async def short(items: list[bytes]) -> list[int]:
        return [1 for _ in items[1:]]

    with pytest.raises(ValueError, match="shorter"):
        await asyncio.gather(*sent(carrier_to(short), [b"a", b"b"]))


async def test_whoever_no_longer_waits_costs_the_others_nothing() -> None:
    place = Place(is_open=False)
    tasks = sent(carrier_to(place), [b"a", b"bb"])
    await settle()
    tasks[0].cancel()
    place.under_way[0].set_result(None)
    assert await tasks[1] == 2


@given(st.lists(st.tuples(st.binary(max_size=4), st.booleans()), max_size=60))
def test_all_items_arrive_once_in_their_order_however_they_gather(items: list[tuple[bytes, bool]]) -> None:
    async def all_sent() -> list[bytes]:
        place = Place()
        carrier, tasks = carrier_to(place), []
        for item, pauses in items:
            tasks += sent(carrier, [item])
            if pauses:
                await asyncio.sleep(0)
        assert await asyncio.gather(*tasks) == [len(item) for item, _ in items]
        return [item for bundle in place.bundles for item in bundle]

    assert asyncio.run(all_sent()) == [item for item, _ in items]
