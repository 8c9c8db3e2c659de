"""Chooses how spans are written for a collector: protobuf, or JSON where the environment asks for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from actors.tracing import otlp_json, otlp_protobuf
from runtime.primitives.spans import Span

# As the exporters of OpenTelemetry read them: the first one that is set counts.
PROTOCOL_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")

log = logging.getLogger(__name__)


class SpanFormat(NamedTuple):
    """Writes each span, and the document that carries written spans of a process of which `resource` is told."""

    content_type: str
    write_span: Callable[[Span], bytes]
    document_of: Callable[[Mapping[str, str], Sequence[bytes]], tuple[bytes, ...]]


PROTOBUF = SpanFormat("application/x-protobuf", otlp_protobuf.write_span, otlp_protobuf.document_of)
JSON = SpanFormat("application/json", otlp_json.write_span, otlp_json.document_of)
_FORMATS = {"http/protobuf": PROTOBUF, "http/json": JSON}


def format_of(environment: Mapping[str, str]) -> SpanFormat:
    """Return the format that the environment names; protobuf, the default, for one that is not spoken here."""
    named = next((told for name in PROTOCOL_VARIABLES if (told := environment.get(name, "").strip())), "http/protobuf")
    if named not in _FORMATS:
        log.warning("traces.protocol_unknown", extra={"protocol": named, "used": "http/protobuf"})
    return _FORMATS.get(named, PROTOBUF)
