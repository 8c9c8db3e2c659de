"""Streams server-sent events, with comments that keep an idle connection alive.

An error after the first byte is an `error` event with the members of a problem document, and the last one; so is a
refusal by the gate, which ends the stream from outside.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from runtime.errors import JeevesError
from runtime.supervision.commands import ClientEvent
from serve.http.connections.cancelling import cancel_until_done
from serve.http.connections.sent_answer import ERROR_PART_STATE
from serve.http.documents.problems import RefusedError, members_of
from serve.http.documents.shown_paths import ShownPaths

log = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
AS_THEY_ARE = ShownPaths({})
SIGN_OF_LIFE = ": alive\n\n"

Part = TypeVar("Part")


def as_stream_event(event: ClientEvent, paths: ShownPaths = AS_THEY_ARE) -> str:
    """Format a server-sent event; its id is the event's number, so that a reconnect continues without a gap.

    Text that is being written has no id: after a reconnect all of it is sent again.
    """
    numbered = f"id: {event.seq}\n" if event.seq else ""
    return f"{numbered}event: {event.type}\ndata: {json.dumps(paths.value(msgspec.to_builtins(event)))}\n\n"


def error_event_of(run_id: str, paths: ShownPaths) -> Callable[[Exception], str]:
    """Return what formats the error that ends a stream: the problem that a response would have been refused with."""

    def formatted_error(error: Exception) -> str:
        return f"event: error\ndata: {json.dumps(paths.value(members_of(error, run_id)))}\n\n"

    return formatted_error


async def formatted(events: AsyncGenerator[ClientEvent, None], paths: ShownPaths) -> AsyncGenerator[str, None]:
    """Format the events of a run."""
    async with aclosing(events):
        async for event in events:
            yield as_stream_event(event, paths)


def log_unawaited(done: asyncio.Future[Any]) -> None:
    """Take the error of work that nobody waits for any more, and log it if it is a bug."""
    error = None if done.cancelled() else done.exception()
    if error is not None and not isinstance(error, JeevesError | RefusedError):
        log.error("work.failed_unawaited", exc_info=error)


async def stream(
    parts: AsyncGenerator[Part, None],
    alive_s: float,
    error_part: Callable[[Exception], Part],
    sign_of_life: Part,
    ending: asyncio.Future[Exception] | None = None,
) -> AsyncGenerator[Part, None]:
    """Stream parts to their end, and a sign of life after `alive_s` without one, which a dead client misses.

    An error ends the stream with its `error_part`, and so does `ending` with the error that it gives.
    """
    async with aclosing(parts):
        following: asyncio.Future[Any] = asyncio.ensure_future(anext(parts, None))
        told: Exception | None = None
        try:
            while True:
                awaited = {following} if ending is None else {following, ending}
                await asyncio.wait(awaited, timeout=alive_s, return_when=asyncio.FIRST_COMPLETED)
                if ending is not None and ending.done():
                    raise ending.result()
                if not following.done():
                    yield sign_of_life
                    continue
                part = following.result()
                if part is None:
                    return
                yield part
                following = asyncio.ensure_future(anext(parts, None))
        except Exception as error:
            told = error
            if not isinstance(error, JeevesError | RefusedError):
                log.exception("http.stream_failed")
            yield error_part(error)
        finally:
            try:
                # Parts that still run could not be closed.
                await cancel_until_done(following)
            finally:
                if not following.cancelled() and following.exception() is not told:
                    log_unawaited(following)


class EventStream(StreamingResponse):
    """Streams formatted events about a run, and gives back its slot at the end."""

    def __init__(
        self,
        parts: AsyncGenerator[str, None],
        alive_s: float,
        give_back: Callable[[], None],
        error_part: Callable[[Exception], str],
        sign_of_life: str = SIGN_OF_LIFE,
    ) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        self._parts = stream(parts, alive_s, error_part, sign_of_life)
        self._give_back = give_back
        self._error_part = error_part
        super().__init__(self._parts, media_type=EVENT_STREAM, headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})[ERROR_PART_STATE] = self._error_part
        try:
            async with aclosing(self._parts):
                await super().__call__(scope, receive, send)
        finally:
            self._give_back()
