"""Drives runs in the system that `jeeves up` keeps, over its socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from runtime.errors import NotPermittedError, RunStateError, UnknownNameError
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.settings import Settings
from runtime.supervision.commands import ClientEvent
from serve.answer_document import asked_in, document_of
from serve.library.backend import Asked, Started
from serve.library.questions import ask_of
from serve.library.stored_views import StoredViews
from serve.runtimes.warm import WarmRuntime

# The run of somebody else is as good as none: the log has it, and does not show it.
_NOT_DRIVEN = (UnknownNameError, NotPermittedError)


class WarmBackend(StoredViews):
    """Drives the runs of the user that this process belongs to; those of other systems can be read."""

    def __init__(self, settings: Settings, user_id: str, warm: WarmRuntime) -> None:
        super().__init__(settings, user_id)
        self._warm = warm

    async def start(self, asked: Asked, key: str | None) -> Started:
        ask = ask_of(asked, self._settings, self._user_id)
        await self._sessions.used_by(asked)
        run_id = RunId(await self._warm.start(ask, key))
        return Started(run_id, self.events(run_id, 0, asked.outputs))

    def events(self, run_id: RunId, after_seq: int = 0, outputs: bool = False) -> AsyncGenerator[ClientEvent, None]:
        return self._with_outputs(run_id, self._events(run_id, after_seq), outputs)

    async def _events(self, run_id: RunId, after_seq: int) -> AsyncGenerator[ClientEvent, None]:
        await self._stored.check_event(run_id, after_seq)
        waiting: asyncio.Queue[ClientEvent | None] = asyncio.Queue()
        watching = asyncio.ensure_future(self._warm.watch(run_id, after_seq, waiting.put_nowait))
        watching.add_done_callback(lambda _: waiting.put_nowait(None))
        try:
            while (event := await waiting.get()) is not None:
                yield event
            try:
                watching.result()
            except _NOT_DRIVEN:
                for event in await self._stored.events(run_id, after_seq):
                    yield event
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def document(self, run_id: RunId) -> dict[str, Any]:
        try:
            document = await self._warm.document(run_id)
        except _NOT_DRIVEN:
            envelope = await self._stored.envelope(run_id)
            document = document_of(asked_in(envelope.request), envelope, self._settings.reasoner)
        if document["terminal_reason"] is None and "interrupt" not in document:
            raise RunStateError(f"run {run_id} is not over: it has no answer yet", run_id=run_id)
        return document

    async def cancel(self, run_id: RunId, reason: str) -> dict[str, Any]:
        await self._check_driven(run_id)
        return await self._warm.cancel(run_id, reason)

    async def pause(self, run_id: RunId, reason: str) -> dict[str, Any]:
        await self._check_driven(run_id)
        return await self._warm.pause(run_id, reason)

    async def answer(self, run_id: RunId, interrupt_id: str | None, response: InterruptResponse) -> None:
        await self._check_driven(run_id)
        await self._warm.answer(run_id, interrupt_id, response)

    async def close(self) -> None:
        await self._warm.close()

    async def _check_driven(self, run_id: RunId) -> None:
        """Raise RunStateError for a run that another system drove, and UnknownNameError for one that nobody knows."""
        try:
            await self._warm.document(run_id)
        except _NOT_DRIVEN:
            await self._stored.envelope(run_id)
            problem = f"run {run_id} is not driven here: it can be read here, and changed where it is driven"
            raise RunStateError(problem, run_id=run_id) from None
