"""Hosts one agent as an actor: takes stages from the bus, runs them, reports to the supervisor.

A stage that is still running five seconds after its cancellation costs this process: it exits, Ray starts another, and
the supervisor issues the other stages of the process again.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any

import msgspec

from actors.addresses import CANCEL_STAGE, GIVE_GRANT, RUN_STAGE
from actors.participant import Participant
from actors.ray_transport import PROCESS_ID
from actors.run_owners import RunOwners
from runtime.agents.capability import load_capability
from runtime.agents.live_text import STAGE_TEXT, StageText, TextSender
from runtime.agents.reporter import RECORDED, Progress, Reporter, recorded_reports
from runtime.agents.stage_runner import Agent
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import Frame
from runtime.bus.outbox import NewestAttempts
from runtime.bus.reliable_sender import ReliableSender
from runtime.llm.client_opening import open_models
from runtime.pipeline.config import AgentConfig
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address, RunId, StageKey
from runtime.processes.stop_watchdog import STOP_PATIENCE_S, StopWatchdog
from runtime.run.bounds import Grant
from runtime.supervision.commands import CancelStage, GiveGrant, RunStage
from runtime.supervision.events import BudgetRequested, StageStarted

ASK_AGAIN_S = 5.0
GRANT_TIMEOUT_S = 30.0

log = logging.getLogger(__name__)

REMEMBERED_VISITS = 10_000
REMEMBERED_RUNS = 10_000
STUCK_EXIT_STATUS = 70

_RUN_DECODER = msgspec.msgpack.Decoder(RunStage)
_GRANT_DECODER = msgspec.msgpack.Decoder(GiveGrant)
_CANCEL_DECODER = msgspec.msgpack.Decoder(CancelStage)


class AgentActor(Participant):
    """Hosts the agent of one stage of one pipeline, or one replica of it."""

    def __init__(
        self,
        address: Address,
        config: dict[str, Any],
        capability: str,
        reasoner: str,
        settings: dict[str, Any],
    ) -> None:
        super().__init__()
        clock = SystemClock()
        agent_config = AgentConfig.model_validate(config)
        self.endpoint = Endpoint(
            address,
            self.transport,
            clock,
            frames={
                RUN_STAGE: self._run,
                CANCEL_STAGE: self._cancel,
                GIVE_GRANT: self._granted,
                RECORDED: self._recorded,
            },
        )
        self._sender = sender = ReliableSender(self.endpoint, clock)
        # What the former supervisor had not recorded died with it.
        self._owners = RunOwners(REMEMBERED_RUNS, on_successor=sender.lose)
        self._reporter = Reporter(sender, clock, address, PROCESS_ID, self._owners.address_of)
        self._texts = TextSender(clock, self._send_text)
        loaded = load_capability(capability, settings.get("capability_names", {}).get(capability))
        models, prompts = open_models(settings, loaded.id, clock, has_cluster=True, queries=self.endpoint)
        self._watchdog = StopWatchdog(self._exit_stuck)
        self._agent = Agent(
            *(agent_config, loaded, reasoner, settings, clock, self.endpoint),
            models=models,
            prompts=prompts,
            watchdog=self._watchdog,
        )
        self._newest = NewestAttempts(REMEMBERED_VISITS)
        self._working: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._grants: dict[str, asyncio.Future[Grant]] = {}
        self.endpoint.bind()

    async def rebind(self) -> None:
        """Register with a bus that has replaced another, and resend the reports that the former one may have held."""
        await super().rebind()
        self._sender.lose()

    async def model_stats(self) -> tuple[str, bytes | None]:
        """Return the id of this agent's process, and the encoded counts of its model calls, if it makes any."""
        stats = self._agent.model_stats()
        return PROCESS_ID, None if stats is None else msgspec.msgpack.encode(stats)

    async def _run(self, frame: Frame) -> None:
        if not self._is_from_current_owner(frame):
            return
        command = _RUN_DECODER.decode(frame.body)
        key = str(command.key)
        task = asyncio.current_task()
        # Frames in flight when a process dies may arrive twice, or after a newer attempt has begun.
        if task is None or key in self._working or self._newest.admit(command.key) != "begin":
            return
        for earlier in range(1, command.key.attempt):
            self._stop(msgspec.structs.replace(command.key, attempt=earlier))
        cancelled = asyncio.Event()
        self._working[key] = (task, cancelled)

        async def report(payload: Progress) -> None:
            self._reporter.report(payload)

        def show(text: str) -> None:
            self._texts.show(command.key, text)

        try:
            if not await self._agent.may_begin(command.key, PROCESS_ID):
                self._reporter.refuse(command.key)
                return
            self._reporter.report(StageStarted(command.key))
            self._reporter.report(await self._agent.run(command, cancelled, report, self._request_grant, show))
        except asyncio.CancelledError:
            cancelled.set()
            raise
        finally:
            self._texts.over(command.key)
            self._working.pop(key, None)
            self._watchdog.ended(key)

    async def _send_text(self, text: StageText) -> None:
        run_id = text.key.run_id
        supervisor = self._owners.address_of(run_id)
        await self.endpoint.command(supervisor, STAGE_TEXT, msgspec.msgpack.encode(text), run_id)

    def _is_from_current_owner(self, frame: Frame) -> bool:
        """Return False for frames of a supervisor that another one has replaced."""
        header = frame.header
        if self._owners.admit(header.run_id or RunId(""), header.incarnation, header.source):
            return True
        log.info("stage.old_owner", extra={"run_id": header.run_id, "epoch": header.incarnation})
        return False

    async def _cancel(self, frame: Frame) -> None:
        key = _CANCEL_DECODER.decode(frame.body).key
        self._newest.admit(key)  # otherwise the attempt would still begin, if the cancellation overtook it
        self._stop(key)

    def _stop(self, key: StageKey) -> None:
        work = self._working.get(str(key))
        if work is not None:
            self._watchdog.told(str(key))
            work[1].set()
            work[0].cancel()

    def _exit_stuck(self, work: list[str]) -> None:
        """End this process at once, without its exit handlers: they would wait for what does not stop.

        Besides stages, these may be tools that run in threads.
        """
        fields = {"address": self.endpoint.address, "work": work, "patience_s": STOP_PATIENCE_S}
        log.critical("agent.does_not_stop", extra=fields)
        os._exit(STUCK_EXIT_STATUS)

    async def _request_grant(self, asked: BudgetRequested) -> Grant:
        """Request a further grant from the supervisor; no answer in time is a refusal, so that a stage never hangs.

        An answer may be lost, so the request is repeated; a grant given twice is released with the rest.
        """
        key = str(asked.key)
        future: asyncio.Future[Grant] = asyncio.get_running_loop().create_future()
        self._grants[key] = future
        try:
            for _ in range(round(GRANT_TIMEOUT_S / ASK_AGAIN_S)):
                self._reporter.report(asked)
                answered, _ = await asyncio.wait({future}, timeout=ASK_AGAIN_S)
                if answered:
                    return future.result()
            log.warning("stage.no_grant", extra={"run_id": asked.key.run_id, "stage": self.endpoint.address})
            return Grant(tokens=0)
        finally:
            self._grants.pop(key, None)

    async def _granted(self, frame: Frame) -> None:
        command = _GRANT_DECODER.decode(frame.body)
        future = self._grants.get(str(command.key))
        if future is not None and not future.done():
            future.set_result(command.grant)

    async def _recorded(self, frame: Frame) -> None:
        for report_id in recorded_reports(frame):
            self._reporter.recorded(report_id)
