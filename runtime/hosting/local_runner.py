"""Whole runs in one process, without Ray: the oracle for the actors, and the product for scripts and tests.

The same `decide`, the same agents and the same run log as on a cluster; stages are asyncio tasks.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Mapping

from runtime.agents.live_text import LiveTexts, Marks, StageText, TextSender, with_event
from runtime.agents.stage_runner import Agent
from runtime.errors import UnknownNameError
from runtime.hosting.admission import Quotas
from runtime.hosting.rate_limits import RateLimiter
from runtime.hosting.run_table import NO_QUOTAS, RunTable
from runtime.hosting.timers import Timers
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.run.bounds import Grant
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.store.run_log import RunLog
from runtime.supervision.commands import CancelStage, ClientEvent, Command, Finish, GiveGrant, RunStage, SetTimer
from runtime.supervision.events import (
    ActorLost,
    BudgetRequested,
    CancelRequested,
    PauseRequested,
    Payload,
    RunRequested,
    StageStarted,
    TimerFired,
    ToolCalled,
)

log = logging.getLogger(__name__)

# Tells this process from another that went on with the same run before.
LIFE = secrets.token_hex(8)


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
    ) -> None:
        self._agents = agents
        self._log = run_log
        self._clock = clock
        self._table = RunTable(pipelines, run_log, clock, quotas, rates)
        self._grants: dict[str, asyncio.Future[Grant]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timers = Timers(clock, self._timer_fired)
        self._changed = asyncio.Condition()
        self._broken: dict[RunId, Exception] = {}
        self._texts = LiveTexts()
        self._sender = TextSender(clock, self._take_text)

    async def submit(self, request: Request) -> RunId:
        """Start a run; its request is in the log when this returns."""
        run_id, commands = self._table.submit(request)
        await self._carry_out(run_id, commands)
        await self._admit()
        return run_id

    async def run(self, request: Request) -> Envelope:
        """Start a run and wait for its end."""
        run_id = await self.submit(request)
        async for _ in self.watch(run_id):
            pass
        return self._table.envelope(run_id)

    async def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncGenerator[ClientEvent, None]:
        """Events of a run from `after_seq` (exclusive) to its end, and what its stages are writing meanwhile.

        Raises what kept the run from going on, if so.
        """
        marks: Marks = {}
        while True:
            for event in self._table.client_events(run_id, after_seq):
                after_seq = event.seq
                yield event
            for event in self._texts.news(run_id, marks, self._table.at_work(run_id)):
                marks = with_event(marks, event)
                yield event
            if self._table.is_over(run_id) and not self._table.client_events(run_id, after_seq):
                return
            if run_id in self._broken:
                raise self._broken[run_id]
            async with self._changed:
                is_news = (
                    self._table.is_over(run_id)
                    or run_id in self._broken
                    or self._texts.news(run_id, marks, self._table.at_work(run_id))
                )
                if not is_news and not self._table.client_events(run_id, after_seq):
                    await self._changed.wait()

    async def cancel(self, run_id: RunId, reason: str = "") -> None:
        """End a run now; what its stages had finished is kept."""
        await self._happened(run_id, CancelRequested(reason))

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer a question of a run that waits. Raises InterruptError."""
        await self._carry_out(run_id, self._table.answer(run_id, interrupt_id, user_id, response))
        await self._admit()

    async def pause(self, run_id: RunId, reason: str = "") -> None:
        """Hold a run at its next step; answering the checkpoint lets it go on."""
        await self._happened(run_id, PauseRequested(reason))

    async def fork(self, source: RunId, at_seq: int) -> RunId:
        """A new run with the past of `source` up to event `at_seq` (inclusive). Raises UnknownNameError."""
        run_id, commands = self._table.fork(source, at_seq)
        await self._carry_out(run_id, commands)
        await self._admit()
        return run_id

    async def resume(self, run_id: RunId) -> None:
        """Go on with a run of the log that nobody drives: what was in flight is issued again, a question stays open.

        Raises UnknownNameError when the log has no such run, and SettingsError when its pipeline has changed.
        """
        events = self._log.events(run_id)
        if not events:
            raise UnknownNameError(f"no run '{run_id}' is in the log", name=run_id, known=[])
        first = events[0].payload
        assert isinstance(first, RunRequested)
        _, commands = self._table.submit(first.request, run_id)
        await self._carry_out(run_id, commands)
        await self._admit()

    def envelope(self, run_id: RunId) -> Envelope:
        """The envelope of a run as it stands."""
        return self._table.envelope(run_id)

    async def close(self) -> None:
        """Stop what is still running."""
        self._timers.close()
        pending = list(self._tasks.values())
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for agents in self._agents.values():
            for agent in agents.values():
                await agent.close()

    async def _happened(self, run_id: RunId, payload: Payload) -> None:
        await self._carry_out(run_id, self._table.handle(run_id, payload))
        await self._admit()

    async def _admit(self) -> None:
        for run_id, commands in self._table.admit():
            await self._carry_out(run_id, commands)

    async def _carry_out(self, run_id: RunId, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, RunStage):
                self._tasks[str(command.key)] = asyncio.create_task(self._stage(run_id, command))
            elif isinstance(command, CancelStage):
                task = self._tasks.get(str(command.key))
                if task is not None and task is not asyncio.current_task():
                    task.cancel()
            elif isinstance(command, GiveGrant):
                future = self._grants.pop(str(command.key), None)
                if future is not None and not future.done():
                    future.set_result(command.grant)
            elif isinstance(command, SetTimer):
                self._timers.set(run_id, command)
            elif isinstance(command, Finish):
                self._timers.drop(run_id)
        self._texts.keep(run_id, self._table.at_work(run_id))
        async with self._changed:
            self._changed.notify_all()

    async def _take_text(self, text: StageText) -> None:
        stage = self._table.at_work(text.key.run_id).get(str(text.key))
        if stage is not None and self._texts.show(stage, text, self._clock.now_ms()):
            async with self._changed:
                self._changed.notify_all()

    async def _stage(self, run_id: RunId, command: RunStage) -> None:
        cancelled = asyncio.Event()

        async def report(called: ToolCalled) -> None:
            await self._happened(run_id, called)

        async def more(asked: BudgetRequested) -> Grant:
            future: asyncio.Future[Grant] = asyncio.get_running_loop().create_future()
            self._grants[str(asked.key)] = future
            await self._happened(run_id, asked)
            return future.result() if future.done() else Grant(tokens=0)

        def show(text: str) -> None:
            self._sender.show(command.key, text)

        try:
            agent = self._agents[self._table.rules_of(run_id).name][command.stage]
            if not await agent.may_begin(command.key, LIFE):
                await self._happened(run_id, ActorLost(command.stage, (command.key,)))
                return
            await self._happened(run_id, StageStarted(command.key))
            await self._happened(run_id, await agent.run(command, cancelled, report, more, show))
        except asyncio.CancelledError:
            cancelled.set()
            raise
        except Exception as error:
            log.exception("run.broken", extra={"run_id": run_id})
            await self._break(run_id, error)
        finally:
            self._sender.over(command.key)
            self._tasks.pop(str(command.key), None)

    async def _timer_fired(self, run_id: RunId, timer_id: str) -> None:
        try:
            await self._happened(run_id, TimerFired(timer_id))
        except Exception as error:
            log.exception("run.broken", extra={"run_id": run_id})
            await self._break(run_id, error)

    async def _break(self, run_id: RunId, error: Exception) -> None:
        """The run cannot go on, as when its log takes no more: whoever watches it is told."""
        self._broken[run_id] = error
        async with self._changed:
            self._changed.notify_all()
