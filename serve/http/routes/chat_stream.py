"""Streams the run of a question as server-sent events, the answer document last.

The id of an event is its number in the run. A client that lost the connection sends its request again, with the same
Idempotency-Key and the last id as Last-Event-ID, and gets the events after it. The `answer` event has no id: it comes
at the end of each stream of a run, however often the run is resumed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from runtime.errors import InputError, UnknownNameError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.supervision.commands import ClientEvent
from serve.answer_document import Ask, document_of
from serve.http.access.callers import Caller
from serve.http.answering.answering_runs import Prepare, nothing
from serve.http.answering.service import ChatMessage, Service, ask_of, fingerprint_of, session_of
from serve.http.connections.event_stream import EventStream, as_stream_event, error_event_of
from serve.http.documents.idempotency import KEY_HEADER


class FollowedRun:
    """Follows a run from an event until it is over or waits; `envelope` and `document` are its state from then on."""

    def __init__(self, service: Service, ask: Ask, run_id: RunId, after_seq: int) -> None:
        self.run_id = run_id
        self.document: dict[str, Any] | None = None
        self.envelope: Envelope | None = None
        self._service = service
        self._ask = ask
        self._after_seq = after_seq

    async def events(self) -> AsyncGenerator[ClientEvent, None]:
        """Yield the events of the run; the document is there when they end."""
        answering = self._service.answering
        async with aclosing(answering.events_until_settled(self.run_id, self._ask.wait, self._after_seq)) as events:
            async for event in events:
                yield event
        self.envelope = await self._service.runs.envelope(self.run_id)
        document = document_of(self._ask, self.envelope, self._service.spec.reasoner)
        self.document = self._service.paths.value(document)


async def followed_run(
    service: Service,
    ask: Ask,
    key: str | None,
    sent: str,
    on_run: Callable[[RunId], None],
    last_event_id: int | None = None,
    prepare: Prepare = nothing,
    number_name: str = "Last-Event-ID",
) -> FollowedRun:
    """Start the run of a question, or find the one of its key, to be followed from an event.

    `prepare` is called before a new run; `number_name`: what callers give the number as. Raises InputError for a number
    that no event of the run has, and UnknownNameError if the run is not kept any more.
    """
    if last_event_id is None:
        return FollowedRun(service, ask, await service.answering.started(ask, key, sent, on_run, prepare), 0)
    if key is None:
        raise InputError(f"{number_name} resumes the stream of a run; send the {KEY_HEADER} that the run began with")
    try:
        run_id = await service.answering.started(ask, key, sent, on_run, prepare, must_be_known=True)
    except UnknownNameError as error:
        told = f"no run of this {KEY_HEADER} is kept, so that there is no event {last_event_id} to resume after"
        raise UnknownNameError(f"{told}; leave out {number_name} to ask anew", name=key, known=[]) from error
    await service.check_event(run_id, last_event_id)
    return FollowedRun(service, ask, run_id, last_event_id)


async def chat_stream(
    service: Service,
    message: ChatMessage,
    caller: Caller,
    key: str | None,
    last_event_id: int | None,
    on_run: Callable[[RunId], None],
) -> EventStream:
    """Return the stream of a question's run. Raises before the first byte what refuses the request."""
    ask = ask_of(message, service.spec, caller)
    give_back = service.stream_of(caller)
    try:
        opened = session_of(message, service, caller, ask)
        run = await followed_run(service, ask, key, fingerprint_of(message), on_run, last_event_id, opened)
    except BaseException:
        give_back()
        raise
    return EventStream(
        _formatted(run, service, with_outputs=message.outputs),
        service.spec.http.stream_alive_s,
        give_back,
        error_event_of(run.run_id, service.paths),
    )


async def _formatted(run: FollowedRun, service: Service, *, with_outputs: bool) -> AsyncGenerator[str, None]:
    found = run.events()
    shown = service.outputs_of(run.run_id).with_outputs(found) if with_outputs else found
    async with aclosing(shown) as events:
        async for event in events:
            yield as_stream_event(event, service.paths)
    yield f"event: answer\ndata: {json.dumps(run.document)}\n\n"
