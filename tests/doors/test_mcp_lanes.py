"""Calls of the MCP door begin in turn, and slow ones give their places away."""

from __future__ import annotations

import asyncio
import gc

import pytest

from serve.mcp.search.lanes import Lanes

NEVER_S = 3_600.0


async def hold(lanes: Lanes, lane: str, begun: list[str], end: asyncio.Event) -> None:
    async with lanes.turn(lane):
        begun.append(lane)
        await end.wait()


async def begun_of(lanes: Lanes, wanted: list[str]) -> list[str]:
    """The lanes of the calls that begin while none ends."""
    begun: list[str] = []
    end = asyncio.Event()
    tasks = [asyncio.create_task(hold(lanes, lane, begun, end)) for lane in wanted]
    for _ in range(50):
        await asyncio.sleep(0)
    before = list(begun)
    end.set()
    await asyncio.gather(*tasks)
    assert sorted(begun) == sorted(wanted)
    return before


@pytest.mark.parametrize(("calls", "begin"), [(1, 1), (2, 2), (3, 2)])
async def test_a_lane_has_so_many_places(calls: int, begin: int) -> None:
    assert await begun_of(Lanes(2, 9, NEVER_S), ["a"] * calls) == ["a"] * begin


async def test_a_full_lane_holds_up_no_other() -> None:
    assert await begun_of(Lanes(2, 9, NEVER_S), ["a", "a", "a", "b"]) == ["a", "a", "b"]


@pytest.mark.parametrize(("in_all", "begin"), [(2, 2), (3, 3), (4, 3)])
async def test_all_lanes_together_have_so_many_places(in_all: int, begin: int) -> None:
    assert len(await begun_of(Lanes(1, in_all, NEVER_S), ["a", "b", "c"])) == begin


async def test_a_call_that_has_run_for_a_while_gives_its_place_away_and_only_once() -> None:
    lanes = Lanes(1, 1, 0.0)
    assert sorted(await begun_of(lanes, ["a", "a", "b"])) == ["a", "a", "b"]
    patient = Lanes(1, 1, NEVER_S)
    assert await begun_of(patient, ["a", "a"]) == ["a"]
    lanes._slow_after_s = NEVER_S
    assert await begun_of(lanes, ["a", "a"]) == ["a"]


@pytest.mark.long
async def test_a_cancelled_wait_takes_no_place_and_an_empty_lane_disappears() -> None:
    lanes = Lanes(1, 9, NEVER_S)
    end, begun = asyncio.Event(), list[str]()
    first = asyncio.create_task(hold(lanes, "a", begun, end))
    second = asyncio.create_task(hold(lanes, "a", begun, end))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait({second})
    end.set()
    await first
    assert begun == ["a"]
    assert await begun_of(lanes, ["a"]) == ["a"]
    del first, second
    gc.collect()
    assert len(lanes) == 0
