"""Runs a `SupervisorHost` for each run log that it owns by lease, as a Ray actor.

Doors call methods such as `submit`, `wait_events`, `envelope` and `cancel`; agents reach it over the bus. Inputs go to
the host of the run's log, and the `HostShell` executes its outputs. When the process dies, the next one takes the logs
over and continues every run in them: no essential state is held only here.
"""

from __future__ import annotations

import contextvars
import logging
from typing import Any

import msgspec

from actors.commbus_actor import ENDPOINT_LOST
from actors.driven_log import DrivenLog
from actors.driven_logs import Adopter, DrivenLogs
from actors.links.doors import Door, LinksBy
from actors.links.request_door import RequestDoor
from actors.log_owner import LogOwner
from actors.participant import Participant
from actors.restarts import retry_while_unavailable, was_restarted
from actors.watch import Watch
from runtime.agents.live_text import STAGE_TEXT, decode_marks, decode_text
from runtime.agents.reporter import REPORT, decode_report
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import Frame, unpack_body
from runtime.errors import BusError, JeevesError
from runtime.hosting.abandoned_runs import ABANDONED_AFTER_MS
from runtime.hosting.failure_detector import HANGS_AFTER_S, HEARTBEAT_S, Heartbeats
from runtime.hosting.limits.limits_service import Limits, SpentBy, UsedUp
from runtime.hosting.run_meter import REPORT_EVERY_S, RunMeter
from runtime.memory.run_metrics import ADD_RUN_COUNTS
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address, RunId
from runtime.run.envelope import InterruptResponse, Request, encode_envelope
from runtime.store.options import StoreOptions
from runtime.supervision.events import CancelRequested, PauseRequested, Payload

LONGEST_WAIT_S = 20.0
CALLED_BY_LINK = (
    *("submit", "drives", "wait_events", "envelope", "cancel", "pause", "answer", "fork", "about", "running"),
)
SPENDING_TIMEOUT_S = 5.0
METRICS_TIMEOUT_S = 2.0

log = logging.getLogger(__name__)

_RESPONSE_DECODER = msgspec.msgpack.Decoder(InterruptResponse)
_REQUEST_DECODER = msgspec.msgpack.Decoder(Request)


class Ownership(msgspec.Struct, frozen=True):
    """Describes the run log that a supervisor acquires, and the system that it belongs to.

    `log_names`: the first log without another owner is acquired. `system_id` identifies a former owner as the same
    supervisor before its process died. `adopts`: continue the runs that other owners left unfinished, in that log and
    in all others of the store; `shard` of `shards` says which logs are left to the other supervisors of the system.
    `calls_models`: False when the agents of the system reason without models. `links`: by which of them doors may call.
    """

    system_id: str
    store: StoreOptions
    log_names: tuple[str, ...]
    adopts: bool = True
    shard: int = 0
    shards: int = 1
    abandoned_after_s: float = ABANDONED_AFTER_MS / 1000
    heartbeat_s: float = HEARTBEAT_S
    hangs_after_s: float = HANGS_AFTER_S
    calls_models: bool = True
    links: LinksBy = True
    about: dict[str, Any] = {}


class SupervisorActor(Participant):
    """Drives every run of its logs. `watched`: names of the actors whose processes it watches by heartbeat."""

    def __init__(
        self,
        address: Address,
        pipelines: list[dict[str, Any]],
        ownership: dict[str, Any],
        limits: dict[str, Any] | None = None,
        watched: tuple[Address, ...] = (),
    ) -> None:
        super().__init__()
        self._clock = SystemClock()
        self._told = told = msgspec.convert(ownership, Ownership)
        said = msgspec.convert(limits or {}, Limits)
        configs = {config.name: config for config in map(PipelineConfig.model_validate, pipelines)}
        follows = was_restarted()
        self.endpoint = Endpoint(
            address,
            self.transport,
            self._clock,
            frames={REPORT: self._reported, ENDPOINT_LOST: self._endpoint_lost, STAGE_TEXT: self._written},
            subscribes=(ENDPOINT_LOST,),
        )
        owner = retry_while_unavailable(
            lambda: LogOwner(
                *(address, told.system_id, told.store, told.log_names, self._clock),
                follows=follows,
                prefers_clean=not told.adopts,
            ),
            follows,
        )
        self._meter = RunMeter()
        parts = (configs, said, self.endpoint, self._clock, told.calls_models, self._meter)
        after_ms = round(told.abandoned_after_s * 1000)
        adopter = Adopter(address, told.system_id, told.store, told.shard, told.shards, after_ms)
        self._logs = DrivenLogs(DrivenLog(owner, *parts), adopter, *parts)
        if follows:
            retry_while_unavailable(self._logs.take_again, follows)
        elif told.adopts:
            self._logs.close_abandoned(owner)
        self._watch = Watch(Heartbeats(told.hangs_after_s), watched, self._lives)
        self._has_begun = False
        self._door = RequestDoor({name: getattr(self, name) for name in CALLED_BY_LINK}, told.links)
        self.endpoint.bind()

    async def stay_alive(self, door: Door | None = None) -> None:
        """Take up the runs of the log and watch the other actors; never return, as the bus holds this call."""
        self._begin()
        await super().stay_alive(door)

    async def rebind(self) -> None:
        """Register with a bus that has replaced another, and resend the stages that the former one may have held."""
        await super().rebind()
        for driven in self._logs:
            driven.host.on_bus_lost()

    async def door(self, node: str | None = None) -> tuple[str, Door] | None:
        """Return a new address and where to connect under it, for a caller on that machine; None without links."""
        return await self._door.door_for(node)

    async def submit(self, request: bytes, run_id: RunId, is_new: bool = True) -> RunId:
        """Accept a request; its record is on disk when this returns. The same id again changes nothing.

        Unless it `is_new`, the id may be that of a run in any log of the store.
        """
        await self._ready()
        decoded = _REQUEST_DECODER.decode(request)
        if not is_new and await self._logs.has_elsewhere(run_id):
            return run_id
        driven = self._logs.of(run_id)
        return await driven.shell.ask(lambda token: driven.host.submit(token, decoded, run_id))

    async def drives(self, run_id: RunId) -> bool:
        """Return whether this supervisor has the run in a log of its own, or in one that it adopted."""
        await self._ready()
        return self._logs.drives(run_id)

    async def wait_events(
        self, run_id: RunId, after_seq: int, timeout_s: float, marks: bytes | None = None
    ) -> tuple[bytes, bool]:
        """Return client events after `after_seq` as MessagePack, and whether the run is over; wait for the first one.

        `marks`: what the caller has of the texts being written; if given, new text is returned, too. A run that another
        system drives has no such texts here.
        """
        await self._ready()
        timeout_s = min(timeout_s, LONGEST_WAIT_S)
        if self._logs.drives(run_id):
            seen = None if marks is None else decode_marks(marks)
            events, is_over = await self._logs.of(run_id).watchers.news_within(run_id, after_seq, timeout_s, seen)
        else:
            events, is_over = await self._logs.recorded_news(run_id, after_seq, timeout_s)
        return msgspec.msgpack.encode(events), is_over

    async def envelope(self, run_id: RunId) -> bytes:
        """Return the current envelope of a run, whichever log it lies in."""
        await self._ready()
        if self._logs.drives(run_id):
            return encode_envelope(self._logs.of(run_id).table.envelope(run_id))
        return encode_envelope((await self._logs.recorded(run_id)).envelope)

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now. Raises UnknownNameError, and OwnedError if another living system drives it."""
        await self._demand(run_id, CancelRequested(reason))

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Pause a run at its next step. Raises as `cancel` does."""
        await self._demand(run_id, PauseRequested(reason))

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: bytes) -> None:
        """Answer the question of a waiting run. Raises InterruptError, and as `cancel` does."""
        await self._ready()
        decoded = _RESPONSE_DECODER.decode(response)
        driven = await self._logs.to_change(run_id)
        await driven.shell.ask(lambda token: driven.host.answer(token, run_id, interrupt_id, user_id, decoded))

    async def fork(self, source: RunId, at_seq: int, run_id: RunId) -> RunId:
        """Create a run with the history of `source` up to event `at_seq` (inclusive), in the same log.

        Raises as `cancel` does.
        """
        await self._ready()
        driven = await self._logs.to_change(source)
        forked = await driven.shell.ask(lambda token: driven.host.fork(token, source, at_seq, run_id))
        self._logs.note(forked, driven)
        return forked

    async def about(self) -> dict[str, Any]:
        """Return what the system was started with."""
        return self._told.about

    async def running(self) -> int:
        """Return the number of runs that are not over."""
        await self._ready()
        return sum(driven.table.running for driven in self._logs)

    async def report_metrics(self, is_last: bool = False) -> None:
        """Report to the store what the events of runs add to the metrics; what it does not take is reported again."""
        tables = [] if is_last else [driven.table for driven in self._logs]
        report = self._meter.report(sum(table.running for table in tables), sum(table.queued for table in tables))
        if report is None:
            return
        try:
            await self.endpoint.query(ADD_RUN_COUNTS, {"report": report}, METRICS_TIMEOUT_S)
        except JeevesError as error:
            log.info("supervisor.metrics_not_reported", extra={"reason": error.message})
            return
        self._meter.sent(report)

    async def release(self) -> None:
        """Report the last metrics and release the logs, so that other owners may take them at once."""
        await self.report_metrics(is_last=True)
        self._logs.release_all()

    async def _demand(self, run_id: RunId, payload: Payload) -> None:
        await self._ready()
        driven = await self._logs.to_change(run_id)
        await driven.shell.ask(lambda token: driven.host.demand(token, run_id, payload))

    async def _ready(self) -> None:
        """Wait until the runs of the own log are recovered: until then, which runs exist is unknown."""
        self._begin()
        for driven in self._logs:
            await driven.shell.recovered.wait()

    def _begin(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        adopts, own = self._told.adopts, self._logs.own
        for driven in self._logs:
            # A restarted supervisor continues its own runs even if it does not adopt those of other owners.
            driven.begin(takes_up=adopts or was_restarted())
        own.shell.spawn(self._beat())
        own.shell.spawn(self._report_spending())
        own.shell.spawn(self._keep_reporting_metrics())
        own.shell.spawn(self._watch.run(self._clock, self._told.heartbeat_s))
        if adopts:
            own.shell.spawn(self._logs.keep_adopting())

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(self._told.heartbeat_s)
            for driven in self._logs:
                driven.shell.act(driven.host.on_heartbeat())

    async def _report_spending(self) -> None:
        """Report to the limits service what the users of these logs spend, and learn which of them may not go on."""
        while True:
            await self._clock.sleep(self._told.heartbeat_s)
            spent = [(driven, driven.table.quotas.spent_since_report()) for driven in list(self._logs)]
            reports = [SpentBy(user_id, *amounts) for _, of_log in spent for user_id, amounts in of_log.items()]
            try:
                told = await self.endpoint.query("limits.spend", {"spent": reports}, SPENDING_TIMEOUT_S)
            except BusError as error:
                for driven, of_log in spent:
                    driven.table.quotas.report_again(of_log)
                log.info("supervisor.spending_not_reported", extra={"reason": error.message})
                continue
            used_up = {each.user_id: each.exhausted for each in msgspec.convert(told["used_up"], list[UsedUp])}
            for driven in self._logs:
                driven.table.quotas.used_up_elsewhere(used_up)
                driven.shell.act(driven.host.on_quotas())

    async def _keep_reporting_metrics(self) -> None:
        while True:
            await self._clock.sleep(REPORT_EVERY_S)
            await self.report_metrics()

    async def _reported(self, frame: Frame) -> None:
        self._begin()
        report_id = frame.header.correlation_id or frame.header.message_id
        # What is sent because of this report belongs to its trace.
        origin = contextvars.copy_context()
        report = decode_report(frame.body)
        driven = self._logs.of(report.key.run_id)
        driven.shell.act(driven.host.on_report(report_id, report, origin))

    async def _written(self, frame: Frame) -> None:
        text = decode_text(frame.body)
        self._logs.of(text.key.run_id).watchers.show(text)

    async def _endpoint_lost(self, frame: Frame) -> None:
        told = unpack_body(frame.body)
        address, incarnation = Address(str(told["address"])), told.get("life")
        if incarnation is None:
            self._watch.ask_soon(address)
        else:
            # No heartbeat: a process that dies as soon as it gets work may be gone before it answers.
            self._lives(address, str(incarnation))

    def _lives(self, address: Address, incarnation: str) -> None:
        """Report to the hosts in which incarnation an actor runs."""
        for driven in self._logs:
            driven.shell.act(driven.host.on_incarnation(address, incarnation, contextvars.copy_context()))
