"""Drives runs on hosts: local runners of this process, or the actors of an attached cluster."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Protocol

from runtime.codebase.index.progress import Progress
from runtime.errors import NotPermittedError, RunStateError, UnknownNameError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.settings import Settings
from runtime.supervision.commands import ClientEvent
from serve.answer_document import asked_in, document_of
from serve.library.backend import Asked, Started
from serve.library.questions import ask_of
from serve.library.stored_views import StoredViews
from serve.run_control import answer_run, cancel_run, check_response, open_question, pause_run, permitted_run
from serve.runtimes.starting import start_run


class RunHost(Protocol):
    """Drives runs: a local host, or a system of actors."""

    async def submit(self, request: Request, run_id: RunId | None = None) -> RunId:
        """Start a run; an id that is known changes nothing."""

    def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncGenerator[ClientEvent, None]:
        """Yield the events of a run to its end."""

    async def envelope(self, run_id: RunId) -> Envelope:
        """Return the current envelope of a run. Raises UnknownNameError."""

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now."""

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Pause a run at its next step."""

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer the question of a run."""

    async def refresh_index(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        """Bring a repository's index up to date."""

    async def index_progress(self, root: str) -> Progress:
        """Return how far the refresh of an index is."""


class Hosts(Protocol):
    """Opens the hosts of one backend."""

    async def of_pipeline(self, pipeline: str) -> RunHost:
        """Return the host for new runs of a pipeline."""

    def opened(self) -> list[RunHost]:
        """Return the hosts that may drive a run."""

    async def take_over(self, run_id: RunId, pipeline: str) -> RunHost:
        """Continue a run that no process drives from its log. Raises RunStateError where that is not done."""

    async def close(self) -> None:
        """Close the hosts."""


class HostedBackend(StoredViews):
    """Drives the runs of one user on hosts."""

    def __init__(self, settings: Settings, user_id: str, hosts: Hosts) -> None:
        super().__init__(settings, user_id)
        self._hosts = hosts

    async def start(self, asked: Asked, key: str | None) -> Started:
        ask = ask_of(asked, self._settings, self._user_id)
        await self._sessions.used_by(asked)
        host = await self._hosts.of_pipeline(ask.pipeline)
        run_id = await start_run(host, ask, key)
        return Started(run_id, self._with_outputs(run_id, host.watch(run_id), asked.outputs))

    def events(self, run_id: RunId, after_seq: int = 0, outputs: bool = False) -> AsyncGenerator[ClientEvent, None]:
        return self._with_outputs(run_id, self._events(run_id, after_seq), outputs)

    async def _events(self, run_id: RunId, after_seq: int) -> AsyncGenerator[ClientEvent, None]:
        await self._stored.check_event(run_id, after_seq)
        host = await self._driver(run_id)
        if host is None:
            for event in await self._stored.events(run_id, after_seq):
                yield event
            return
        async with aclosing(host.watch(run_id, after_seq)) as events:
            async for event in events:
                yield event

    async def document(self, run_id: RunId) -> dict[str, Any]:
        host = await self._driver(run_id)
        envelope = await (self._stored.envelope(run_id) if host is None else host.envelope(run_id))
        if envelope.lifecycle not in ("terminated", "waiting"):
            raise RunStateError(f"run {run_id} is {envelope.lifecycle}: it has no answer yet", run_id=run_id)
        return self._told(envelope)

    async def cancel(self, run_id: RunId, reason: str) -> dict[str, Any]:
        return self._told(await cancel_run(await self._driving(run_id), run_id, self._user_id, reason))

    async def pause(self, run_id: RunId, reason: str) -> dict[str, Any]:
        return self._told(await pause_run(await self._driving(run_id), run_id, self._user_id, reason))

    async def answer(self, run_id: RunId, interrupt_id: str | None, response: InterruptResponse) -> None:
        host = await self._driver(run_id)
        if host is None:
            envelope = await self._stored.envelope(run_id)
            # Everything that could refuse the answer is checked before the run goes on.
            needs_answer = envelope.lifecycle in ("terminated", "waiting") or interrupt_id is not None
            if needs_answer or response != InterruptResponse():
                check_response(open_question(envelope, interrupt_id), response)
            host = await self._hosts.take_over(run_id, envelope.request.pipeline)
            if not needs_answer:
                return
        await answer_run(host, run_id, interrupt_id, self._user_id, response)

    async def close(self) -> None:
        await self._hosts.close()

    async def _driver(self, run_id: RunId) -> RunHost | None:
        """Return the host that drives a run of the user; None if none of them does."""
        for host in self._hosts.opened():
            try:
                await permitted_run(host, run_id, self._user_id)
            except (UnknownNameError, NotPermittedError):
                continue  # another host may drive it; that of somebody else is as good as none
            return host
        return None

    async def _driving(self, run_id: RunId) -> RunHost:
        """Return the host that drives a run. Raises RunStateError if it can be read only, and UnknownNameError."""
        host = await self._driver(run_id)
        if host is None:
            envelope = await self._stored.envelope(run_id)
            raise RunStateError(
                f"run {run_id} is {envelope.lifecycle} and not driven here: it can be read here, and changed where it"
                " is driven",
                run_id=run_id,
            )
        return host

    def _told(self, envelope: Envelope) -> dict[str, Any]:
        return document_of(asked_in(envelope.request), envelope, self._settings.reasoner)
