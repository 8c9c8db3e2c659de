"""Writes spans as the protobuf messages of OTLP, which every collector takes.

The numbers are those of the fields in `opentelemetry/proto/trace/v1/trace.proto` and `common/v1/common.proto`. It is
done here, as most of a span are names and values that come again: they are written once, where a library for these
messages makes an object of each attribute of each span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from struct import Struct

from runtime.primitives.spans import Span, SpanKind, SpanValue

SCOPE = "jeeves"
# What is made of texts and values is kept for so many of them: most come again.
_REMEMBERED = 1_024
# Those of one run come again soon or not at all, and more of them would not stay in the processor's caches.
_REMEMBERED_AT_ONCE = 64
_NS_PER_MS = 1_000_000
_64_BITS = 2**64 - 1

# The byte that begins each field: its number and its type.
_RESOURCE_SPANS, _RESOURCE, _SCOPE_SPANS, _RESOURCE_ATTRIBUTE = b"\x0a", b"\x0a", b"\x12", b"\x0a"
_SCOPE, _SCOPE_NAME, _SPAN = b"\x0a", b"\x0a", b"\x12"
_NAME, _ATTRIBUTE, _STATUS, _STATUS_MESSAGE = b"\x2a", b"\x4a", b"\x7a", b"\x12"
_KEY, _VALUE, _TEXT, _WHOLE_NUMBER = b"\x0a", b"\x12", b"\x0a", b"\x18"
_INTERNAL, _FAILED = b"\x30\x01", b"\x18\x02"
# Fields of a fixed size, with the lengths of those that have one.
_TRACE_ID, _SPAN_ID, _PARENT_ID = b"\x0a\x10", b"\x12\x08", b"\x22\x08"
_START, _END = 0x39, 0x41
_ids = Struct(">2s16s2sQ").pack
_ids_below = Struct(">2s16s2sQ2sQ").pack
_times = Struct("<BQBQ").pack


def write_span(span: Span) -> bytes:
    """Return a span as it stands in a document."""
    values, parent_id, trace_id = span.values, span.parent_id, span.trace_id.to_bytes(16)
    told = b"".join(
        (
            _ids(_TRACE_ID, trace_id, _SPAN_ID, span.span_id)
            if parent_id is None
            else _ids_below(_TRACE_ID, trace_id, _SPAN_ID, span.span_id, _PARENT_ID, parent_id),
            # Of a time before 1970 or after 2554 nothing is left that makes sense, and it must not cost the batch.
            _times(_START, span.start_ms * _NS_PER_MS & _64_BITS, _END, span.end_ms * _NS_PER_MS & _64_BITS),
            _name(span.name),
            _first(span.kind, values[0]),
            _others(span.kind, values[1:]),
        )
    )
    if span.error is not None:
        told += _field(_STATUS, _text(_STATUS_MESSAGE, span.error) + _FAILED)
    return _field(_SPAN, told)


def document_of(resource: Mapping[str, str], spans: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the document that carries written spans of one process, in parts; `resource`: what is told of it."""
    joined = b"".join(spans)
    told = b"".join(_field(_RESOURCE_ATTRIBUTE, _pair(*each)) for each in resource.items())
    scope = _field(_SCOPE, _text(_SCOPE_NAME, SCOPE))
    spans_head = _SCOPE_SPANS + _varint(len(scope) + len(joined)) + scope
    head = _field(_RESOURCE, told) + spans_head
    return _RESOURCE_SPANS + _varint(len(head) + len(joined)) + head, joined


@lru_cache(_REMEMBERED_AT_ONCE)
def _first(kind: SpanKind, value: SpanValue) -> bytes:
    return _attribute(kind.attributes[0], value)


@lru_cache(_REMEMBERED)
def _name(name: str) -> bytes:
    return _text(_NAME, name) + _INTERNAL


@lru_cache(_REMEMBERED)
def _others(kind: SpanKind, values: tuple[SpanValue, ...]) -> bytes:
    return b"".join(map(_attribute, kind.attributes[1:], values))


def _attribute(name: str, value: SpanValue) -> bytes:
    return _field(_ATTRIBUTE, _pair(name, value))


def _pair(name: str, value: SpanValue) -> bytes:
    told = _WHOLE_NUMBER + _varint(value & _64_BITS) if type(value) is int else _text(_TEXT, str(value))
    return _text(_KEY, name) + _field(_VALUE, told)


def _text(field: bytes, text: str) -> bytes:
    # A lone surrogate has no place in UTF-8, and must not cost the batch.
    return _field(field, text.encode(errors="replace"))


def _field(field: bytes, told: bytes) -> bytes:
    return b"%b%b%b" % (field, _varint(len(told)), told)


def _varint(number: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first; all but the last have the eighth bit set."""
    return _SHORT[number] if number < len(_SHORT) else bytes((number & 0x7F | 0x80,)) + _varint(number >> 7)


_SHORT = tuple(bytes((each,)) if each < 0x80 else bytes((each & 0x7F | 0x80, each >> 7)) for each in range(1_024))
