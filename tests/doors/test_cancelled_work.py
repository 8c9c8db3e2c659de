"""What is cancelled ends, and gives back what it held, also where something below it swallows a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from serve.http.access.callers import Caller
from serve.http.answering.service import ChatMessage
from serve.http.connections.cancelling import CANCELLED_AGAIN_S, cancel_until_done
from serve.http.connections.event_stream import EventStream
from serve.http.connections.gate import Gate
from serve.http.connections.http_limits import DEFAULT_LIMITS
from tests.doors.http_site import Site, open_site, until


async def swallows_a_cancellation(began: asyncio.Event) -> None:
    """As `asyncio.wait_for` of Python 3.11 does with one that comes as its answer does."""
    began.set()
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await asyncio.Event().wait()


class Anybody:
    """Admits all requests."""

    async def admit(self, _scope: Any) -> None:
        return None

    async def until_ended(self, _admitted: Any) -> Any:
        await asyncio.Event().wait()


def gate_of(app: Any) -> Gate:
    def methods_of(_scope: Any) -> tuple[str, ...]:
        return ("GET", "POST")

    return Gate(app, DEFAULT_LIMITS, (), methods_of, Anybody(), bytes, asyncio.Event(), lambda _scope: False)


SCOPE = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}


async def sent_to_nobody(_message: Any) -> None:
    return None


@pytest.mark.parametrize("leaves", ["the client", "whoever called the gate"])
async def test_a_request_whose_work_swallows_a_cancellation_ends_once_it_is_left(leaves: str) -> None:
    began, given_back, gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def app(*_: Any) -> None:
        try:
            await swallows_a_cancellation(began)
        finally:
            given_back.set()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    calling = asyncio.ensure_future(gate_of(app)(dict(SCOPE), receive, sent_to_nobody))
    await began.wait()
    if leaves == "the client":
        gone.set()
    else:
        calling.cancel()
    async with asyncio.timeout(10):
        await given_back.wait()
        await asyncio.wait({calling})


async def test_a_stream_in_a_cancel_scope_ends_although_its_parts_swallow_a_cancellation() -> None:
    began, given_back = asyncio.Event(), asyncio.Event()

    async def parts() -> AsyncGenerator[str, None]:
        await swallows_a_cancellation(began)
        yield ""

    async def receive() -> dict[str, Any]:
        await began.wait()
        return {"type": "http.disconnect"}

    answer = EventStream(parts(), 60, given_back.set, str)
    async with asyncio.timeout(10):
        await answer(dict(SCOPE), receive, sent_to_nobody)
    assert given_back.is_set()


async def test_who_is_cancelled_while_it_ends_its_work_goes_on_to_the_end_of_that() -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()

    async def slow_to_end() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            await goes_on.wait()

    work = asyncio.ensure_future(slow_to_end())
    await began.wait()
    ending = asyncio.ensure_future(cancel_until_done(work))
    for _ in range(3):
        await asyncio.sleep(0)
        ending.cancel()
    await asyncio.sleep(0)
    assert not ending.done()
    goes_on.set()
    await asyncio.wait({ending})
    assert (work.cancelled(), ending.cancelled()) == (True, True)


@pytest.mark.parametrize("within_s", [0.0, 0.1, CANCELLED_AGAIN_S, CANCELLED_AGAIN_S + 0.1])
async def test_work_that_does_not_end_is_waited_for_as_long_as_told(within_s: float) -> None:
    began, ends = asyncio.Event(), asyncio.Event()

    async def endless() -> None:
        while not ends.is_set():
            began.set()
            with suppress(asyncio.CancelledError):
                await ends.wait()

    work = asyncio.ensure_future(endless())
    await began.wait()
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    await cancel_until_done(work, within_s)
    assert loop.time() - began_s >= within_s
    assert not work.done()
    ends.set()
    await work


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


class SlowIndex:
    """Another system's runs, and an index that takes until `made`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.asked, self.made = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site, name)

    async def refresh_index(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        self.asked.set()
        await self.made.wait()
        return {"root": root}


async def test_a_start_holds_its_slot_to_its_end_however_often_its_caller_cancels(site: Site) -> None:
    runs = SlowIndex(site)
    service = type(site.service)(runs, site.service.spec)
    caller = Caller("ann", ("ask",))
    asked = asyncio.ensure_future(service.chat(ChatMessage(message="Where?"), caller, None, lambda _run: None))
    await runs.asked.wait()
    for _ in range(3):
        asked.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert service.bounds["questions"]["used"] == 1
    runs.made.set()
    await until(asked.done)
    assert asked.cancelled()
    assert service.bounds["questions"]["used"] == 0
    await until(lambda: len(site.log.runs(10)) == 1)
