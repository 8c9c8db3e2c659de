"""Starts runs for callers and waits for their answers; a run goes on when its caller is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Protocol

import msgspec

from runtime.codebase.index.progress import Progress
from runtime.errors import OverloadedError, UnknownNameError
from runtime.hosting.limits.rate_limits import RateState
from runtime.memory.run_metrics import RunTotals
from runtime.memory.tool_metrics import ToolHealth
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId, new_run_id
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.supervision.commands import ClientEvent
from serve.answer_document import Ask
from serve.http.connections.http_limits import HttpLimits
from serve.http.documents.idempotency import check_same, run_id_of_key
from serve.http.documents.problems import RefusedError
from serve.runtimes.answering import UNHEARD, prepared_within, request_of

RETRY_AFTER_S = 5


Prepare = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """Prepare nothing before a run."""


class RunSystem(Protocol):
    """Drives runs for the HTTP service: a system of actors."""

    async def submit(self, request: Request, run_id: RunId | None = None) -> RunId:
        """Start a run; the same id again changes nothing."""

    async def take(self, user_id: str, endpoint: str) -> list[RateState]:
        """Count a request of a principal, and return how far it is from its rate limits.

        Raises RateLimitedError if it asks too often, or has used up a quota.
        """

    async def refresh_index(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        """Bring a repository's index up to date. Raises RepositoryError if that takes longer."""

    async def envelope(self, run_id: RunId) -> Envelope:
        """Return the current envelope of a run. Raises UnknownNameError, as do the methods below."""

    def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncIterator[ClientEvent]:
        """Yield the events of a run to its end."""

    async def events(self, run_id: RunId, after_seq: int = 0) -> tuple[list[ClientEvent], bool]:
        """Return the events of a run so far, and whether it is over."""

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now."""

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Hold a run at its next step."""

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer the question of a run."""

    async def fork(self, source: RunId, at_seq: int) -> RunId:
        """Return a new run with the past of another."""

    async def query(self, type_: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Ask a query on the bus. Raises NoHandlerError and what its handler raises."""

    async def running(self) -> int:
        """Return how many runs are not over."""

    async def bus_stats(self) -> dict[str, Any]:
        """Return the bus's counters and tables."""

    async def model_stats(self) -> dict[str, Any]:
        """Return the counts of model calls by process."""

    async def model_places(self) -> dict[str, tuple[int, int, int]]:
        """Return for each deployment in use the places that are held, all of its places, and the calls that wait."""

    async def tool_health(self) -> list[ToolHealth]:
        """Return how the tools fare."""

    async def run_totals(self) -> RunTotals | None:
        """Return what the events of all runs of the store add up to; None if the store does not answer."""


class Slots:
    """Counts what may be done at once."""

    def __init__(self, size: int, what: str) -> None:
        self._free = self._size = size
        self._what = what

    @property
    def use(self) -> dict[str, int]:
        """The slots that are taken, and all of them."""
        return {"used": self._size - self._free, "of": self._size}

    def take(self) -> Callable[[], None]:
        """Take a slot, and return what gives it back. Raises OverloadedError if none is free."""
        if not self._free:
            raise OverloadedError(f"{self._size} {self._what} at once are allowed; retry", retry_after_s=RETRY_AFTER_S)
        self._free -= 1
        return self._give_back

    def _give_back(self) -> None:
        self._free += 1


class AnsweringRuns:
    """Answers questions by runs of a system, a bounded number of them at once."""

    def __init__(self, runs: RunSystem, limits: HttpLimits) -> None:
        self._runs = runs
        self._limits = limits
        self._slots = Slots(limits.max_asked, "questions")
        self._clock = SystemClock()

    @property
    def use(self) -> dict[str, int]:
        """The answers that are awaited, and the most that may be."""
        return self._slots.use

    async def settled(
        self, ask: Ask, key: str | None, sent: str, on_run: Callable[[RunId], None], prepare: Prepare
    ) -> Envelope:
        """Start the run of a question, or find the one of its `key`, and return its envelope once it is over or waits.

        Raises RefusedError if the run takes too long, which goes on then, and as `started` does.
        """
        give_back = self._slots.take()
        try:
            run_id = await self.started(ask, key, sent, on_run, prepare)
            return await self._settled(run_id, ask.wait)
        finally:
            give_back()

    async def started(
        self,
        ask: Ask,
        key: str | None,
        sent: str,
        on_run: Callable[[RunId], None],
        prepare: Prepare,
        must_be_known: bool = False,
    ) -> RunId:
        """Start the run of a question, or find the one of its `key`, and return its id; it is on disk.

        `sent`: the fingerprint of the request; `on_run` is called when there is a run, `prepare` before a new one.
        Raises RefusedError if another request has this key, and UnknownNameError if the run `must_be_known` and is not.
        """
        run_id = new_run_id(self._clock.now_ms()) if key is None else run_id_of_key(ask.user_id, key)
        if must_be_known:
            request = (await self._runs.envelope(run_id)).request
        else:
            request = await _to_its_end(self._started(run_id, ask, sent, key is not None, prepare))
        on_run(run_id)
        if key is not None:
            check_same(request, sent)
        return run_id

    async def _started(self, run_id: RunId, ask: Ask, sent: str, may_be_known: bool, prepare: Prepare) -> Request:
        """Return the request that the run began with, which is now on disk."""
        if may_be_known:
            try:
                return (await self._runs.envelope(run_id)).request
            except UnknownNameError:
                pass  # the key is new
        await prepare()
        within, repository = await prepared_within(ask, self._runs.refresh_index, _no_progress, UNHEARD)
        request = msgspec.structs.replace(request_of(within, repository), request_id=sent)
        await self._runs.submit(request, run_id)
        return (await self._runs.envelope(run_id)).request if may_be_known else request

    async def _settled(self, run_id: RunId, may_wait: bool) -> Envelope:
        seconds = self._limits.answer_timeout_s
        try:
            async with asyncio.timeout(seconds):
                await self._until_settled(run_id, may_wait)
        except TimeoutError as error:
            detail = f"run {run_id} is not over after {seconds:g} s; it goes on, and GET /api/v1/runs/{run_id} shows it"
            raise RefusedError(504, "answer_timeout", detail) from error
        return await self._runs.envelope(run_id)

    async def _until_settled(self, run_id: RunId, may_wait: bool) -> None:
        async with aclosing(self.events_until_settled(run_id, may_wait)) as events:
            async for _ in events:
                pass

    async def events_until_settled(
        self, run_id: RunId, may_wait: bool, after_seq: int = 0
    ) -> AsyncGenerator[ClientEvent, None]:
        """Yield the events of a run after `after_seq` until it is over or, if it may wait, waits for a person."""
        if may_wait and after_seq and await self._waits_since(run_id, after_seq):
            return
        async with aclosing(self._runs.watch(run_id, after_seq)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event
                if not may_wait or event.type != "interrupt.raised" or event.data["kind"] == "checkpoint":
                    continue  # a paused run is resumed by the one who paused it
                if _waits_with(await self._runs.envelope(run_id), event.data["id"]):
                    return

    async def _waits_since(self, run_id: RunId, after_seq: int) -> bool:
        """Return whether a run waits with a question that it raised at or before an event."""
        interrupt = (await self._runs.envelope(run_id)).interrupt
        if interrupt is None or interrupt.kind == "checkpoint":
            return False
        later, _ = await self._runs.events(run_id, after_seq)
        is_later = any(event.type == "interrupt.raised" and event.data["id"] == interrupt.id for event in later)
        return not is_later and _waits_with(await self._runs.envelope(run_id), interrupt.id)


def _waits_with(envelope: Envelope, interrupt_id: str) -> bool:
    is_open = envelope.interrupt is not None and envelope.interrupt.id == interrupt_id
    return is_open and envelope.lifecycle == "waiting"


async def _no_progress() -> Progress:
    return Progress()


async def _to_its_end(starting: Any) -> Request:
    """Await a start that is not broken off half-way when its caller goes."""
    task: asyncio.Future[Request] = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            # Who cancels again is not to take the start for ended: others would get its slot.
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        raise
