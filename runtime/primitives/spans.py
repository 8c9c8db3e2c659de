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

SpanValue = str | int | float | bool


class Span(msgspec.Struct, frozen=True, gc=False):
    """Describes one operation of a trace; `error` is its failure in words."""

    trace_id: int
    span_id: int
    parent_id: int | None
    name: str
    start_ms: int
    end_ms: int
    attributes: dict[str, SpanValue] = {}
    error: str | None = None


class _Tracing:
    """Holds the exporter of the process: as with loggers, there is one."""

    sink: Callable[[Span], None] | None = None
    ratio: float = 1.0


_STAGE: ContextVar[StageKey | None] = ContextVar("jeeves_traced_stage", default=None)
_MOST_TRACES = 2**128
_MOST_SPANS = 2**64
# Odd and without a pattern: small multiples of them differ in their sums.
_APART = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)
# Every event of a run asks for its ids: as many as runs may well be under way at once.
_REMEMBERED_IDS = 4_096


def trace_to(sink: Callable[[Span], None] | None, ratio: float = 1.0) -> None:
    """Give spans of this share of the runs to `sink` from now on; None: to nobody. `sink` must not block."""
    _Tracing.sink, _Tracing.ratio = sink, ratio


def is_traced(run_id: RunId) -> bool:
    """Return whether spans of a run are exported; every process of a system decides alike."""
    if _Tracing.sink is None:
        return False
    return _Tracing.ratio >= 1 or trace_id_of(run_id) < _Tracing.ratio * _MOST_TRACES


def emit(span: Span) -> None:
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


@lru_cache(_REMEMBERED_IDS)
def trace_id_of(run_id: RunId) -> int:
    """Return the trace id of a run, 128 bits and never 0."""
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:16]) or 1


def stage_span_id_of(key: StageKey) -> int:
    """Return the span id of a stage attempt; made from that of its run without a hash, as each attempt asks for it."""
    apart = key.hop * _APART[0] + key.item * _APART[1] + key.attempt * _APART[2]
    return (span_id_of(key.run_id) + apart) % _MOST_SPANS or 1


@lru_cache(_REMEMBERED_IDS)
def span_id_of(name: str) -> int:
    """Return the span id of what has this name in its system, 64 bits and never 0."""
    return int.from_bytes(hashlib.sha256(f"span {name}".encode()).digest()[:8]) or 1
