"""The supervisor as an actor: owns the run log, decides through `RunTable`, and carries out what was decided.

Doors call `submit`, `wait_events`, `envelope` and `cancel`; agents reach it over the bus. When its process dies, the
next one takes the log over and goes on with every run in it: nothing that matters is kept here alone. (Over 400 lines:
what callers, agents, timers and other processes say all ends in one table, under one lease.)
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from actors.addresses import CANCEL_STAGE, GIVE_GRANT, RUN_STAGE, agent_address, place_of
from actors.commbus_actor import ENDPOINT_LOST
from actors.log_owner import LogOwner
from actors.participant import Participant
from actors.ray_transport import RayTransport
from actors.restarts import retry_while_unavailable, was_restarted
from actors.watch import Watch
from runtime.agents.live_text import STAGE_TEXT, LiveTexts, decode_marks, decode_text
from runtime.agents.reporter import RECORDED, REPORT, Report, decode_report
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import Frame, unpack_body
from runtime.bus.outbox import Inbox
from runtime.bus.reliable_sender import OutgoingCommand, ReliableSender
from runtime.errors import FencedError, StateStorageError
from runtime.hosting.admission import Quotas
from runtime.hosting.attempt_tracker import Holders
from runtime.hosting.failure_detector import HANGS_AFTER_S, HEARTBEAT_S, Heartbeats
from runtime.hosting.group_commit import GroupCommit, as_far_as_possible
from runtime.hosting.rate_limits import RateLimiter, RateLimits
from runtime.hosting.run_table import RunTable
from runtime.hosting.timers import Timers
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.run.envelope import InterruptResponse, Request, encode_envelope
from runtime.store.opening import StoreOptions
from runtime.supervision.commands import CancelStage, ClientEvent, Command, Finish, GiveGrant, RunStage, SetTimer
from runtime.supervision.events import ActorLost, CancelRequested, PauseRequested, Payload, StageFailed, TimerFired

log = logging.getLogger(__name__)

LONGEST_WAIT_S = 20.0
RETRY_S = 0.5
TAKEN_UP_AT_ONCE = 100

Result = TypeVar("Result")

_RESPONSE_DECODER = msgspec.msgpack.Decoder(InterruptResponse)
_REQUEST_DECODER = msgspec.msgpack.Decoder(Request)


class Limits(msgspec.Struct, frozen=True):
    """What the settings say of quotas and rates."""

    quotas: Quotas = Quotas()
    rates: RateLimits = RateLimits()
    rates_by_user: dict[str, RateLimits] = {}


class Ownership(msgspec.Struct, frozen=True):
    """Which log a supervisor keeps, and on whose behalf.

    `log_names`: the first that nobody else owns is taken. `system_id` tells whether a former owner was the same
    supervisor before its process died. `adopts`: it goes on with what others left unfinished in that log.
    """

    system_id: str
    store: StoreOptions
    log_names: tuple[str, ...]
    adopts: bool = True
    heartbeat_s: float = HEARTBEAT_S
    hangs_after_s: float = HANGS_AFTER_S


class SupervisorActor(Participant):
    """Drives every run of its shard. `watched`: actor names of those whose processes it keeps an eye on."""

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
        self._told = msgspec.convert(ownership, Ownership)
        said = msgspec.convert(limits or {}, Limits)
        configs = {config.name: config for config in map(PipelineConfig.model_validate, pipelines)}
        told = self._told
        self._owner = retry_while_unavailable(
            lambda: LogOwner(address, told.system_id, told.store, told.log_names, self._clock, follows=was_restarted()),
            was_restarted(),
        )
        rates = RateLimiter(said.rates, said.rates_by_user)
        self._table = RunTable(configs, self._owner.log, self._clock, said.quotas, rates, epoch=self._owner.epoch)
        self._commit = GroupCommit(self._table)
        self._timers = Timers(self._clock, self._timer_fired)
        self._watchers: dict[RunId, set[asyncio.Event]] = {}
        self._texts = LiveTexts()
        self._recovered = asyncio.Event()
        self._has_begun = False
        self._admitting: asyncio.Task[None] | None = None
        self._inbox = Inbox()
        self._holders = Holders()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch = Watch(Heartbeats(self._told.hangs_after_s), watched, self._lives)
        self.endpoint = Endpoint(
            address,
            RayTransport(),
            self._clock,
            frames={REPORT: self._reported, ENDPOINT_LOST: self._endpoint_lost, STAGE_TEXT: self._written},
            subscribes=(ENDPOINT_LOST,),
        )
        self._sender = ReliableSender(self.endpoint, self._clock)
        self.endpoint.bind()

    async def stay_alive(self) -> None:
        """The bus is here: whatever the log holds is gone on with, and the others are watched."""
        self._begin()
        await super().stay_alive()

    async def submit(self, request: bytes, run_id: RunId) -> RunId:
        """Accept a request; its record is on disk when this returns. The same id again changes nothing."""
        await self._ready()
        decoded = _REQUEST_DECODER.decode(request)
        _, commands = await self._do(lambda: self._table.submit(decoded, run_id))
        self._follow(run_id, commands)
        return run_id

    async def wait_events(
        self, run_id: RunId, after_seq: int, timeout_s: float, marks: bytes | None = None
    ) -> tuple[bytes, bool]:
        """Client events after `after_seq` as MessagePack, and whether the run is over; waits for the first one.

        Who says what it has of the texts that are being written (`marks`) gets what is new of them, too.
        """
        await self._ready()
        seen = None if marks is None else decode_marks(marks)

        def news() -> list[ClientEvent]:
            numbered = self._table.client_events(run_id, after_seq)
            if seen is None:
                return numbered
            return [*numbered, *self._texts.news(run_id, seen, self._table.at_work(run_id))]

        if not news() and not self._table.is_over(run_id):
            await self._news(run_id, min(timeout_s, LONGEST_WAIT_S))
        return msgspec.msgpack.encode(news()), self._table.is_over(run_id)

    async def _news(self, run_id: RunId, timeout_s: float) -> None:
        """Return when something has happened to the run, or when the time is up."""
        news = asyncio.Event()
        self._watchers.setdefault(run_id, set()).add(news)
        try:
            await asyncio.wait_for(news.wait(), timeout_s)
        except TimeoutError:
            log.debug("watch.idle", extra={"run_id": run_id})
        finally:
            self._watchers[run_id].discard(news)
            if not self._watchers[run_id]:
                del self._watchers[run_id]

    async def envelope(self, run_id: RunId) -> bytes:
        """The envelope of a run as it stands."""
        await self._ready()
        return encode_envelope(self._table.envelope(run_id))

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now. Raises UnknownNameError."""
        await self._demand(run_id, CancelRequested(reason))

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Hold a run at its next step. Raises UnknownNameError."""
        await self._demand(run_id, PauseRequested(reason))

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: bytes) -> None:
        """Answer a question of a run that waits. Raises InterruptError."""
        await self._ready()
        decoded = _RESPONSE_DECODER.decode(response)
        await self._asked_of(run_id, lambda: self._table.answer(run_id, interrupt_id, user_id, decoded))

    async def fork(self, source: RunId, at_seq: int, run_id: RunId) -> RunId:
        """A new run with the past of `source` up to event `at_seq` (inclusive). Raises UnknownNameError."""
        await self._ready()
        _, commands = await self._do(lambda: self._table.fork(source, at_seq, run_id))
        self._follow(run_id, commands)
        return run_id

    async def running(self) -> int:
        """How many runs are not over."""
        await self._ready()
        return self._table.running

    async def release(self) -> None:
        """The system goes down in order: another may take the log at once."""
        self._owner.release()

    async def _ready(self) -> None:
        """Wait until the runs of the log are taken up: before, nobody knows what there is."""
        self._begin()
        await self._recovered.wait()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._spawn(self._recover())
            self._spawn(self._beat())
            self._spawn(self._watch.run(self._clock, self._told.heartbeat_s))

    async def _recover(self) -> None:
        # Who follows itself goes on with what it had, also where it leaves alone what others did not finish.
        goes_on = self._told.adopts or was_restarted()
        while goes_on and (taken_up := await self._surely(self._take_up_some)):
            for run_id, commands in taken_up:
                self._follow(run_id, commands)
        self._recovered.set()
        await self._admit()

    def _take_up_some(self) -> list[tuple[RunId, list[Command]]]:
        """Take up a number of runs with one write; none when all are taken up."""
        return as_far_as_possible(itertools.islice(self._table.recover(), TAKEN_UP_AT_ONCE))

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(self._told.heartbeat_s)
            try:
                self._owner.renew()
            except FencedError as error:
                self._deposed(error)
            except StateStorageError as error:
                log.warning("supervisor.lease_not_renewed", extra={"reason": error.message})
            if self._admitting is None or self._admitting.done():  # a run that cannot be read must not cost the lease
                self._admitting = self._spawn(self._admit())

    def _deposed(self, error: FencedError) -> None:
        """Somebody else drives these runs now: nothing that this process still says may be heard."""
        log.error("supervisor.deposed", extra={"reason": error.message})
        os._exit(3)

    async def _reported(self, frame: Frame) -> None:
        report = decode_report(frame.body)
        report_id = frame.header.correlation_id or frame.header.message_id
        with self._inbox.in_hand(report_id) as is_first:
            if not is_first:
                return
            if not self._inbox.is_duplicate(report_id):
                await self._ready()
                try:
                    await self._record(report_id, report)
                except StateStorageError as error:
                    log.warning("report.not_recorded", extra={"run_id": report.key.run_id, "reason": error.message})
                    return  # the agent says it again
        await self.endpoint.command(report.agent, RECORDED, b"", report.key.run_id, report_id, self._owner.epoch)
        await self._admit()

    async def _record(self, report_id: MessageId, report: Report) -> None:
        run_id = report.key.run_id
        commands = await self._do(lambda: self._said(run_id, report.payloads))
        self._inbox.note(report_id)
        self._sender.acknowledge(_message_id_of(report.key))
        if report.was_refused or not self._holders.heard(
            report.key, report.agent, report.incarnation, report.has_ended
        ):
            self._lost(report.agent, {run_id: (report.key,)})
        await self._carry_out(run_id, commands)

    def _said(self, run_id: RunId, payloads: tuple[Payload, ...]) -> list[Command]:
        return [command for payload in payloads for command in self._table.handle(run_id, payload)]

    async def _written(self, frame: Frame) -> None:
        text = decode_text(frame.body)
        stage = self._table.at_work(text.key.run_id).get(str(text.key))
        if stage is not None and self._texts.show(stage, text, self._clock.now_ms()):
            self._wake(text.key.run_id)

    async def _endpoint_lost(self, frame: Frame) -> None:
        told = unpack_body(frame.body)
        address, life = Address(str(told["address"])), told.get("life")
        if life is None:
            self._watch.ask_soon(address)
        else:
            # Not asked: who dies as soon as it has work may be gone before it answers.
            self._lives(address, str(life))

    def _lives(self, address: Address, life: str) -> None:
        """Somebody answered, and says in which process."""
        self._lost(address, self._holders.lives(address, life))

    def _lost(self, address: Address, keys: dict[RunId, tuple[StageKey, ...]]) -> None:
        place = place_of(address)
        if place is None:
            return
        for run_id, lost in keys.items():
            for key in lost:
                self._sender.acknowledge(_message_id_of(key))
            self._spawn(self._happened(run_id, ActorLost(place.stage, lost)))

    async def _timer_fired(self, run_id: RunId, timer_id: str) -> None:
        await self._happened(run_id, TimerFired(timer_id))

    async def _demand(self, run_id: RunId, payload: Payload) -> None:
        await self._ready()
        self._table.envelope(run_id)
        await self._asked_of(run_id, lambda: self._table.handle(run_id, payload))

    async def _asked_of(self, run_id: RunId, job: Callable[[], list[Command]]) -> None:
        try:
            self._follow(run_id, await self._do(job))
        except StateStorageError:
            self._spawn(self._settle(run_id))
            raise

    async def _settle(self, run_id: RunId) -> None:
        """Whoever asked was told that it failed, and need not ask again: it may be on record after all."""
        await self._clock.sleep(RETRY_S)
        await self._carry_out(run_id, await self._surely(lambda: self._table.catch_up(run_id)))

    async def _happened(self, run_id: RunId, payload: Payload) -> None:
        """Record something that nobody would say again, however long the log takes."""
        await self._carry_out(run_id, await self._surely(lambda: self._table.handle(run_id, payload)))
        await self._admit()

    async def _admit(self) -> None:
        if self._table.has_candidates:
            for run_id, commands in await self._surely(lambda: as_far_as_possible(self._table.admit())):
                await self._carry_out(run_id, commands)

    async def _do(self, job: Callable[[], Result]) -> Result:
        try:
            return await self._commit.do(job)
        except FencedError as error:
            self._deposed(error)
            raise

    async def _surely(self, job: Callable[[], Result]) -> Result:
        while True:
            try:
                return await self._do(job)
            except StateStorageError as error:
                log.warning("supervisor.not_recorded", extra={"reason": error.message})
                await self._clock.sleep(RETRY_S)

    def _follow(self, run_id: RunId, commands: list[Command]) -> None:
        """Carry out what is on record, while the caller goes its way."""
        self._spawn(self._carry_out(run_id, commands))

    async def _carry_out(self, run_id: RunId, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, RunStage):
                await self._start(run_id, command)
            elif isinstance(command, CancelStage):
                self._sender.acknowledge(_message_id_of(command.key))
                self._holders.dropped(command.key)
                await self._tell(run_id, CANCEL_STAGE, command)
            elif isinstance(command, GiveGrant):
                await self._tell(run_id, GIVE_GRANT, command)
            elif isinstance(command, SetTimer):
                self._timers.set(run_id, command)
            elif isinstance(command, Finish):
                self._timers.drop(run_id)
        self._texts.keep(run_id, self._table.at_work(run_id))
        self._wake(run_id)

    def _wake(self, run_id: RunId) -> None:
        """Let whoever watches the run look again."""
        for news in self._watchers.get(run_id, ()):
            news.set()

    async def _start(self, run_id: RunId, command: RunStage) -> None:
        self._sender.acknowledge(_message_id_of(self._holders.issued(command.key)))
        address = self._address_of(run_id, command)
        self._holders.sent(command.key, address)
        body = msgspec.msgpack.encode(command)
        run_stage = OutgoingCommand(address, RUN_STAGE, body, run_id, self._owner.epoch)
        if await self._sender.send(_message_id_of(command.key), run_stage) == "refused":
            self._sender.acknowledge(_message_id_of(command.key))
            self._holders.dropped(command.key)
            error = f"the bus could not hand the stage to {address}: nobody is expected there"
            await self._happened(run_id, StageFailed(command.key, "internal", error))

    async def _tell(self, run_id: RunId, type_: str, command: CancelStage | GiveGrant) -> None:
        body = msgspec.msgpack.encode(command)
        await self.endpoint.command(self._address_of(run_id, command), type_, body, run_id, None, self._owner.epoch)

    def _address_of(self, run_id: RunId, command: RunStage | CancelStage | GiveGrant) -> Address:
        rules = self._table.rules_of(run_id)
        return agent_address(rules.name, command.stage, command.key, rules.stages[command.stage].replicas)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("supervisor.task_failed", exc_info=error)


def _message_id_of(key: StageKey) -> MessageId:
    """Under which id a stage is told to run: the same, however often and by whichever life of the supervisor."""
    return MessageId(f"run:{key}")
