"""Runs a `SupervisorHost` as a Ray actor, over a run log that it owns by lease.

Doors call methods such as `submit`, `wait_events`, `envelope` and `cancel`; agents reach it over the bus. Inputs go to
the host, and the `HostShell` executes its outputs. When the process dies, the next one takes the log over and continues
every run in it: no essential state is held only here.
"""

from __future__ import annotations

import contextvars
from typing import Any

import msgspec

from actors.addresses import agent_address, place_of
from actors.commbus_actor import ENDPOINT_LOST
from actors.host_shell import HostShell
from actors.log_owner import LogOwner
from actors.participant import Participant
from actors.ray_transport import RayTransport
from actors.restarts import retry_while_unavailable, was_restarted
from actors.watch import Watch
from runtime.agents.live_text import STAGE_TEXT, decode_marks, decode_text
from runtime.agents.reporter import REPORT, decode_report
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import Frame, unpack_body
from runtime.hosting.admission import Quotas
from runtime.hosting.command_dispatch import Directory
from runtime.hosting.failure_detector import HANGS_AFTER_S, HEARTBEAT_S, Heartbeats
from runtime.hosting.rate_limits import RateLimiter, RateLimits
from runtime.hosting.run_table import RunTable
from runtime.hosting.run_watchers import RunWatchers
from runtime.hosting.supervisor_host import SupervisorHost
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address, RunId, StageKey, StageName
from runtime.run.envelope import InterruptResponse, Request, encode_envelope
from runtime.store.options import StoreOptions
from runtime.supervision.events import CancelRequested, PauseRequested, Payload

LONGEST_WAIT_S = 20.0

_RESPONSE_DECODER = msgspec.msgpack.Decoder(InterruptResponse)
_REQUEST_DECODER = msgspec.msgpack.Decoder(Request)


class Limits(msgspec.Struct, frozen=True):
    """Holds the quotas and rate limits of the settings."""

    quotas: Quotas = Quotas()
    rates: RateLimits = RateLimits()
    rates_by_user: dict[str, RateLimits] = {}


class Ownership(msgspec.Struct, frozen=True):
    """Describes the run log that a supervisor acquires, and the system that it belongs to.

    `log_names`: the first log without another owner is acquired. `system_id` identifies a former owner as the same
    supervisor before its process died. `adopts`: continue the runs that other owners left unfinished in that log.
    `calls_models`: False when the agents of the system reason without models.
    """

    system_id: str
    store: StoreOptions
    log_names: tuple[str, ...]
    adopts: bool = True
    heartbeat_s: float = HEARTBEAT_S
    hangs_after_s: float = HANGS_AFTER_S
    calls_models: bool = True


class SupervisorActor(Participant):
    """Drives every run of its shard. `watched`: names of the actors whose processes it watches by heartbeat."""

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
        self._owner = retry_while_unavailable(
            lambda: LogOwner(address, told.system_id, told.store, told.log_names, self._clock, follows=was_restarted()),
            was_restarted(),
        )
        rates = RateLimiter(said.rates, said.rates_by_user)
        taken, epoch, quotas = self._owner.log, self._owner.epoch, said.quotas
        models = told.calls_models
        self._table = RunTable(configs, taken, self._clock, quotas, rates, epoch=epoch, calls_models=models)
        self._host = SupervisorHost(self._table, AGENTS, self._owner.renew)
        self._watchers = RunWatchers(self._table, self._clock)
        self._watch = Watch(Heartbeats(told.hangs_after_s), watched, self._lives)
        self._has_begun = False
        self.endpoint = Endpoint(
            address,
            RayTransport(),
            self._clock,
            frames={REPORT: self._reported, ENDPOINT_LOST: self._endpoint_lost, STAGE_TEXT: self._written},
            subscribes=(ENDPOINT_LOST,),
        )
        self._shell = HostShell(self._host, self.endpoint, self._clock, self._owner.epoch, self._watchers.changed)
        self.endpoint.bind()

    async def stay_alive(self) -> None:
        """Take up the runs of the log and watch the other actors; never return, as the bus holds this call."""
        self._begin()
        await super().stay_alive()

    async def submit(self, request: bytes, run_id: RunId) -> RunId:
        """Accept a request; its record is on disk when this returns. The same id again changes nothing."""
        await self._ready()
        decoded = _REQUEST_DECODER.decode(request)
        return await self._shell.ask(lambda token: self._host.submit(token, decoded, run_id))

    async def wait_events(
        self, run_id: RunId, after_seq: int, timeout_s: float, marks: bytes | None = None
    ) -> tuple[bytes, bool]:
        """Return client events after `after_seq` as MessagePack, and whether the run is over; wait for the first one.

        `marks`: what the caller has of the texts being written; if given, new text is returned, too.
        """
        await self._ready()
        seen = None if marks is None else decode_marks(marks)
        events, is_over = await self._watchers.news_within(run_id, after_seq, min(timeout_s, LONGEST_WAIT_S), seen)
        return msgspec.msgpack.encode(events), is_over

    async def envelope(self, run_id: RunId) -> bytes:
        """Return the current envelope of a run."""
        await self._ready()
        return encode_envelope(self._table.envelope(run_id))

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now. Raises UnknownNameError."""
        await self._demand(run_id, CancelRequested(reason))

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Pause a run at its next step. Raises UnknownNameError."""
        await self._demand(run_id, PauseRequested(reason))

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: bytes) -> None:
        """Answer the question of a waiting run. Raises InterruptError."""
        await self._ready()
        decoded = _RESPONSE_DECODER.decode(response)
        await self._shell.ask(lambda token: self._host.answer(token, run_id, interrupt_id, user_id, decoded))

    async def fork(self, source: RunId, at_seq: int, run_id: RunId) -> RunId:
        """Create a run with the history of `source` up to event `at_seq` (inclusive). Raises UnknownNameError."""
        await self._ready()
        return await self._shell.ask(lambda token: self._host.fork(token, source, at_seq, run_id))

    async def running(self) -> int:
        """Return the number of runs that are not over."""
        await self._ready()
        return self._table.running

    async def release(self) -> None:
        """Release the log at an orderly shutdown, so that another owner may take it at once."""
        self._owner.release()

    async def _demand(self, run_id: RunId, payload: Payload) -> None:
        await self._ready()
        await self._shell.ask(lambda token: self._host.demand(token, run_id, payload))

    async def _ready(self) -> None:
        """Wait until the runs of the log are recovered: until then, which runs exist is unknown."""
        self._begin()
        await self._shell.recovered.wait()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            # A restarted supervisor continues its own runs even if it does not adopt those of other owners.
            self._shell.act(self._host.begin(takes_up=self._told.adopts or was_restarted()))
            self._shell.spawn(self._shell.send_again())
            self._shell.spawn(self._beat())
            self._shell.spawn(self._watch.run(self._clock, self._told.heartbeat_s))

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(self._told.heartbeat_s)
            self._shell.act(self._host.on_heartbeat())

    async def _reported(self, frame: Frame) -> None:
        self._begin()
        report_id = frame.header.correlation_id or frame.header.message_id
        # What is sent because of this report belongs to its trace.
        origin = contextvars.copy_context()
        self._shell.act(self._host.on_report(report_id, decode_report(frame.body), origin))

    async def _written(self, frame: Frame) -> None:
        self._watchers.show(decode_text(frame.body))

    async def _endpoint_lost(self, frame: Frame) -> None:
        told = unpack_body(frame.body)
        address, incarnation = Address(str(told["address"])), told.get("life")
        if incarnation is None:
            self._watch.ask_soon(address)
        else:
            # No heartbeat: a process that dies as soon as it gets work may be gone before it answers.
            self._lives(address, str(incarnation))

    def _lives(self, address: Address, incarnation: str) -> None:
        """Report to the host in which incarnation an actor runs."""
        self._shell.act(self._host.on_incarnation(address, incarnation, contextvars.copy_context()))


def _address_of(config: PipelineConfig, stage: StageName, key: StageKey) -> Address:
    return agent_address(config.name, stage, key, config.stages[stage].replicas)


def _stage_of(address: Address) -> StageName | None:
    place = place_of(address)
    return None if place is None else StageName(place.stage)


AGENTS = Directory(_address_of, _stage_of)
