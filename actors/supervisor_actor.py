"""The supervisor as an actor: owns the run log, decides through `RunTable`, and carries out what was decided.

Doors call `submit`, `wait_events`, `envelope` and `cancel`; agents reach it over the bus.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec

from actors.agent_actor import CANCEL_STAGE, GIVE_GRANT, REPORT, RUN_STAGE, SUPERVISOR, agent_address
from actors.commbus_actor import ENDPOINT_LOST
from actors.participant import Participant
from actors.ray_transport import RayTransport
from runtime.admission import Quotas
from runtime.clock import SystemClock
from runtime.endpoint import Endpoint
from runtime.envelope import InterruptResponse, Request, encode_envelope
from runtime.ids import RunId
from runtime.messages import Frame, unpack_body
from runtime.pipeline import PipelineConfig
from runtime.rate_limits import RateLimiter, RateLimits
from runtime.run_table import RunTable
from runtime.store.run_log import SqliteRunLog
from runtime.supervision.commands import CancelStage, Command, Finish, GiveGrant, RunStage, SetTimer
from runtime.supervision.events import ActorLost, CancelRequested, PauseRequested, Payload, StageFailed, TimerFired
from runtime.timers import Timers

log = logging.getLogger(__name__)

LONGEST_WAIT_S = 20.0

_PAYLOAD_DECODER: msgspec.msgpack.Decoder[Payload] = msgspec.msgpack.Decoder(Payload)
_RESPONSE_DECODER = msgspec.msgpack.Decoder(InterruptResponse)
_REQUEST_DECODER = msgspec.msgpack.Decoder(Request)


class Limits(msgspec.Struct, frozen=True):
    """What the settings say of quotas and rates."""

    quotas: Quotas = Quotas()
    rates: RateLimits = RateLimits()
    rates_by_user: dict[str, RateLimits] = {}


class SupervisorActor(Participant):
    """Drives every run of this system."""

    def __init__(self, pipelines: list[dict[str, Any]], log_path: str, limits: dict[str, Any] | None = None) -> None:
        super().__init__()
        clock = SystemClock()
        told = msgspec.convert(limits or {}, Limits)
        configs = {config.name: config for config in map(PipelineConfig.model_validate, pipelines)}
        self._table = RunTable(
            configs,
            SqliteRunLog(Path(log_path)),
            clock,
            told.quotas,
            RateLimiter(told.rates, told.rates_by_user),
        )
        self._timers = Timers(clock, self._timer_fired)
        self._changed = asyncio.Condition()
        self.endpoint = Endpoint(
            SUPERVISOR,
            RayTransport(),
            clock,
            frames={REPORT: self._reported, ENDPOINT_LOST: self._endpoint_lost},
            subscribes=(ENDPOINT_LOST,),
        )
        self.endpoint.bind()

    async def submit(self, request: bytes) -> RunId:
        """Accept a request; its record is on disk when the run id is returned."""
        decoded = _REQUEST_DECODER.decode(request)
        run_id, commands = self._table.submit(decoded)
        await self._carry_out(run_id, commands)
        await self._admit()
        return run_id

    async def wait_events(self, run_id: RunId, after_seq: int, timeout_s: float) -> tuple[bytes, bool]:
        """Client events after `after_seq` as MessagePack, and whether the run is over; waits for the first one."""
        async with self._changed:
            if not self._table.client_events(run_id, after_seq) and not self._table.is_over(run_id):
                try:
                    await asyncio.wait_for(self._changed.wait(), min(timeout_s, LONGEST_WAIT_S))
                except TimeoutError:
                    log.debug("watch.idle", extra={"run_id": run_id})
        return msgspec.msgpack.encode(self._table.client_events(run_id, after_seq)), self._table.is_over(run_id)

    async def envelope(self, run_id: RunId) -> bytes:
        """The envelope of a run as it stands."""
        return encode_envelope(self._table.envelope(run_id))

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now."""
        await self._happened(run_id, CancelRequested(reason))

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: bytes) -> None:
        """Answer a question of a run that waits. Raises InterruptError."""
        decoded = _RESPONSE_DECODER.decode(response)
        await self._carry_out(run_id, self._table.answer(run_id, interrupt_id, user_id, decoded))
        await self._admit()

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Hold a run at its next step."""
        await self._happened(run_id, PauseRequested(reason))

    async def fork(self, source: RunId, at_seq: int) -> RunId:
        """A new run with the past of `source` up to event `at_seq` (inclusive). Raises UnknownNameError."""
        run_id, commands = self._table.fork(source, at_seq)
        await self._carry_out(run_id, commands)
        await self._admit()
        return run_id

    async def running(self) -> int:
        """How many runs are under way."""
        return self._table.running

    async def _reported(self, frame: Frame) -> None:
        payload = _PAYLOAD_DECODER.decode(frame.body)
        if frame.header.run_id is not None:
            await self._happened(frame.header.run_id, payload)

    async def _endpoint_lost(self, frame: Frame) -> None:
        address = str(unpack_body(frame.body)["address"])
        pipeline, _, stage = address.removeprefix("agent:").partition(".")
        for run_id in self._table.runs_with(stage):
            if self._table.pipeline_of(run_id) == pipeline:
                await self._happened(run_id, ActorLost(stage))

    async def _timer_fired(self, run_id: RunId, timer_id: str) -> None:
        await self._happened(run_id, TimerFired(timer_id))

    async def _happened(self, run_id: RunId, payload: Payload) -> None:
        await self._carry_out(run_id, self._table.handle(run_id, payload))
        await self._admit()

    async def _admit(self) -> None:
        for run_id, commands in self._table.admit():
            await self._carry_out(run_id, commands)

    async def _carry_out(self, run_id: RunId, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, RunStage):
                await self._start(run_id, command)
            elif isinstance(command, CancelStage):
                address = agent_address(self._table.pipeline_of(run_id), command.stage)
                await self.endpoint.command(address, CANCEL_STAGE, msgspec.msgpack.encode(command), run_id)
            elif isinstance(command, GiveGrant):
                address = agent_address(self._table.pipeline_of(run_id), command.stage)
                await self.endpoint.command(address, GIVE_GRANT, msgspec.msgpack.encode(command), run_id)
            elif isinstance(command, SetTimer):
                self._timers.set(run_id, command)
            elif isinstance(command, Finish):
                self._timers.drop(run_id)
        async with self._changed:
            self._changed.notify_all()

    async def _start(self, run_id: RunId, command: RunStage) -> None:
        address = agent_address(self._table.pipeline_of(run_id), command.stage)
        outcome = await self.endpoint.command(address, RUN_STAGE, msgspec.msgpack.encode(command), run_id)
        if outcome != "accepted":
            error = f"the bus could not hand the stage to {address}: {outcome}"
            await self._happened(run_id, StageFailed(command.key, "internal", error))
