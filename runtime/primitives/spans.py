"""Passes the spans of traces to the exporter of this process, if it has one.

Ids follow from those of the run and the stage attempt, so that processes need not pass a trace on to each other: the
supervisor makes the spans of runs, stages and tool calls, an agent's process those of model calls, below the same
stage.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

import msgspec

from runtime.primitives.ids import RunId, StageKey

SpanValue = str | int


class SpanKind:
    """Names the attributes that all spans of one kind have; the first one says what a span belongs to."""

    def __init__(self, first: str, *others: str) -> None:
        self.attributes = (first, *others)


class Span(msgspec.Struct, frozen=True, gc=False):
    """Describes one operation of a trace: `values` of the attributes of its kind; `error` is its failure in words."""

    trace_id: int
    span_id: int
    parent_id: int | None
    kind: SpanKind
    name: str
    start_ms: int
    end_ms: int
    values: tuple[SpanValue, ...]
    error: str | None = None

    @property
    def attributes(self) -> dict[str, SpanValue]:
        """The values by the names of their attributes."""
        return dict(zip(self.kind.attributes, self.values, strict=True))


# Makes a span when it is to be sent, in a thread of the exporter.
LateSpan = Callable[[], Span]


class _Tracing:
    """Holds the exporter of the process: as with loggers, there is one."""

    sink: Callable[[LateSpan], None] | None = None
    ratio: float = 1.0


_STAGE: ContextVar[StageKey | None] = ContextVar("jeeves_traced_stage", default=None)
_MOST_TRACES = 2**128
_MOST_SPANS = 2**64
# Odd and without a pattern: small multiples of them differ in their sums.
_APART = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
# Every event of a run asks for its ids: as many as runs may well be under way at once.
_REMEMBERED_IDS = 4_096


def trace_to(sink: Callable[[LateSpan], None] | None, ratio: float = 1.0) -> None:
    """Give spans of this share of the runs to `sink` from now on; None: to nobody. `sink` must not block."""
    _Tracing.sink, _Tracing.ratio = sink, ratio


def is_traced(run_id: RunId) -> bool:
    """Return whether spans of a run are exported; every process of a system decides alike."""
    if _Tracing.sink is None:
        return False
    return _Tracing.ratio >= 1 or run_ids_of(run_id)[0] < _Tracing.ratio * _MOST_TRACES


def emit(span: LateSpan) -> None:
    """Give a span to the exporter."""
    if _Tracing.sink is not None:
        _Tracing.sink(span)


@contextmanager
def traced_stage(key: StageKey) -> Iterator[None]:
    """Make calls within the block those of a stage attempt."""
    token = _STAGE.set(key)
    try:
        yield
    finally:
        _STAGE.reset(token)


def current_stage() -> StageKey | None:
    """Return the stage attempt that this task works for, if its run is traced."""
    key = _STAGE.get()
    return key if key is not None and is_traced(key.run_id) else None


def trace_id_of(run_id: RunId) -> int:
    """Return the trace id of a run, 128 bits and never 0."""
    return run_ids_of(run_id)[0]


@lru_cache(_REMEMBERED_IDS)
def run_ids_of(run_id: RunId) -> tuple[int, int]:
    """Return the trace id of a run, and the id of its own span, 64 bits and never 0."""
    digest = hashlib.sha256(run_id.encode()).digest()
    return int.from_bytes(digest[:16]) or 1, int.from_bytes(digest[16:24]) or 1


def attempt_span_id(run_span_id: int, hop: int, item: int, attempt: int) -> int:
    """Return the span id of a stage attempt; made from that of its run without a hash, as each attempt asks for it."""
    return (run_span_id + hop * _APART[0] + item * _APART[1] + attempt * _APART[2]) % _MOST_SPANS or 1


def stage_span_id_of(key: StageKey) -> int:
    """Return the span id of the stage attempt with this key."""
    return attempt_span_id(run_ids_of(key.run_id)[1], key.hop, key.item, key.attempt)


def tool_span_id_of(key: StageKey, seq: int) -> int:
    """Return the span id of the tool call of a stage attempt that the event `seq` of its run records."""
    return (stage_span_id_of(key) + seq * _APART[3]) % _MOST_SPANS or 1
