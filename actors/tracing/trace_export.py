"""Exports spans by OTLP over HTTP, in a thread that no run waits for.

Spans wait in a queue of bounded length until that thread makes and writes them: every second, and as soon as there are
as many as one message carries. While the collector is away the oldest are dropped, and runs go on as they would
without. The exporter of the OpenTelemetry SDK cost a run of three stages 0.4 ms of processor time; this one, with the
spans that it sends, costs it 0.02 ms.
"""

from __future__ import annotations

import http.client
import logging
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from threading import Event, Lock, Thread
from urllib.parse import unquote, urlsplit

import msgspec

from actors.tracing.span_formats import format_of
from runtime.primitives.spans import LateSpan, trace_to

QUEUE_SPANS = 4_096
BATCH_SPANS = 1_024
EXPORT_EVERY_S = 1.0
# So many are written before other threads of the process may go on: fewer at a time cost more to take turns.
AT_A_STRETCH_SPANS = 128
TIMEOUT_S = 2.0
# An answer says next to nothing.
MOST_ANSWER_BYTES = 65_536

# As the exporters of OpenTelemetry read it: name=value, with commas between and both percent-encoded.
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"

log = logging.getLogger(__name__)


class TraceOptions(msgspec.Struct, frozen=True):
    """Selects the collector's URL for spans, None: no traces; the share of runs; and the name of this service there."""

    endpoint: str | None = None
    sample_ratio: float = 1.0
    service_name: str = "jeeves"


class _Export:
    """Holds the options of this process and its exporter: as with loggers, there is one."""

    options = TraceOptions()
    exporter: SpanExport | None = None


class SpanExport:
    """Queues spans, and sends them in batches from a thread of its own, every `every_s` seconds or when one is full."""

    def __init__(self, options: TraceOptions, process: str, every_s: float = EXPORT_EVERY_S) -> None:
        """Start the thread; the collector need not be there."""
        self._every_s = every_s
        self._endpoint = str(options.endpoint)
        self._url = url = urlsplit(self._endpoint)
        self._path = f"{url.path}?{url.query}" if url.query else url.path
        self._kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        self._format = format_of(os.environ)
        self._headers = {"Content-Type": self._format.content_type, **headers_of(os.environ)}
        self._resource = {"service.name": options.service_name, "jeeves.process": process}
        self._queue: deque[LateSpan] = deque(maxlen=QUEUE_SPANS)
        self._sending = Lock()
        self._due = Event()
        self._is_closing = False
        self._is_away = False
        Thread(target=self._keep_sending, name="jeeves-traces", daemon=True).start()

    def emit(self, span: LateSpan) -> None:
        """Queue a span; never wait. The oldest one is dropped from a full queue."""
        self._queue.append(span)
        if len(self._queue) >= BATCH_SPANS and not self._is_away:
            self._due.set()

    def flush(self) -> None:
        """Send what is queued, and wait for that at most `TIMEOUT_S`."""
        sending = Thread(target=self._send_all, daemon=True)
        sending.start()
        sending.join(TIMEOUT_S)

    def close(self) -> None:
        """Send what is queued, wait for that at most `TIMEOUT_S`, and end the thread."""
        self._is_closing = True
        self._due.set()
        self.flush()

    def _keep_sending(self) -> None:
        while True:
            self._due.wait(self._every_s)
            if self._is_closing:
                return
            self._due.clear()
            self._send_all()

    def _send_all(self) -> None:
        """Send the queue batch by batch; after one that fails, the rest waits for the next time."""
        with self._sending:
            if not self._queue:
                return
            fault = None
            connection = self._kind(str(self._url.hostname), self._url.port, timeout=TIMEOUT_S)
            try:
                while spans := self._written():
                    document = self._format.document_of(self._resource, spans)
                    if (fault := self._fault_of(connection, document)) is not None:
                        break
            finally:
                connection.close()
            if (fault is not None) != self._is_away:
                self._is_away = fault is not None
                told = {"endpoint": self._endpoint, "reason": fault}
                log.warning("traces.collector_away" if self._is_away else "traces.collector_back", extra=told)

    def _written(self) -> list[bytes]:
        """Make and write as many spans of the queue as one message carries."""
        written: list[bytes] = []
        while self._queue and len(written) < BATCH_SPANS:
            due = min(AT_A_STRETCH_SPANS, BATCH_SPANS - len(written), len(self._queue))
            written += [self._format.write_span(self._queue.popleft()()) for _ in range(due)]
            # Python would let the thread that drives runs wait for 5 ms before this one must stop.
            time.sleep(0)
        return written

    def _fault_of(self, connection: http.client.HTTPConnection, body: Sequence[bytes]) -> str | None:
        """Send a batch, and return why that failed; None if the collector took it."""
        headers = {**self._headers, "Content-Length": str(sum(map(len, body)))}
        try:
            connection.request("POST", self._path, body, headers)
            answer = connection.getresponse()
            answer.read(MOST_ANSWER_BYTES)
            if not answer.isclosed():  # it goes on: the next batch has a connection of its own
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__}: {error}"
        return None if 200 <= answer.status < 300 else f"status {answer.status}"


def set_trace_options(options: TraceOptions) -> None:
    """Set the options of the jobs that this process starts."""
    _Export.options = options


def trace_options() -> TraceOptions:
    """Return the options of the jobs that this process starts."""
    return _Export.options


def export_traces(options: TraceOptions, process: str) -> None:
    """Export the spans of this process; one that does already goes on as it is."""
    if options.endpoint is None or _Export.exporter is not None:
        return
    _Export.exporter = exporter = SpanExport(options, process)
    trace_to(exporter.emit, options.sample_ratio)
    log.info("traces.exported", extra={"endpoint": options.endpoint, "sample_ratio": options.sample_ratio})


def flush_traces() -> None:
    """Send the spans that are queued, before this process ends."""
    if _Export.exporter is not None:
        _Export.exporter.flush()


def headers_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that the environment names for collectors; parts without `=` are left out."""
    parts = (part.partition("=") for part in environment.get(HEADERS_VARIABLE, "").split(","))
    return {unquote(name.strip()): unquote(value.strip()) for name, mark, value in parts if mark and name.strip()}
