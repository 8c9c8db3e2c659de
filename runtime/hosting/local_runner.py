"""Runs pipelines in one process, without Ray.

This is the oracle for the actors, and the runtime for scripts and tests. Host, agents and run log are the same as on a
cluster; stages are asyncio tasks, and every write is made at once. A failed write is not only retried: callers and
watchers get the error.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from runtime.agents.live_text import Marks, StageText, TextSender, with_event
from runtime.agents.reporter import Progress, Report, StagePayload
from runtime.agents.stage_runner import Agent
from runtime.errors import StateStorageError, UnknownNameError
from runtime.hosting.command_dispatch import Directory
from runtime.hosting.host_outputs import (
    Deposed,
    DropTimers,
    NotRecorded,
    Output,
    Reply,
    RetryIn,
    RunChanged,
    SendOnce,
    SendStage,
    StartTimer,
    WriteDue,
)
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.rate_limits import RateLimiter
from runtime.hosting.run_meter import REPORT_EVERY_S, RunMeter
from runtime.hosting.run_table import NO_QUOTAS, RunTable
from runtime.hosting.run_watchers import RunWatchers
from runtime.hosting.supervisor_host import SupervisorHost
from runtime.hosting.timers import Timers
from runtime.memory.run_metrics import RunReport
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address, MessageId, RunId, StageKey, StageName
from runtime.processes.stop_watchdog import STOP_PATIENCE_S
from runtime.run.bounds import Grant
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.store.run_log import RunLog
from runtime.supervision.commands import CancelStage, ClientEvent, RunStage
from runtime.supervision.events import (
    BudgetRequested,
    CancelRequested,
    PauseRequested,
    RunRequested,
    StageStarted,
)

log = logging.getLogger(__name__)

# Distinguishes this process from another that drove the same run before.
INCARNATION = secrets.token_hex(8)

STAGES = Directory(lambda _config, stage, _key: Address(stage), StageName)


class _Asked:
    """Holds the host's reply to a caller."""

    reply: Reply | None = None


class LocalRunner:
    """Drives runs on the running event loop. `agents`: pipeline → stage → agent."""

    def __init__(
        self,
        pipelines: Mapping[str, PipelineConfig],
        agents: Mapping[str, Mapping[str, Agent]],
        run_log: RunLog,
        clock: Clock,
        quotas: Quotas = NO_QUOTAS,
        rates: RateLimiter | None = None,
        epoch: int | None = None,
        on_closed: Callable[[], None] = lambda: None,
        calls_models: bool = True,
        keep_metrics: Callable[[RunReport], None] | None = None,
    ) -> None:
        """Create a runner. `epoch`: that of the owner of the log, if it has one, whom `on_closed` lets release it.

        `keep_metrics` gets what the events of runs add to the metrics, every few seconds and at the end.
        """
        self._agents = agents
        self._log = run_log
        self._clock = clock
        self._meter = RunMeter()
        self._keep_metrics = keep_metrics
        self._metrics_due_s = clock.monotonic_s() + REPORT_EVERY_S
        self._table = RunTable(
            *(pipelines, run_log, clock, quotas, rates), epoch=epoch, calls_models=calls_models, meter=self._meter
        )
        self._host = SupervisorHost(self._table, STAGES, sends_again=False)
        self._host.begin(takes_up=False)
        self._report_numbers = itertools.count(1)
        self._unrecorded: dict[MessageId, Exception] = {}
        self._grants: dict[str, asyncio.Future[Grant]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._retries: set[asyncio.Task[None]] = set()
        self._timers = Timers(clock, self._timer_fired)
        self._broken: dict[RunId, Exception] = {}
        self._on_closed = on_closed
        self._fenced: Exception | None = None
        self._watchers = RunWatchers(self._table, clock)
        self._sender = TextSender(clock, self._take_text)
        self._acts: dict[type, Callable[[Any], None]] = {
            SendStage: self._start,
            SendOnce: self._tell,
            StartTimer: lambda timer: self._timers.set(timer.run_id, timer.command),
            DropTimers: lambda drop: self._timers.drop(drop.run_id),
            RunChanged: self._changed,
            RetryIn: self._retry_later,
            NotRecorded: self._not_recorded,
            Reply: _take_reply,
            Deposed: self._deposed,
        }

    async def submit(self, request: Request, run_id: RunId | None = None) -> RunId:
        """Start a run; its request is in the log when this returns. A run id that is known changes nothing."""
        return self._ask(lambda token: self._host.submit(token, request, run_id))

    async def run(self, request: Request) -> Envelope:
        """Start a run and wait for its end."""
        run_id = await self.submit(request)
        async for _ in self.watch(run_id):
            pass
        return self._table.envelope(run_id)

    async def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncGenerator[ClientEvent, None]:
        """Yield the events of a run from `after_seq` (exclusive) to its end, and the texts that its stages write.

        Raises the error that keeps the run from continuing, if there is one.
        """
        marks: Marks = {}
        while True:
            news = self._watchers.news(run_id, after_seq, marks)
            for event in news:
                after_seq = max(after_seq, event.seq)
                marks = with_event(marks, event)
                yield event
            if news:
                continue
            if self._table.is_over(run_id):
                return
            if (error := self._broken.get(run_id, self._fenced)) is not None:
                raise error
            await self._watchers.wait(run_id)

    async def cancel(self, run_id: RunId, reason: str = "") -> None:
        """End a run now; the outputs of finished stages are kept. Raises UnknownNameError."""
        self._ask(lambda token: self._host.demand(token, run_id, CancelRequested(reason)))

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer an interrupt of a waiting run. Raises InterruptError."""
        self._ask(lambda token: self._host.answer(token, run_id, interrupt_id, user_id, response))

    async def pause(self, run_id: RunId, reason: str = "") -> None:
        """Pause a run at its next step; answering the checkpoint resumes it. Raises UnknownNameError."""
        self._ask(lambda token: self._host.demand(token, run_id, PauseRequested(reason)))

    async def fork(self, source: RunId, at_seq: int) -> RunId:
        """Start a run with the events of `source` up to `at_seq` (inclusive). Raises UnknownNameError."""
        return self._ask(lambda token: self._host.fork(token, source, at_seq))

    async def resume(self, run_id: RunId) -> None:
        """Resume a run of the log that no process drives: stages in flight are reissued, interrupts stay open.

        Raises UnknownNameError if the log has no such run, and SettingsError if its pipeline has changed.
        """
        events = self._log.events(run_id)
        if not events:
            raise UnknownNameError(f"no run '{run_id}' is in the log", name=run_id, known=[])
        first = events[0].payload
        assert isinstance(first, RunRequested)
        request = first.request
        self._ask(lambda token: self._host.submit(token, request, run_id))

    def envelope(self, run_id: RunId) -> Envelope:
        """Return the current envelope of a run."""
        return self._table.envelope(run_id)

    async def close(self) -> None:
        """Cancel stages, retries and timers, and close the agents; stages that do not stop in time are left."""
        self._timers.close()
        pending = [*self._tasks.values(), *self._retries]
        for task in pending:
            task.cancel()
        if pending:
            _, left = await asyncio.wait(pending, timeout=STOP_PATIENCE_S)
            if left:
                log.error("stage.does_not_stop", extra={"stages": sorted(task.get_name() for task in left)})
        for agents in self._agents.values():
            for agent in agents.values():
                await agent.close()
        self.report_metrics(is_last=True)
        self._on_closed()

    def report_metrics(self, is_last: bool = False) -> None:
        """Pass on what the events of runs have added to the metrics; what cannot be kept is passed on again."""
        self._metrics_due_s = self._clock.monotonic_s() + REPORT_EVERY_S
        report = self._meter.report(*((0, 0) if is_last else (self._table.running, self._table.queued)))
        if report is None or self._keep_metrics is None:
            return
        try:
            self._keep_metrics(report)
        except StateStorageError as error:
            log.info("metrics.not_kept", extra={"reason": error.message})
            return
        self._meter.sent(report)

    def _changed(self, changed: RunChanged) -> None:
        self._watchers.changed(changed.run_id)
        if self._clock.monotonic_s() >= self._metrics_due_s:
            self.report_metrics()

    def _ask(self, ask: Callable[[_Asked], list[Output]]) -> RunId:
        asked = _Asked()
        self._act(ask(asked))
        if self._fenced is not None:
            raise self._fenced
        reply = asked.reply
        assert reply is not None, "every write is made at once"
        if reply.error is not None or reply.run_id is None:
            raise reply.error or AssertionError("a run that was accepted has an id")
        return reply.run_id

    def _act(self, outputs: list[Output]) -> None:
        """Carry out outputs of the host; writes are made at once."""
        for output in outputs:
            if isinstance(output, WriteDue):
                outputs += self._host.write(now_ms=0)  # nothing is resent
            elif (act := self._acts.get(type(output))) is not None:
                act(output)

    def _start(self, send: SendStage) -> None:
        command = send.command
        self._tasks[str(command.key)] = asyncio.create_task(
            self._stage(send.run_id, command), name=f"stage '{command.stage}' ({command.key})"
        )

    def _tell(self, tell: SendOnce) -> None:
        key = str(tell.command.key)
        if isinstance(tell.command, CancelStage):
            task = self._tasks.get(key)
            if task is not None and task is not asyncio.current_task():
                task.cancel()
            return
        future = self._grants.pop(key, None)
        if future is not None and not future.done():
            future.set_result(tell.command.grant)

    async def _take_text(self, text: StageText) -> None:
        self._watchers.show(text)

    def _report(self, key: StageKey, stage: StageName, *payloads: StagePayload, refused: bool = False) -> None:
        """Record a report on an attempt. Raises the error if it could not be recorded."""
        report_id = MessageId(f"{INCARNATION}.{next(self._report_numbers)}")
        report = Report(key, Address(stage), INCARNATION, payloads, refused)
        self._act(self._host.on_report(report_id, report))
        error = self._unrecorded.pop(report_id, None)
        if error is not None:
            raise error

    async def _stage(self, run_id: RunId, command: RunStage) -> None:
        cancelled = asyncio.Event()
        key, stage = command.key, command.stage

        async def report(payload: Progress) -> None:
            self._report(key, stage, payload)

        async def more(asked: BudgetRequested) -> Grant:
            future: asyncio.Future[Grant] = asyncio.get_running_loop().create_future()
            self._grants[str(asked.key)] = future
            self._report(key, stage, asked)
            return future.result() if future.done() else Grant(tokens=0)

        def show(text: str) -> None:
            self._sender.show(key, text)

        try:
            agent = self._agents[self._table.rules_of(run_id).name][stage]
            if not await agent.may_begin(key, INCARNATION):
                self._report(key, stage, refused=True)
                return
            self._report(key, stage, StageStarted(key))
            self._report(key, stage, await agent.run(command, cancelled, report, more, show))
        except asyncio.CancelledError:
            cancelled.set()
            raise
        except Exception as error:
            log.exception("run.broken", extra={"run_id": run_id})
            self._break(run_id, error)
        finally:
            self._sender.over(key)
            self._tasks.pop(str(key), None)

    async def _timer_fired(self, run_id: RunId, timer_id: str) -> None:
        self._act(self._host.on_timer(run_id, timer_id))

    def _retry_later(self, retry: RetryIn) -> None:
        task = asyncio.create_task(self._retry(retry))
        self._retries.add(task)
        task.add_done_callback(self._retries.discard)

    async def _retry(self, retry: RetryIn) -> None:
        await self._clock.sleep(retry.delay_s)
        self._act(self._host.on_retry(retry.number))

    def _not_recorded(self, failure: NotRecorded) -> None:
        if failure.report_id is not None:
            self._unrecorded[failure.report_id] = failure.error
        elif failure.run_id is not None:
            log.error("run.broken", extra={"run_id": failure.run_id}, exc_info=failure.error)
            self._break(failure.run_id, failure.error)

    def _deposed(self, deposed: Deposed) -> None:
        """Give up every run: another owner took the log over, and continues them."""
        self._fenced = deposed.error
        for task in self._tasks.values():
            task.cancel()
        self._watchers.wake_all()

    def _break(self, run_id: RunId, error: Exception) -> None:
        """Store the error that keeps a run from continuing, such as a failed log, and wake its watchers."""
        self._broken[run_id] = error
        self._watchers.wake(run_id)


def _take_reply(reply: Reply) -> None:
    assert isinstance(reply.token, _Asked)
    reply.token.reply = reply
