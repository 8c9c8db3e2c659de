"""Propagates the trace from a handled message to the frames that are sent because of it.

The trace lives in a context variable, so tasks that a handler starts belong to the same trace.
"""

from __future__ import annotations

from contextvars import ContextVar

import msgspec

from runtime.bus.frames import Header
from runtime.primitives.ids import MessageId, RunId
from runtime.primitives.structured_logs import enter_log_scope


class Trace(msgspec.Struct, frozen=True):
    """Identifies the origin of new frames; all fields are None outside a handler."""

    trace_id: str | None = None
    parent_id: MessageId | None = None
    run_id: RunId | None = None


_NONE = Trace()
_CURRENT: ContextVar[Trace] = ContextVar("jeeves_trace", default=_NONE)


def current_trace() -> Trace:
    """Return the trace that this task belongs to."""
    return _CURRENT.get()


def continue_trace(header: Header) -> None:
    """Make the frames that this task sends from now on descend from `header`."""
    _CURRENT.set(Trace(header.trace_id or header.message_id, header.message_id, header.run_id))
    enter_log_scope(header.run_id)
