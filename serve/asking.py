"""Asking, whoever does the work: one protocol, and the runtimes that stand behind it.

A runtime takes an `Ask`, shows events while the run goes on, and gives the answer document.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from runtime.codebase.index_service import IndexService
from runtime.envelope import Envelope, Request
from runtime.ids import RunId
from runtime.local_runner import LocalRunner
from runtime.pipeline import PipelineConfig
from runtime.settings import Settings
from runtime.supervision.commands import ClientEvent
from serve.documents import Ask, document_of
from serve.wiring import index_service, local_runner

OnEvent = Callable[[ClientEvent], None]
OnIndexing = Callable[[int, int], None]

PROGRESS_EVERY_S = 0.1


def ignore_event(_event: ClientEvent) -> None:
    """For callers that want only the document."""


def ignore_indexing(_done: int, _total: int) -> None:
    """For callers that show no progress."""


class AskRuntime(Protocol):
    """Answers questions until it is closed."""

    async def ask(
        self, ask: Ask, on_event: OnEvent = ignore_event, on_indexing: OnIndexing = ignore_indexing
    ) -> dict[str, Any]:
        """The answer document. Raises JeevesError for what could not be started."""

    async def close(self) -> None:
        """Give back what the runtime holds."""


class RunHost(Protocol):
    """What drives runs: the local runner, or a system of actors."""

    async def submit(self, request: Request) -> RunId:
        """Start a run."""

    def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncIterator[ClientEvent]:
        """Its events to the end."""

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End it now."""


def request_of(ask: Ask, repository: dict[str, Any]) -> Request:
    """The kernel's request for a question about a repository whose index is up to date."""
    return Request(
        pipeline=ask.pipeline,
        raw_input=ask.question,
        user_id=ask.user_id,
        session_id=ask.session_id,
        metadata={"repo": ask.repo, "repository": repository},
        limits=ask.limits,
        deadline_s=ask.deadline_s,
    )


async def follow(host: RunHost, ask: Ask, repository: dict[str, Any], on_event: OnEvent) -> RunId:
    """Submit a question and see it to its end; an asker that goes away cancels the run."""
    run_id = await host.submit(request_of(ask, repository))
    try:
        async for event in host.watch(run_id):
            on_event(event)
    except asyncio.CancelledError:
        await asyncio.shield(host.cancel(run_id, "the caller went away"))
        raise
    return run_id


async def prepared(
    refresh: Awaitable[dict[str, Any]], progress: Callable[[], Awaitable[tuple[int, int]]], on_indexing: OnIndexing
) -> dict[str, Any]:
    """What a refresh of the index gives, with its progress reported while it runs."""
    refreshing = asyncio.ensure_future(refresh)
    while not refreshing.done():
        done, total = await progress()
        if total:
            on_indexing(done, total)
        await asyncio.wait({refreshing}, timeout=PROGRESS_EVERY_S)
    return refreshing.result()


class LocalRuntime:
    """Answers in this process, without Ray."""

    def __init__(self, settings: Settings, pipeline: PipelineConfig) -> None:
        self._index: IndexService = index_service(settings)
        self._runner: LocalRunner = local_runner(settings, pipeline, self._index)
        self._reasoner = settings.reasoner

    async def ask(
        self, ask: Ask, on_event: OnEvent = ignore_event, on_indexing: OnIndexing = ignore_indexing
    ) -> dict[str, Any]:
        async def progress() -> tuple[int, int]:
            state = self._index.progress(ask.repo)
            return state.done, state.total

        repository = await prepared(self._index.refresh(ask.repo), progress, on_indexing)
        run_id = await follow(self._runner, ask, repository, on_event)
        envelope: Envelope = self._runner.envelope(run_id)
        return document_of(ask, envelope, self._reasoner)

    async def close(self) -> None:
        await self._runner.close()
