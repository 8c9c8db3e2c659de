"""Writes spans as the JSON of OTLP: ids in hexadecimal, numbers of 64 bits as text.

The first attribute of a span, which says what it belongs to, and all others together are written once for those spans
of a batch that have the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import starmap
from typing import Any

import msgspec

from runtime.primitives.spans import LateSpan, Span, SpanKind, SpanValue

SCOPE = "jeeves"


def spans_document(resource: Mapping[str, str], spans: Iterable[LateSpan]) -> tuple[bytes, bytes, bytes]:
    """Return the document that carries the spans of one process, in parts; `resource`: what is told of the process."""
    told = ",".join(starmap(_attribute, resource.items()))
    told = f'{{"resource":{{"attributes":[{told}]}},"scopeSpans":[{{"scope":{{"name":"{SCOPE}"}},"spans":['
    kinds, names, traces = _Written(_Attributes), _Written(_text), _Written("{:032x}".format)
    lines = ",".join([_line(span(), kinds, names, traces) for span in spans])
    return f'{{"resourceSpans":[{told}'.encode(), lines.encode(), b"]}]}]}"


class _Written(dict[Any, Any]):
    """Remembers what is made of each key: most come again, and to look one up costs next to nothing."""

    def __init__(self, write: Callable[[Any], Any]) -> None:
        self._write = write

    def __missing__(self, key: Any) -> Any:
        self[key] = written = self._write(key)
        return written


class _Attributes:
    """Writes the attributes of spans of one kind: the first one, and all others with a comma before each."""

    def __init__(self, kind: SpanKind) -> None:
        first, *others = kind.attributes
        self.first = _Written(lambda value: _attribute(first, value))
        self.others = _Written(lambda values: ",".join(["", *map(_attribute, others, values)]))


def _line(span: Span, kinds: _Written, names: _Written, traces: _Written) -> str:
    attributes, values = kinds[span.kind], span.values
    parent = "" if span.parent_id is None else f'"parentSpanId":"{span.parent_id:016x}",'
    error = "" if span.error is None else f',"status":{{"message":{_text(span.error)},"code":2}}'
    return (
        f'{{"traceId":"{traces[span.trace_id]}","spanId":"{span.span_id:016x}",{parent}"kind":1,"name":{names[span.name]},'
        f'"startTimeUnixNano":"{span.start_ms}000000","endTimeUnixNano":"{span.end_ms}000000",'
        f'"attributes":[{attributes.first[values[0]]}{attributes.others[values[1:]]}]{error}}}'
    )


def _attribute(name: str, value: SpanValue) -> str:
    return f'{{"key":{_text(name)},"value":{_value(value)}}}'


def _value(value: SpanValue) -> str:
    return f'{{"intValue":"{value}"}}' if type(value) is int else f'{{"stringValue":{_text(str(value))}}}'


def _text(text: str) -> str:
    # A lone surrogate has no place in JSON, and must not cost the batch.
    return msgspec.json.encode(text.encode(errors="replace").decode()).decode()
