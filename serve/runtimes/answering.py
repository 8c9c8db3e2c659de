"""Defines the protocol for asking a question, and how a host of runs is asked.

A runtime takes an `Ask`, reports events during the run, and returns the answer document.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol

import msgspec

from runtime.codebase.index.progress import Progress
from runtime.errors import InterruptError, RepositoryError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.supervision.commands import ClientEvent
from serve.answer_document import Ask, interrupt_document

log = logging.getLogger(__name__)

OnEvent = Callable[[ClientEvent], None]
OnIndexing = Callable[[int, int], None]
OnWaiting = Callable[[str], None]
ProgressOf = Callable[[], Awaitable[Progress]]
# Presents the question of a run, in the form of `interrupt_document`, to a person; None leaves the run waiting.
OnInterrupt = Callable[[dict[str, Any]], Awaitable[InterruptResponse | None]]

PROGRESS_EVERY_S = 0.1
SUBMIT_PATIENCE_S = 2.0
GONE = "the caller went away"
LEAST_DEADLINE_S = 0.001


def ignore_event(_event: ClientEvent) -> None:
    """Ignore events, for callers that want only the document."""


def ignore_indexing(_done: int, _total: int) -> None:
    """Ignore indexing progress, for callers that do not show it."""


def ignore_waiting(_sentence: str) -> None:
    """Ignore that a lock is waited for, for callers that show nothing."""


async def leave_waiting(_interrupt: dict[str, Any]) -> InterruptResponse | None:
    """Leave the run waiting until its question is answered elsewhere, for callers that have nobody to ask."""
    return None


class AskCallbacks(NamedTuple):
    """Holds the callbacks of a question; by default, events are ignored and interrupts are left waiting."""

    on_event: OnEvent = ignore_event
    on_indexing: OnIndexing = ignore_indexing
    on_interrupt: OnInterrupt = leave_waiting
    on_waiting: OnWaiting = ignore_waiting


UNHEARD = AskCallbacks()


class AskRuntime(Protocol):
    """Answers questions until it is closed."""

    async def ask(self, ask: Ask, callbacks: AskCallbacks = UNHEARD) -> dict[str, Any]:
        """Return the answer document; for a run that was left waiting, it has `interrupt`.

        `on_interrupt` is called only if `ask.wait` is set. Raises JeevesError if the run could not be started.
        """

    async def close(self) -> None:
        """Release the resources of the runtime."""


class RunHost(Protocol):
    """Drives runs: the local runner, or a system of actors."""

    async def submit(self, request: Request) -> RunId:
        """Start a run."""

    def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncGenerator[ClientEvent, None]:
        """Yield the events of a run to its end."""

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now."""

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer the question of a run."""


def request_of(ask: Ask, repository: dict[str, Any] | None) -> Request:
    """Return the kernel's request for a question; `repository`: of an index that is up to date, None if none is yet."""
    metadata: dict[str, Any] = {"repo": ask.repo, **({"explain": True} if ask.explain else {})}
    if repository is not None:
        metadata["repository"] = repository
    told = (("mode", ask.mode), ("product", ask.product), ("repo_name", ask.repo_name), ("task", ask.task))
    metadata |= {name: given for name, given in told if given is not None}
    return Request(
        pipeline=ask.pipeline,
        raw_input=ask.question,
        user_id=ask.user_id,
        session_id=ask.session_id,
        metadata={**metadata, "may_ask": True} if ask.clarify else metadata,
        limits=ask.limits,
        deadline_s=ask.deadline_s,
        wait=ask.wait,
        priority=None if ask.priority == "normal" else ask.priority,
        durable=ask.durable,
        run_mode=ask.run_mode,
    )


EnvelopeOf = Callable[[RunId], Awaitable[Envelope]]


async def follow(
    host: RunHost,
    ask: Ask,
    repository: dict[str, Any] | None,
    envelope_of: EnvelopeOf,
    callbacks: AskCallbacks,
) -> Envelope:
    """Submit a question and follow its run until it ends or is left waiting; cancellation cancels the run."""
    run_id = await _submitted(host, request_of(ask, repository))
    try:
        async with aclosing(host.watch(run_id)) as events:
            async for event in events:
                callbacks.on_event(event)
                if event.type != "interrupt.raised" or not ask.wait or event.data["kind"] == "checkpoint":
                    continue  # a paused run is resumed by the one who paused it
                if not await _put(host, await envelope_of(run_id), str(event.data["id"]), callbacks.on_interrupt):
                    break
    except asyncio.CancelledError:
        await asyncio.shield(host.cancel(run_id, GONE))
        raise
    return await envelope_of(run_id)


async def _submitted(host: RunHost, request: Request) -> RunId:
    """Return the id of a new run. If the caller goes away meanwhile, the run is cancelled as soon as it has one."""
    submitting = asyncio.ensure_future(host.submit(request))
    try:
        return await asyncio.shield(submitting)
    except asyncio.CancelledError:
        await asyncio.wait({submitting}, timeout=SUBMIT_PATIENCE_S)
        if submitting.done() and not submitting.cancelled() and submitting.exception() is None:
            await host.cancel(submitting.result(), GONE)
        else:
            submitting.cancel()
        raise


async def _put(host: RunHost, envelope: Envelope, interrupt_id: str, on_interrupt: OnInterrupt) -> bool:
    """Present a question that is still open and submit the answer; return False if the run is left waiting."""
    interrupt = envelope.interrupt
    if interrupt is None or interrupt.id != interrupt_id or envelope.lifecycle != "waiting":
        return True
    response = await on_interrupt({**interrupt_document(interrupt), "run_id": envelope.run_id})
    if response is None:
        return False
    try:
        await host.answer(envelope.run_id, interrupt.id, envelope.request.user_id, response)
    except InterruptError as error:
        # It was answered elsewhere, or has expired: the events show how the run continues.
        log.warning("interrupt.answer_refused", extra={"run_id": envelope.run_id, "reason": error.message})
    return True


async def prepared(refresh: Awaitable[dict[str, Any]], progress: ProgressOf, callbacks: AskCallbacks) -> dict[str, Any]:
    """Return the result of an index refresh, reporting its progress meanwhile, and once each lock it waits for."""
    refreshing, told, total = asyncio.ensure_future(refresh), "", 0
    try:
        while not refreshing.done():
            state = await progress()
            if state.waiting and state.waiting != told:
                told = state.waiting
                callbacks.on_waiting(told)
            if state.total:
                total = state.total
                callbacks.on_indexing(state.done, total)
            await asyncio.wait({refreshing}, timeout=PROGRESS_EVERY_S)
    except BaseException:
        refreshing.cancel()
        await asyncio.wait({refreshing})
        raise
    repository = refreshing.result()
    if total:
        # It ended between two looks: whoever shows a bar would show it to the end of the run.
        callbacks.on_indexing(total, total)
    return repository


async def prepared_within(
    ask: Ask,
    refresh: Callable[[str, float | None], Awaitable[dict[str, Any]]],
    progress: ProgressOf,
    callbacks: AskCallbacks,
) -> tuple[Ask, dict[str, Any] | None]:
    """Return the refreshed repository of a question, and the question with the rest of its deadline.

    If the deadline passes meanwhile, there is no repository, and the run ends by its deadline as soon as it has begun.
    """
    if ask.deadline_s is None:
        return ask, await prepared(refresh(ask.repo, None), progress, callbacks)
    started_s = time.monotonic()
    try:
        repository = await prepared(refresh(ask.repo, ask.deadline_s), progress, callbacks)
    except RepositoryError as error:
        if not error.values.get("timed_out") or error.values["timeout_s"] < ask.deadline_s:
            raise
        repository = None
    left_s = max(ask.deadline_s - (time.monotonic() - started_s), LEAST_DEADLINE_S)
    return msgspec.structs.replace(ask, deadline_s=left_s), repository
