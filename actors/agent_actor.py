"""One agent as an actor: takes stages from the bus, runs them, reports to the supervisor."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

import msgspec

from actors.participant import Participant
from actors.ray_transport import RayTransport
from runtime.agent_step import Agent
from runtime.capability import load_capability
from runtime.clock import SystemClock
from runtime.endpoint import Endpoint
from runtime.ids import Address, StageKey
from runtime.messages import Frame
from runtime.pipeline import AgentConfig
from runtime.supervision.commands import CancelStage, RunStage
from runtime.supervision.events import Payload, StageStarted, ToolCalled

SUPERVISOR = Address("supervisor")
RUN_STAGE = "stage.run"
CANCEL_STAGE = "stage.cancel"
REPORT = "stage.report"

REMEMBERED_VISITS = 10_000

_RUN_DECODER = msgspec.msgpack.Decoder(RunStage)
_CANCEL_DECODER = msgspec.msgpack.Decoder(CancelStage)


def agent_address(pipeline: str, stage: str) -> Address:
    """Where the agent of a stage is found on the bus."""
    return Address(f"agent:{pipeline}.{stage}")


class AgentActor(Participant):
    """Hosts the agent of one stage of one pipeline."""

    def __init__(
        self, pipeline: str, config: dict[str, Any], capability: str, reasoner: str, settings: dict[str, Any]
    ) -> None:
        super().__init__()
        clock = SystemClock()
        agent_config = AgentConfig.model_validate(config)
        self.endpoint = Endpoint(
            agent_address(pipeline, agent_config.name),
            RayTransport(),
            clock,
            frames={RUN_STAGE: self._run, CANCEL_STAGE: self._cancel},
        )
        self._agent = Agent(agent_config, load_capability(capability), reasoner, settings, clock, self.endpoint)
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._working: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self.endpoint.bind()

    async def _run(self, frame: Frame) -> None:
        command = _RUN_DECODER.decode(frame.body)
        key = str(command.key)
        task = asyncio.current_task()
        if task is None or key in self._working or not self._is_new(command.key):
            return
        cancelled = asyncio.Event()
        self._working[key] = (task, cancelled)

        async def report(payload: ToolCalled) -> None:
            await self._report(payload)

        try:
            await self._report(StageStarted(command.key))
            await self._report(await self._agent.run(command, cancelled, report))
        except asyncio.CancelledError:
            cancelled.set()
            raise
        finally:
            self._working.pop(key, None)

    def _is_new(self, key: StageKey) -> bool:
        """False for an attempt that was taken up before or issued again since, as happens to frames under way when a
        process dies."""
        before = self._newest.pop(key.effect_key, 0)
        self._newest[key.effect_key] = max(key.attempt, before)
        if len(self._newest) > REMEMBERED_VISITS:
            self._newest.popitem(last=False)
        return key.attempt > before

    async def _cancel(self, frame: Frame) -> None:
        command = _CANCEL_DECODER.decode(frame.body)
        work = self._working.get(str(command.key))
        if work is not None:
            work[1].set()
            work[0].cancel()

    async def _report(self, payload: Payload) -> None:
        run_id = payload.key.run_id if hasattr(payload, "key") else None
        await self.endpoint.command(SUPERVISOR, REPORT, msgspec.msgpack.encode(payload), run_id)
