"""Writes spans as the JSON of OTLP: ids in hexadecimal, numbers of 64 bits as text.

What all spans of one kind have in common is written once, as a format; each span only fills it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from runtime.primitives.spans import LateSpan, Span, SpanKind, SpanValue

SCOPE = "jeeves"


def spans_document(resource: Mapping[str, str], spans: Iterable[LateSpan]) -> tuple[bytes, bytes, bytes]:
    """Return the document that carries the spans of one process, in parts; `resource`: what is told of the process."""
    told = _attributes(resource) % tuple(map(_value, resource.values()))
    head = f'{{"resourceSpans":[{{"resource":{{{told}}},"scopeSpans":[{{"scope":{{"name":"{SCOPE}"}},"spans":['
    values, texts = _Written(_value), _Written(_text)
    return head.encode(), ",".join([_line(span(), values, texts) for span in spans]).encode(), b"]}]}]}"


class _Written(dict[Any, str]):
    """Remembers how each value is written: most come again, and to look one up costs next to nothing."""

    def __init__(self, write: Callable[[Any], str]) -> None:
        self._write = write

    def __missing__(self, value: SpanValue) -> str:
        self[value] = written = self._write(value)
        return written


def _line(span: Span, values: _Written, texts: _Written) -> str:
    parent, error = span.parent_id, span.error
    return _format(span.kind) % (
        span.trace_id,
        span.span_id,
        span.start_ms,
        span.end_ms,
        "" if parent is None else f',"parentSpanId":"{parent:016x}"',
        *map(values.__getitem__, span.values),
        texts[span.name],
        "" if error is None else f',"status":{{"message":{_text(error)},"code":2}}',
    )


@lru_cache
def _format(kind: SpanKind) -> str:
    ids_and_times = '"traceId":"%032x","spanId":"%016x","startTimeUnixNano":"%d000000","endTimeUnixNano":"%d000000"%s'
    return f'{{"kind":1,{ids_and_times},{_attributes(kind.attributes)},"name":%s%s}}'


def _attributes(names: Iterable[str]) -> str:
    each = [f'{{"key":{_text(name)},"value":%s}}' for name in names]
    return f'"attributes":[{",".join(each)}]'


def _value(value: SpanValue) -> str:
    return f'{{"intValue":"{value}"}}' if type(value) is int else f'{{"stringValue":{_text(str(value))}}}'


def _text(text: str) -> str:
    # A lone surrogate has no place in JSON, and must not cost the batch.
    return msgspec.json.encode(text.encode(errors="replace").decode()).decode()
