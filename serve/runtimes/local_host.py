"""Drives the runs of one pipeline in this process, with the calls that a system of actors has."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from actors.log_owner import LogOwner
from runtime.codebase.index.progress import Progress
from runtime.codebase.index.service import IndexService
from runtime.hosting.local_runner import LocalRunner
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.settings import Settings
from runtime.supervision.commands import ClientEvent
from serve.wiring import local_runner


class LocalHost:
    """Drives the runs of a runner over an index, which others may share."""

    def __init__(self, runner: LocalRunner, index: IndexService) -> None:
        self.runner = runner
        self._index = index

    @classmethod
    def open(
        cls, settings: Settings, pipeline: PipelineConfig, index: IndexService, owner: LogOwner | None = None
    ) -> LocalHost:
        """Create a host for a pipeline, on the log of `owner` or on one of its own."""
        return cls(local_runner(settings, pipeline, index, owner), index)

    async def submit(self, request: Request, run_id: RunId | None = None) -> RunId:
        return await self.runner.submit(request, run_id)

    def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncGenerator[ClientEvent, None]:
        return self.runner.watch(run_id, after_seq)

    async def envelope(self, run_id: RunId) -> Envelope:
        return self.runner.envelope(run_id)

    async def cancel(self, run_id: RunId, reason: str = "") -> None:
        await self.runner.cancel(run_id, reason)

    async def pause(self, run_id: RunId, reason: str = "") -> None:
        await self.runner.pause(run_id, reason)

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        await self.runner.answer(run_id, interrupt_id, user_id, response)

    async def refresh_index(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        return await self._index.refresh(root, timeout_s)

    async def index_progress(self, root: str) -> Progress:
        return self._index.progress(root)

    async def close(self) -> None:
        """End the stages of its runs; the runs stay in the log as far as they are."""
        await self.runner.close()
