"""Runs over HTTP: what callers send, and how events leave as JSON or as a stream of server-sent events."""

import json
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from actors.system import System
from runtime.errors import InputError
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.supervision.commands import ClientEvent

EVENT_STREAM = "text/event-stream"
MAX_LISTED = 500


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CancelBody(_Body):
    """Why a run is cancelled."""

    reason: str = Field(default="", max_length=4_000)


class AnswerBody(_Body):
    """A person's answer to the question of a run: `approved` for yes-or-no questions, `decision` for reviews."""

    text: str = Field(default="", max_length=200_000)
    approved: bool | None = None
    decision: Literal["approve", "reject", "modify"] | None = None
    data: dict[str, Any] = Field(default_factory=dict)

    def response(self) -> InterruptResponse:
        """The answer as the kernel takes it."""
        return InterruptResponse(self.text, self.approved, self.decision, self.data)


class ForkBody(_Body):
    """The event of the run's log up to which the fork has the same past."""

    at: int = Field(ge=1, le=2**53)


def first_wanted(after: int | None, last_event_id: str | None) -> int:
    """The number of the last event that the caller has: of the query, else of the header of a reconnect, else 0."""
    if after is not None:
        return after
    if last_event_id is None:
        return 0
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= 15):
        raise InputError(f"Last-Event-ID is {last_event_id[:40]!r}, not the number of an event")
    return int(last_event_id)


def as_stream_event(event: ClientEvent) -> str:
    """One server-sent event; its id is the event's number, so that a reconnect goes on without a gap.

    Text that is being written has none: whoever connects again is shown all of it once more.
    """
    numbered = f"id: {event.seq}\n" if event.seq else ""
    return f"{numbered}event: {event.type}\ndata: {json.dumps(msgspec.to_builtins(event))}\n\n"


async def stream(system: System, run_id: RunId, after_seq: int) -> AsyncIterator[str]:
    """The events of a run to its end, as a stream."""
    async for event in system.watch(run_id, after_seq):
        yield as_stream_event(event)
