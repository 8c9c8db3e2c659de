"""Runs a `SupervisorHost` on an event loop: writes, sends frames, sets timers, resolves replies."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from actors.addresses import CANCEL_STAGE, GIVE_GRANT, RUN_STAGE
from runtime.agents.reporter import RECORDED, encode_recorded
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import SendOutcome
from runtime.errors import StateStorageError
from runtime.hosting.host_outputs import (
    Deposed,
    DropTimers,
    LeaseNotRenewed,
    NotRecorded,
    Output,
    Recovered,
    Reply,
    ReportRecorded,
    RetryIn,
    RunChanged,
    SendOnce,
    SendStage,
    StartTimer,
    WriteDue,
)
from runtime.hosting.supervisor_host import SupervisorHost
from runtime.hosting.timers import Timers
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address, RunId
from runtime.supervision.commands import CancelStage

RESEND_EVERY_S = 0.25

# Acknowledgements that nobody waits for share a frame. Agents resend a report after a second.
LAST_REPORTS_GATHERED_FOR_S = 0.1

log = logging.getLogger(__name__)

Frame = SendStage | SendOnce | ReportRecorded


class HostShell:
    """Carries out the outputs of its host. `epoch` goes with each frame; `on_change` gets the runs that changed."""

    def __init__(
        self, host: SupervisorHost, endpoint: Endpoint, clock: Clock, epoch: int, on_change: Callable[[RunId], None]
    ) -> None:
        self._host = host
        self._endpoint = endpoint
        self._clock = clock
        self._epoch = epoch
        self._timers = Timers(clock, self._timer_fired)
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_reports: dict[Address, list[ReportRecorded]] = {}
        self.recovered = asyncio.Event()
        self._acts: dict[type, Callable[[Any], object]] = {
            WriteDue: lambda _: asyncio.get_running_loop().call_soon(self._write),
            StartTimer: lambda timer: self._timers.set(timer.run_id, timer.command),
            DropTimers: lambda drop: self._timers.drop(drop.run_id),
            RetryIn: lambda retry: self.spawn(self._retry(retry)),
            RunChanged: lambda changed: on_change(changed.run_id),
            Reply: _reply,
            NotRecorded: _note_failure,
            LeaseNotRenewed: _note_lease,
            Recovered: lambda _: self.recovered.set(),
            Deposed: _exit,
        }

    async def ask(self, ask: Callable[[object], list[Output]]) -> RunId:
        """Call the host with a token of its own, and await its reply. Raises the error of the reply."""
        done: asyncio.Future[RunId] = asyncio.get_running_loop().create_future()
        try:
            self.act(ask(done))
            return await done
        except asyncio.CancelledError:
            self.act(self._host.withdraw(done))
            raise

    def act(self, outputs: list[Output]) -> None:
        """Carry out outputs; frames of one run and origin keep their order, others are sent concurrently.

        Acknowledgements of last reports are sent later, in no order with other frames.
        """
        frames: dict[tuple[RunId, int], list[Frame]] = {}
        for output in outputs:
            if isinstance(output, ReportRecorded) and output.is_last:
                self._acknowledge_soon(output)
            elif isinstance(output, SendStage | SendOnce | ReportRecorded):
                frames.setdefault((output.run_id, id(output.origin)), []).append(output)
            else:
                self._acts[type(output)](output)
        for together in frames.values():
            origin = together[0].origin
            self.spawn(self._send_all(together), origin if isinstance(origin, contextvars.Context) else None)

    def spawn(self, work: Coroutine[Any, Any, None], context: contextvars.Context | None = None) -> asyncio.Task[None]:
        """Run a coroutine as a task, and log the error that it raises."""
        task = asyncio.get_running_loop().create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def close(self) -> None:
        """Stop timers, retries and resending: another owner may follow in the log."""
        self._timers.close()
        for task in self._tasks:
            task.cancel()

    async def send_again(self) -> None:
        """Resend unacknowledged messages, for ever."""
        while True:
            await self._clock.sleep(RESEND_EVERY_S)
            for send in self._host.due(self._now_ms()):
                if not self._host.awaits(send.message_id):
                    continue  # acknowledged or cancelled while the messages before it were sent
                try:
                    await self._send_stage(send)
                except Exception:
                    log.exception("supervisor.not_sent_again", extra={"run_id": send.run_id})

    async def _send_all(self, frames: list[Frame]) -> None:
        for frame in frames:
            if isinstance(frame, SendStage):
                if await self._send_stage(frame) == "refused":
                    self.act(self._host.on_refused(frame.address, frame.command.key))
            elif isinstance(frame, SendOnce):
                type_ = CANCEL_STAGE if isinstance(frame.command, CancelStage) else GIVE_GRANT
                body = msgspec.msgpack.encode(frame.command)
                await self._endpoint.command(frame.address, type_, body, frame.run_id, None, self._epoch)
            else:
                about = frame.report_id
                await self._endpoint.command(frame.address, RECORDED, b"", frame.run_id, about, self._epoch)

    def _acknowledge_soon(self, recorded: ReportRecorded) -> None:
        if not self._last_reports:
            self.spawn(self._acknowledge_all(), contextvars.Context())
        self._last_reports.setdefault(recorded.address, []).append(recorded)

    async def _acknowledge_all(self) -> None:
        """Acknowledge the last reports of attempts, in one frame for each agent."""
        await self._clock.sleep(LAST_REPORTS_GATHERED_FOR_S)
        gathered, self._last_reports = self._last_reports, {}
        # None waits for another: the next ones would overtake it, and its agent would take reports for lost.
        await asyncio.gather(*map(self._acknowledge, gathered.items()))

    async def _acknowledge(self, reports: tuple[Address, list[ReportRecorded]]) -> None:
        address, (first, *others) = reports
        body = encode_recorded([recorded.report_id for recorded in others])
        await self._endpoint.command(address, RECORDED, body, first.run_id, first.report_id, self._epoch)

    async def _send_stage(self, send: SendStage) -> SendOutcome:
        body = msgspec.msgpack.encode(send.command)
        return await self._endpoint.command(send.address, RUN_STAGE, body, send.run_id, send.message_id, self._epoch)

    def _write(self) -> None:
        self.act(self._host.write(self._now_ms()))

    async def _timer_fired(self, run_id: RunId, timer_id: str) -> None:
        self.act(self._host.on_timer(run_id, timer_id))

    async def _retry(self, retry: RetryIn) -> None:
        await self._clock.sleep(retry.delay_s)
        self.act(self._host.on_retry(retry.number))

    def _now_ms(self) -> int:
        return round(self._clock.monotonic_s() * 1000)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("supervisor.task_failed", exc_info=error)


def _reply(reply: Reply) -> None:
    done = reply.token
    assert isinstance(done, asyncio.Future)
    if done.done():
        return  # the caller was cancelled
    if reply.error is None:
        done.set_result(reply.run_id)
    else:
        done.set_exception(reply.error)


def _note_failure(failure: NotRecorded) -> None:
    what = "supervisor.not_recorded" if failure.report_id is None else "report.not_recorded"
    if isinstance(failure.error, StateStorageError):
        log.warning(what, extra={"run_id": failure.run_id, "reason": failure.error.message})
    else:
        log.error(what, extra={"run_id": failure.run_id}, exc_info=failure.error)


def _note_lease(failure: LeaseNotRenewed) -> None:
    log.warning("supervisor.lease_not_renewed", extra={"reason": failure.error.message})


def _exit(deposed: Deposed) -> None:
    """Exit at once: another owner drives these runs now, and this process must send nothing more."""
    log.error("supervisor.deposed", extra={"reason": str(deposed.error)})
    os._exit(3)
