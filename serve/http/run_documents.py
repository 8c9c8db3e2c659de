"""Defines the bodies of requests about runs, and formats events as JSON or server-sent events."""

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
    """Carries the reason of a cancellation."""

    reason: str = Field(default="", max_length=4_000)


class AnswerBody(_Body):
    """Carries an answer to the question of a run: `approved` for yes-or-no questions, `decision` for reviews."""

    text: str = Field(default="", max_length=200_000)
    approved: bool | None = None
    decision: Literal["approve", "reject", "modify"] | None = None
    data: dict[str, Any] = Field(default_factory=dict)

    def response(self) -> InterruptResponse:
        """Return the answer in the kernel's form."""
        return InterruptResponse(self.text, self.approved, self.decision, self.data)


class ForkBody(_Body):
    """Carries the number of the last event that a fork copies."""

    at: int = Field(ge=1, le=2**53)


def first_wanted(after: int | None, last_event_id: str | None) -> int:
    """Return the number of the caller's last event, from the query, else from Last-Event-ID, else 0."""
    if after is not None:
        return after
    if last_event_id is None:
        return 0
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= 15):
        raise InputError(f"Last-Event-ID is {last_event_id[:40]!r}, not the number of an event")
    return int(last_event_id)


def as_stream_event(event: ClientEvent) -> str:
    """Format a server-sent event; its id is the event's number, so that a reconnect continues without a gap.

    Text that is being written has no id: after a reconnect all of it is sent again.
    """
    numbered = f"id: {event.seq}\n" if event.seq else ""
    return f"{numbered}event: {event.type}\ndata: {json.dumps(msgspec.to_builtins(event))}\n\n"


async def stream(system: System, run_id: RunId, after_seq: int) -> AsyncIterator[str]:
    """Stream the events of a run to its end."""
    async for event in system.watch(run_id, after_seq):
        yield as_stream_event(event)
