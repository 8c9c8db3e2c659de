"""Starts runs that go on by themselves: nobody needs to follow them, and a key finds them again."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from runtime.codebase.index.progress import Progress
from runtime.errors import InputError, UnknownNameError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Request
from serve.answer_document import Ask
from serve.run_keys import KEY_HEADER, fingerprint, run_id_of_key
from serve.runtimes.answering import UNHEARD, AskCallbacks, prepared_within, request_of


class StartingHost(Protocol):
    """Starts runs, and knows those that it has started."""

    async def submit(self, request: Request, run_id: RunId | None = None) -> RunId:
        """Start a run; an id that is known changes nothing."""

    async def envelope(self, run_id: RunId) -> Envelope:
        """Return the current envelope of a run. Raises UnknownNameError."""

    async def refresh_index(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        """Bring a repository's index up to date. Raises RepositoryError if that takes longer."""

    async def index_progress(self, root: str) -> Progress:
        """Return how far the refresh of an index is."""


async def start_run(host: StartingHost, ask: Ask, key: str | None = None, callbacks: AskCallbacks = UNHEARD) -> RunId:
    """Start the run of a question, or return the one that the same question started with this key.

    Raises InputError if the key stands for another question.
    """
    if key is None:
        return await host.submit(await _request(host, ask, callbacks))
    run_id, sent = run_id_of_key(ask.user_id, key), fingerprint(msgspec.to_builtins(ask))
    try:
        known = await host.envelope(run_id)
    except UnknownNameError:
        request = await _request(host, ask, callbacks)
        await host.submit(msgspec.structs.replace(request, request_id=sent), run_id)
        known = await host.envelope(run_id)
    check_same_question(known, sent)
    return run_id


def check_same_question(known: Envelope, sent: str) -> None:
    """Raise InputError if a run was not started by the question with fingerprint `sent`."""
    if known.request.request_id != sent:
        problem = f"this {KEY_HEADER} stands for another request already; send a new key with a new body"
        raise InputError(problem, run_id=known.run_id)


async def _request(host: StartingHost, ask: Ask, callbacks: AskCallbacks) -> Request:
    async def progress() -> Progress:
        return await host.index_progress(ask.repo)

    within, repository = await prepared_within(ask, host.refresh_index, progress, callbacks)
    return request_of(within, repository)
