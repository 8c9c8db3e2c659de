"""Writes spans as the JSON of OTLP: ids in hexadecimal, numbers of 64 bits as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.primitives.spans import Span, SpanValue

SCOPE = "jeeves"
_NS_PER_MS = 1_000_000


def write_span(span: Span) -> bytes:
    """Return a span as it stands in a document."""
    told: dict[str, Any] = {"traceId": f"{span.trace_id:032x}", "spanId": f"{span.span_id:016x}"}
    if span.parent_id is not None:
        told["parentSpanId"] = f"{span.parent_id:016x}"
    told |= {
        "kind": 1,
        "name": _text(span.name),
        "startTimeUnixNano": str(span.start_ms * _NS_PER_MS),
        "endTimeUnixNano": str(span.end_ms * _NS_PER_MS),
        "attributes": _pairs(span.attributes),
    }
    if span.error is not None:
        told["status"] = {"message": _text(span.error), "code": 2}
    return msgspec.json.encode(told)


def document_of(resource: Mapping[str, str], spans: Sequence[bytes]) -> tuple[bytes, bytes, bytes]:
    """Return the document that carries written spans of one process, in parts; `resource`: what is told of it."""
    told = msgspec.json.encode({"attributes": _pairs(resource)})
    scope = msgspec.json.encode({"name": SCOPE})
    head = b'{"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[' % (told, scope)
    return head, b",".join(spans), b"]}]}]}"


def _pairs(values: Mapping[str, SpanValue]) -> list[dict[str, Any]]:
    return [{"key": _text(name), "value": _value(value)} for name, value in values.items()]


def _value(value: SpanValue) -> dict[str, str]:
    return {"intValue": str(value)} if type(value) is int else {"stringValue": _text(str(value))}


def _text(text: str) -> str:
    # A lone surrogate has no place in JSON, and must not cost the batch.
    return text.encode(errors="replace").decode()
