"""Waiting for news of a run: what is recorded between the look and the wait is not missed."""

from __future__ import annotations

import asyncio

import pytest

from runtime.hosting import run_watchers
from runtime.hosting.run_table import RunTable
from runtime.hosting.run_watchers import RunWatchers
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.events import CancelRequested, PauseRequested
from runtime.testing import PipelineBuilder

pytestmark = pytest.mark.timeout(20)

ONE = PipelineBuilder("one").stage("a").build()


def watched() -> tuple[RunTable, RunWatchers, RunId, int]:
    """A table with one run, its watchers, and the number of the newest event."""
    clock = FakeClock()
    table = RunTable({"one": ONE}, MemoryRunLog(), clock)
    run_id, _ = table.submit(Request("one", "why?"))
    return table, RunWatchers(table, clock), run_id, table.client_events(run_id, 0)[-1].seq


@pytest.mark.parametrize("turns", [1, 2, 3])
async def test_an_event_is_seen_at_once_however_soon_after_the_look_it_comes(turns: int) -> None:
    table, watchers, run_id, seen = watched()
    looking = asyncio.ensure_future(watchers.news_within(run_id, seen, timeout_s=15, marks=None))
    for _ in range(turns):
        await asyncio.sleep(0)
    table.handle(run_id, CancelRequested("enough"))
    watchers.changed(run_id)
    events, is_over = await asyncio.wait_for(looking, 5)
    assert is_over
    assert events[0].seq == seen + 1


async def test_without_news_the_time_runs_out() -> None:
    _, watchers, run_id, seen = watched()
    assert await watchers.news_within(run_id, seen, timeout_s=0.01, marks=None) == ([], False)


async def test_news_of_a_run_that_goes_on_gather_for_a_moment() -> None:
    table, watchers, run_id, seen = watched()
    looking = asyncio.ensure_future(watchers.news_within(run_id, 0, timeout_s=15, marks=None))
    await asyncio.sleep(0)
    assert not looking.done()
    table.handle(run_id, PauseRequested("a moment"))
    watchers.changed(run_id)
    events, is_over = await asyncio.wait_for(looking, 5)
    assert ([event.seq for event in events][-1] > seen, is_over) == (True, False)


async def test_a_caller_that_does_not_wait_gets_what_there_is_at_once() -> None:
    _, watchers, run_id, seen = watched()
    looking = asyncio.ensure_future(watchers.news_within(run_id, 0, timeout_s=0.0, marks=None))
    await asyncio.sleep(0)
    assert looking.done()
    assert (await looking)[0][-1].seq == seen


async def test_the_end_of_a_run_is_returned_without_gathering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_watchers, "GATHERED_FOR_S", 60)
    table, watchers, run_id, seen = watched()
    looking = asyncio.ensure_future(watchers.news_within(run_id, seen - 1, timeout_s=15, marks=None))
    await asyncio.sleep(0)
    table.handle(run_id, CancelRequested("enough"))
    watchers.changed(run_id)
    assert (await asyncio.wait_for(looking, 5))[1]
    assert (await asyncio.wait_for(watchers.news_within(run_id, 0, timeout_s=15, marks=None), 5))[1]
