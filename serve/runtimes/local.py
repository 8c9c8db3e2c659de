"""Answers questions in this process, without Ray."""

from __future__ import annotations

from typing import Any

from runtime.codebase.index.progress import Progress
from runtime.codebase.index.service import IndexService
from runtime.hosting.local_runner import LocalRunner
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.settings import Settings
from serve.answer_document import Ask, document_of
from serve.runtimes.answering import UNHEARD, AskCallbacks, follow, prepared_within
from serve.wiring import index_service, local_runner


class LocalRuntime:
    """Answers in this process, without Ray."""

    def __init__(self, settings: Settings, pipeline: PipelineConfig) -> None:
        self._index: IndexService = index_service(settings)
        self._index.prepare()
        self._runner: LocalRunner = local_runner(settings, pipeline, self._index)
        self._reasoner = settings.reasoner

    async def ask(self, ask: Ask, callbacks: AskCallbacks = UNHEARD) -> dict[str, Any]:
        async def progress() -> Progress:
            return self._index.progress(ask.repo)

        within, repository = await prepared_within(ask, self._index.refresh, progress, callbacks)
        envelope = await follow(self._runner, within, repository, self._envelope, callbacks)
        return document_of(ask, envelope, self._reasoner)

    async def close(self) -> None:
        await self._runner.close()
        self._index.close()

    async def _envelope(self, run_id: RunId) -> Envelope:
        return self._runner.envelope(run_id)
