"""Calls the actors of one Jeeves system on behalf of the doors.

A call finds the supervisor that drives its run, and repeats itself when a process dies during it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any

import msgspec
import ray
from ray.exceptions import RayError

from actors.actor_calls import call_actor, wait_until_answering
from actors.addresses import (
    shard_of,
)
from actors.cluster import has_process
from actors.links.linked_actor import LinkedActor
from actors.resource_claims import check_room
from actors.tracing.trace_export import trace_options
from runtime.agents.live_text import Marks, with_event
from runtime.codebase.index.progress import Progress
from runtime.errors import InputError, InterruptError, JeevesError, OwnedError
from runtime.hosting.limits.rate_limits import RateState
from runtime.llm.call_metrics import ModelStats
from runtime.memory.run_metrics import RUN_TOTALS, RunTotals
from runtime.memory.tool_metrics import ToolHealth
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address, RunId, new_run_id
from runtime.run.envelope import Envelope, InterruptResponse, Request, decode_envelope
from runtime.supervision.commands import ClientEvent
from runtime.tools.tool_host import TOOL_HEALTH

log = logging.getLogger(__name__)

LONG_POLL_S = 10.0
STATS_TIMEOUT_S = 2.0
FLUSH_TIMEOUT_S = 3.0
# Beside other load, processes of a system took up to 30 s to start.
PATIENCE_FOR_ROOM_S = 60.0
PLACES_KEPT = 10_000

_STATS_DECODER = msgspec.msgpack.Decoder(ModelStats)
_EVENTS_DECODER = msgspec.msgpack.Decoder(list[ClientEvent])


class System:
    """Holds handles to a running system. Its calls are idempotent: processes may die during any of them."""

    def __init__(
        self,
        bus: Any,
        supervisors: list[Any],
        index: Any,
        store: Any,
        others: list[Any],
        agents: list[Any] | None = None,
        claims: Mapping[Address, tuple[Any, dict[str, float]]] | None = None,
    ) -> None:
        """Hold these handles. `claims`: the agents that claim resources, by their addresses, with what they claim."""
        self._agents = agents or []
        self._claims = claims or {}
        self._bus = bus
        self._supervisors = [LinkedActor(supervisor) for supervisor in supervisors]
        self._index = LinkedActor(index)
        self._store = LinkedActor(store)
        self._others = others
        self._clock = SystemClock()
        self._places: dict[RunId, LinkedActor] = {}

    async def submit(self, request: Request, run_id: RunId | None = None) -> RunId:
        """Start a run; its first record is on disk when the id is returned. Raises the supervisor's errors.

        A `run_id` that any log of the store has changes nothing.
        """
        try:
            data = msgspec.msgpack.encode(request)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raise InputError(f"the request cannot be recorded: {error}") from error
        is_new = run_id is None
        run_id = run_id or new_run_id(self._clock.now_ms())
        supervisor = self._first_asked(run_id) if is_new else await self._supervisor_of(run_id)
        accepted: RunId = await call_actor(lambda: supervisor.call("submit", data, run_id, is_new))
        self._place(run_id, supervisor)
        return accepted

    async def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncGenerator[ClientEvent, None]:
        """Yield events of a run from `after_seq` (exclusive) to its end, without a gap whichever process dies.

        Interspersed are texts that its stages are writing, which are not numbered and may be missed.
        """
        over = False
        marks: Marks = {}
        while not over:
            supervisor = await self._supervisor_of(run_id)
            asked = (run_id, after_seq, LONG_POLL_S, msgspec.msgpack.encode(marks))
            data, over = await call_actor(lambda: supervisor.call("wait_events", *asked))  # noqa: B023
            for event in _EVENTS_DECODER.decode(data):
                after_seq = max(after_seq, event.seq)
                marks = with_event(marks, event)
                yield event

    async def events(self, run_id: RunId, after_seq: int = 0) -> tuple[list[ClientEvent], bool]:
        """Return the events after `after_seq` so far, and whether the run is over. Raises UnknownNameError."""
        data, over = await self._call(run_id, "wait_events", run_id, after_seq, 0.0)
        return _EVENTS_DECODER.decode(data), over

    async def envelope(self, run_id: RunId) -> Envelope:
        """Return the current envelope of a run. Raises UnknownNameError."""
        return decode_envelope(await self._call(run_id, "envelope", run_id))

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now; a finished run stays as it is.

        Raises UnknownNameError, and OwnedError if another living system drives it, as do the methods below.
        """
        await self._call(run_id, "cancel", run_id, reason)

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer a question of a waiting run. Raises InterruptError."""
        try:
            await self._call(run_id, "answer", run_id, interrupt_id, user_id, msgspec.msgpack.encode(response))
        except InterruptError:
            # Our answer may have been taken by a process that died before it could reply.
            if not _is_answer_of((await self.envelope(run_id)), interrupt_id, response):
                raise

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Hold a run at its next step; answering the checkpoint resumes it."""
        await self._call(run_id, "pause", run_id, reason)

    async def fork(self, source: RunId, at_seq: int) -> RunId:
        """Return a new run with the same past as `source` up to event `at_seq` (inclusive)."""
        forked: RunId = await self._call(source, "fork", source, at_seq, new_run_id(self._clock.now_ms()))
        self._place(forked, await self._supervisor_of(source))
        return forked

    async def about(self) -> dict[str, Any]:
        """Return what the system was started with, as its starter described it."""
        about: dict[str, Any] = await call_actor(lambda: self._supervisors[0].call("about"))
        return about

    async def running(self) -> int:
        """Return how many runs are not over."""
        return sum([await call_actor(partial(supervisor.call, "running")) for supervisor in self._supervisors])

    async def take(self, user_id: str, endpoint: str) -> list[RateState]:
        """Count a request of a principal, and return how far it is from its rate limits.

        Raises RateLimitedError if it asks too often, or has used up a quota.
        """
        # Not idempotent: a request whose link breaks meanwhile may count twice, which harms nobody.
        states = await call_actor(partial(self._store.call, "take", user_id, endpoint))
        return msgspec.convert(states, list[RateState])

    async def model_places(self) -> dict[str, tuple[int, int, int]]:
        """Return for each deployment in use the places that are held, all of its places, and the calls that wait."""
        places: dict[str, tuple[int, int, int]] = await call_actor(self._store.handle.places.remote)
        return places

    async def refresh_index(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        """Bring a repository's index up to date ahead of a run; cancellation ends the work on it."""
        refreshed: dict[str, Any] = await call_actor(partial(self._index.call_cancellably, "refresh", root, timeout_s))
        return refreshed

    async def index_progress(self, root: str) -> Progress:
        """Return the progress of the current refresh of a repository; zeros when there is none."""
        progress: Progress = await call_actor(lambda: self._index.handle.progress.remote(root))
        return progress

    async def bus_stats(self) -> dict[str, Any]:
        """Return the bus's counters and tables."""
        stats: dict[str, Any] = await call_actor(self._bus.stats.remote)
        return stats

    async def model_stats(self) -> dict[str, ModelStats]:
        """Return the counts of model calls by process; agents that do not answer are left out."""
        asked = [_stats_of(agent) for agent in self._agents]
        found = [answer for answer in await asyncio.gather(*asked) if answer is not None]
        return {process_id: _STATS_DECODER.decode(data) for process_id, data in found if data is not None}

    async def tool_health(self) -> list[ToolHealth]:
        """Return the health of each tool that was called lately; empty if the store does not answer."""
        try:
            answer = await call_actor(lambda: self._index.handle.ask.remote(TOOL_HEALTH, {}, STATS_TIMEOUT_S))
        except JeevesError as error:
            log.info("tool_health.no_answer", extra={"reason": error.message})
            return []
        return msgspec.convert(answer["tools"], list[ToolHealth])

    async def run_totals(self) -> RunTotals | None:
        """Return what the events of all runs of the store add up to; None if the store does not answer."""
        try:
            asked = (call_actor(supervisor.handle.report_metrics.remote) for supervisor in self._supervisors)
            await asyncio.gather(*asked)
            answer = await call_actor(lambda: self._index.handle.ask.remote(RUN_TOTALS, {}, STATS_TIMEOUT_S))
        except JeevesError as error:
            log.info("run_totals.no_answer", extra={"reason": error.message})
            return None
        return msgspec.convert(answer["totals"], RunTotals)

    async def query(self, type_: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Ask a query on the bus on behalf of a door. Raises NoHandlerError and what its handler raises."""
        answer: dict[str, Any] = await call_actor(lambda: self._index.handle.ask.remote(type_, body, timeout_s))
        return answer

    async def ready(self) -> None:
        """Return when every actor has started. Raises ClusterError that names what failed, or what others hold."""
        answering = asyncio.ensure_future(self._all_answer())
        try:
            while not (await asyncio.wait({answering}, timeout=PATIENCE_FOR_ROOM_S))[0]:
                await asyncio.to_thread(self._check_room)
            await answering
        finally:
            answering.cancel()

    def _check_room(self) -> None:
        waiting = {name: claimed for name, (agent, claimed) in self._claims.items() if not has_process(agent)}
        if waiting:
            check_room(waiting, ray.available_resources())  # type: ignore[no-untyped-call]

    async def _all_answer(self) -> None:
        for actor in [*(supervisor.handle for supervisor in self._supervisors), self._index.handle, *self._others]:
            await wait_until_answering(actor)

    async def release(self) -> None:
        """Release the run logs and keep what was counted, as the last step, so that a successor may start at once."""
        for supervisor in self._supervisors:
            await call_actor(supervisor.handle.release.remote)
        await call_actor(self._store.handle.keep_usage.remote)
        if trace_options().endpoint is not None:
            await self._flush_traces()

    async def _flush_traces(self) -> None:
        """Let supervisors and agents send their last spans; one that does not answer keeps nothing waiting."""
        traced = [*(supervisor.handle for supervisor in self._supervisors), *self._agents]
        flushed = asyncio.gather(*(actor.flush_traces.remote() for actor in traced), return_exceptions=True)
        try:
            await asyncio.wait_for(flushed, FLUSH_TIMEOUT_S)
        except TimeoutError:
            log.info("traces.not_flushed")

    async def _call(self, run_id: RunId, method: str, *arguments: Any) -> Any:
        """Call a method of the supervisor that drives the run; look for it again if another one has adopted the run."""
        for is_last in (False, True):
            supervisor = await self._supervisor_of(run_id)
            try:
                return await call_actor(lambda: supervisor.call(method, *arguments))  # noqa: B023
            except OwnedError:
                if is_last or len(self._supervisors) == 1:
                    raise
                self._places.pop(run_id, None)
        raise AssertionError("the last call returns or raises")

    async def _supervisor_of(self, run_id: RunId) -> LinkedActor:
        """Return the supervisor that has the run; the one that new runs of that id go to if none has."""
        if (placed := self._places.get(run_id)) is not None:
            return placed
        first = self._first_asked(run_id)
        if len(self._supervisors) > 1:
            for supervisor in [first, *(other for other in self._supervisors if other is not first)]:
                if await call_actor(lambda: supervisor.call("drives", run_id)):  # noqa: B023
                    self._place(run_id, supervisor)
                    return supervisor
        return first

    def _first_asked(self, run_id: RunId) -> LinkedActor:
        return self._supervisors[shard_of(run_id, len(self._supervisors))]

    def _place(self, run_id: RunId, supervisor: LinkedActor) -> None:
        """Remember which supervisor has a run, for the last `PLACES_KEPT` runs."""
        self._places[run_id] = supervisor
        if len(self._places) > PLACES_KEPT:
            del self._places[next(iter(self._places))]


async def _stats_of(agent: Any) -> tuple[str, bytes | None] | None:
    try:
        answer: tuple[str, bytes | None] = await asyncio.wait_for(agent.model_stats.remote(), STATS_TIMEOUT_S)
        return answer
    except (RayError, TimeoutError) as error:
        log.info("model_stats.no_answer", extra={"reason": str(error)[:200]})
        return None


def _is_answer_of(envelope: Envelope, interrupt_id: str, response: InterruptResponse) -> bool:
    interrupt = envelope.interrupt
    if interrupt is None or interrupt.id != interrupt_id or interrupt.response is None:
        return False
    return msgspec.structs.replace(interrupt.response, received_at_ms=response.received_at_ms) == response
