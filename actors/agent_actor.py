"""One agent as an actor: takes stages from the bus, runs them, reports to the supervisor."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec

from actors.participant import Participant
from actors.ray_transport import RayTransport
from runtime.agent_step import Agent
from runtime.bounds import Grant
from runtime.capability import load_capability
from runtime.clock import SystemClock
from runtime.endpoint import Endpoint
from runtime.ids import Address, StageKey
from runtime.messages import Frame
from runtime.pipeline import AgentConfig
from runtime.supervision.commands import CancelStage, GiveGrant, RunStage
from runtime.supervision.events import BudgetRequested, Payload, StageStarted, ToolCalled

SUPERVISOR = Address("supervisor")
RUN_STAGE = "stage.run"
CANCEL_STAGE = "stage.cancel"
GIVE_GRANT = "stage.grant"
REPORT = "stage.report"
GRANT_TIMEOUT_S = 30.0

log = logging.getLogger(__name__)

REMEMBERED_VISITS = 10_000

_RUN_DECODER = msgspec.msgpack.Decoder(RunStage)
_GRANT_DECODER = msgspec.msgpack.Decoder(GiveGrant)
_CANCEL_DECODER = msgspec.msgpack.Decoder(CancelStage)


class AgentPlace(NamedTuple):
    """Whose address it is; `replica` counts from 1."""

    pipeline: str
    stage: str
    replica: int


def agent_addresses(pipeline: str, stage: str, replicas: int = 1) -> tuple[Address, ...]:
    """Where the agents of a stage are found on the bus, the first replica first; `replicas` is 1 or more."""
    first = f"agent:{pipeline}.{stage}"
    return Address(first), *(Address(f"{first}#{number}") for number in range(2, replicas + 1))


def agent_address(pipeline: str, stage: str, key: StageKey | None = None, replicas: int = 1) -> Address:
    """Where the work under `key` belongs; without a key, the first replica.

    Every attempt of one visit belongs to the same replica, which so knows its earlier attempts; items of a fan-out,
    visits and runs spread over all. The choice is the same in every process.
    """
    addresses = agent_addresses(pipeline, stage, replicas)
    return addresses[0] if key is None else addresses[zlib.crc32(key.effect_key.encode()) % replicas]


def place_of(address: Address) -> AgentPlace | None:
    """What `agent_addresses` made an address of; None for those of others, such as the supervisor."""
    kind, _, name = address.partition(":")
    pipeline, _, stage = name.partition(".")
    stage, _, replica = stage.partition("#")
    return AgentPlace(pipeline, stage, int(replica or 1)) if kind == "agent" else None


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
            RayTransport(),
            clock,
            frames={RUN_STAGE: self._run, CANCEL_STAGE: self._cancel, GIVE_GRANT: self._granted},
        )
        self._agent = Agent(agent_config, load_capability(capability), reasoner, settings, clock, self.endpoint)
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._working: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._grants: dict[str, asyncio.Future[Grant]] = {}
        self.endpoint.bind()

    async def _run(self, frame: Frame) -> None:
        command = _RUN_DECODER.decode(frame.body)
        key = str(command.key)
        task = asyncio.current_task()
        if task is None or key in self._working or not self._is_new(command.key):
            return
        for earlier in range(1, command.key.attempt):
            self._stop(msgspec.structs.replace(command.key, attempt=earlier))
        cancelled = asyncio.Event()
        self._working[key] = (task, cancelled)

        async def report(payload: ToolCalled) -> None:
            await self._report(payload)

        try:
            await self._report(StageStarted(command.key))
            await self._report(await self._agent.run(command, cancelled, report, self._more))
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
        self._stop(_CANCEL_DECODER.decode(frame.body).key)

    def _stop(self, key: StageKey) -> None:
        work = self._working.get(str(key))
        if work is not None:
            work[1].set()
            work[0].cancel()

    async def _more(self, asked: BudgetRequested) -> Grant:
        """Ask the supervisor for more; no answer in time is a no, so that a stage never hangs on its budget."""
        key = str(asked.key)
        future: asyncio.Future[Grant] = asyncio.get_running_loop().create_future()
        self._grants[key] = future
        await self._report(asked)
        try:
            return await asyncio.wait_for(future, GRANT_TIMEOUT_S)
        except TimeoutError:
            log.warning("stage.no_grant", extra={"run_id": asked.key.run_id, "stage": self.endpoint.address})
            return Grant(tokens=0)
        finally:
            self._grants.pop(key, None)

    async def _granted(self, frame: Frame) -> None:
        command = _GRANT_DECODER.decode(frame.body)
        future = self._grants.get(str(command.key))
        if future is not None and not future.done():
            future.set_result(command.grant)

    async def _report(self, payload: Payload) -> None:
        run_id = payload.key.run_id if hasattr(payload, "key") else None
        await self.endpoint.command(SUPERVISOR, REPORT, msgspec.msgpack.encode(payload), run_id)
