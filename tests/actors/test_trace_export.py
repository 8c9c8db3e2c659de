"""Traces reach a collector for OTLP over HTTP, and runs do not notice one that is away."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from actors.tracing.span_formats import JSON, PROTOBUF, SpanFormat, format_of
from actors.tracing.trace_export import BATCH_SPANS, QUEUE_SPANS, SpanExport, TraceOptions, headers_of
from runtime.agents.capability import StageContext, StageResult
from runtime.errors import ModelDownError
from runtime.llm.scripted import ScriptedModel
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId, StageKey
from runtime.primitives.spans import (
    LateSpan,
    Span,
    SpanKind,
    current_stage,
    is_traced,
    run_ids_of,
    stage_span_id_of,
    tool_span_id_of,
    trace_id_of,
    trace_to,
    traced_stage,
)
from runtime.run.stage_view import StageView
from runtime.testing import PipelineBuilder
from tests.runtime.hosting.hosted import Hosted
from tests.runtime.hosting.recorded import LOOK
from tests.runtime.llm.endpoint import asked
from tests.runtime.llm.test_model_client import client_of

PIPELINE = PipelineBuilder("sample").stage("look", default_next="tell", max_retries=1).stage("tell").build()


NUMBERED = SpanKind("number")
ORDER = ("tool look", "model served", "model down", "stage look", "run sample")


class Collector:
    """Receives spans over HTTP in this process; `answer` is the status that it gives."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.asked = 0
        self.answer = 200
        self.came = threading.Event()
        self.is_endless = False
        self.held = threading.Event()
        self.held.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.held.wait(30)
                collector.asked += 1
                if collector.answer == 200:
                    collector.take(read(self.headers["Content-Type"], body))
                self.send_response(collector.answer)
                if not collector.is_endless:
                    self.send_header("Content-Length", "0")
                self.end_headers()
                with suppress(OSError):
                    while collector.is_endless:
                        self.wfile.write(b"x" * 65_536)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def take(self, request: dict[str, Any]) -> None:
        for of_resource in request["resourceSpans"]:
            self.resources.append(attributes(of_resource["resource"]))
            for of_scope in of_resource["scopeSpans"]:
                self.spans += of_scope["spans"]
        self.came.set()

    def close(self) -> None:
        self.held.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    started = Collector()
    yield started
    trace_to(None)
    started.close()


def read(content_type: str, body: bytes) -> dict[str, Any]:
    """Read a request strictly: in protobuf nothing may be left over, and ids are told in hexadecimal as in JSON."""
    if content_type == "application/json":
        read_json: dict[str, Any] = json.loads(body)
        return read_json
    assert content_type == "application/x-protobuf"
    request = ExportTraceServiceRequest.FromString(body)
    known = request.ByteSize()
    request.DiscardUnknownFields()
    assert request.ByteSize() == known
    told: dict[str, Any] = MessageToDict(request, use_integers_for_enums=True)
    for span in (span for of in told["resourceSpans"] for scope in of["scopeSpans"] for span in scope["spans"]):
        for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
            span[name] = base64.b64decode(span[name]).hex()
    return told


@pytest.fixture(params=["http/protobuf", "http/json"])
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the environment asks for."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", request.param)
    return str(request.param)


def attributes(told: dict[str, Any]) -> dict[str, Any]:
    """Name → value of the attributes in the JSON of OTLP, whose whole numbers are text."""
    types = {"stringValue": str, "intValue": int, "doubleValue": float, "boolValue": bool}
    return {each["key"]: types[kind](value) for each in told["attributes"] for kind, value in each["value"].items()}


def a_span(number: int = 1) -> LateSpan:
    return lambda: Span(1, number, None, NUMBERED, "run x", 1_000, 2_000, (number,))


@pytest.mark.usefixtures("protocol")
async def test_a_run_arrives_as_a_tree_of_stages_below_it(collector: Collector) -> None:
    export = SpanExport(TraceOptions(collector.endpoint, service_name="mine"), "supervisor")
    trace_to(export.emit)
    hosted = Hosted(PIPELINE, {"look": [ValueError("broken"), {}], "tell": [{}]})
    run_id = await hosted.submit()
    await hosted.settle(run_id)
    export.close()
    by_name = {(span["name"], attributes(span).get("jeeves.attempt")): span for span in collector.spans}
    run = by_name.pop(("run sample", None))
    assert run["traceId"] == f"{trace_id_of(run_id):032x}" and "parentSpanId" not in run
    assert attributes(run)["jeeves.terminal_reason"] == "completed"
    assert sorted(by_name) == [("stage look", 1), ("stage look", 2), ("stage tell", 1)]
    assert {span["parentSpanId"] for span in by_name.values()} == {run["spanId"]}
    assert {span["traceId"] for span in by_name.values()} == {run["traceId"]}
    failed, told = by_name["stage look", 1], by_name["stage tell", 1]
    assert (failed["status"]["code"], "broken" in failed["status"]["message"]) == (2, True)
    assert "status" not in told and "status" not in run
    in_order = [run["startTimeUnixNano"], failed["startTimeUnixNano"], told["endTimeUnixNano"], run["endTimeUnixNano"]]
    assert sorted(in_order, key=int) == in_order and all(len(at) == 19 for at in in_order)
    assert collector.resources[0] == {"service.name": "mine", "jeeves.process": "supervisor"}


async def test_tool_calls_and_model_calls_stand_below_the_stage_that_made_them() -> None:
    late: list[LateSpan] = []
    trace_to(late.append)
    clock = FakeClock()
    down = ScriptedModel([ModelDownError("gone", permanent=True)])
    clients = [client_of(clock, served=ScriptedModel(["hello"])), client_of(clock, down=down)]

    async def work(context: StageContext, _view: StageView) -> StageResult:
        await context.tools.call("look", None, {})
        for client in clients:
            with suppress(ModelDownError):
                await client.complete("default", asked())
        return StageResult({})

    pipeline = PipelineBuilder().stage("look", has_tools=True, tool_access="read", allowed_tools=["look"]).build()
    hosted = Hosted(pipeline, {"look": [work]}, tools=[LOOK])
    await hosted.run()
    trace_to(None)
    seen = [span() for span in late]
    tool, served, gone, stage, run = sorted(seen, key=lambda span: ORDER.index(span.name))
    assert {tool.parent_id, served.parent_id, gone.parent_id} == {stage.span_id}
    assert (stage.parent_id, run.parent_id) == (run.span_id, None)
    assert len({span.trace_id for span in seen}) == 1 and len({span.span_id for span in seen}) == 5
    assert (tool.attributes["jeeves.status"], tool.error) == ("ok", None)
    assert (served.attributes["jeeves.outcome"], served.error) == ("served", None)
    assert (gone.attributes["jeeves.outcome"], gone.error) == ("down", "down")


@pytest.mark.long
def test_a_collector_that_is_away_keeps_nothing_waiting_and_the_queue_stays_bounded(collector: Collector) -> None:
    collector.held.clear()
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor")
    began_s = time.perf_counter()
    for number in range(1, 2 * QUEUE_SPANS):
        export.emit(a_span(number))
    assert time.perf_counter() - began_s < 2
    began_s = time.perf_counter()
    export.close()
    assert time.perf_counter() - began_s < 4


@pytest.mark.parametrize("missing", [1, 0, -1])
def test_as_many_spans_as_a_message_carries_are_sent_without_waiting_for_more(
    collector: Collector, missing: int
) -> None:
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor", every_s=3_600)
    for number in range(1, BATCH_SPANS - missing + 1):
        export.emit(a_span(number))
    if missing == 1:
        export.flush()  # nothing but this sends them
    assert collector.came.wait(30)
    export.close()
    assert [int(span["spanId"], 16) for span in collector.spans] == list(range(1, BATCH_SPANS - missing + 1))


def test_a_collector_that_is_away_is_not_asked_for_each_full_message(collector: Collector) -> None:
    collector.answer = 503
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor", every_s=3_600)
    export.emit(a_span())
    export.flush()
    for _ in range(5):
        for number in range(3 * BATCH_SPANS):
            export.emit(a_span(number))
        export.flush()
    assert collector.asked == 6


def test_a_collector_that_comes_back_gets_the_spans_from_then_on(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "actors")
    collector.answer = 400
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor")
    for number in (1, 2):
        export.emit(a_span(number))
        export.flush()
    collector.answer = 200
    export.emit(a_span(3))
    export.close()
    assert [int(span["spanId"], 16) for span in collector.spans] == [3]
    assert [each.message for each in caplog.records] == ["traces.collector_away", "traces.collector_back"]


def test_an_answer_without_an_end_is_not_read_to_it(collector: Collector) -> None:
    collector.is_endless = True
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor")
    for number in range(1, 2 * BATCH_SPANS + 1):
        export.emit(a_span(number))
    export.close()
    assert len(collector.spans) == 2 * BATCH_SPANS


def test_no_two_attempts_and_tool_calls_of_a_run_and_not_the_run_itself_have_one_span_id() -> None:
    run_id = RunId("r-1")
    keys = [StageKey(run_id, hop, item, attempt) for hop in range(1, 40) for item in range(20) for attempt in (1, 2, 3)]
    calls = [(key, seq) for key in keys[::9] for seq in range(1, 30)]
    ids = {run_ids_of(run_id)[1], *map(stage_span_id_of, keys), *map(stage_span_id_of, [StageKey(RunId("r-2"), 1)])}
    ids |= {tool_span_id_of(*each) for each in calls}
    assert len(ids) == len(keys) + len(calls) + 2
    assert all(0 < each < 2**64 for each in ids)


@pytest.mark.usefixtures("protocol")
def test_every_value_arrives_as_it_is(collector: Collector) -> None:
    kind = SpanKind("number", "text", "other")
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor")
    values = [(1, "1", "1"), (-7, 'a "quoted" %s 100 %', "näh\n"), (2**40, "lone \ud800", "")]
    for number, each in enumerate(values, 1):
        export.emit(partial(Span, 1, number, 9, kind, "run %d", 1, 2, each, "%s broke"))
    export.close()
    assert [tuple(attributes(span).values()) for span in collector.spans] == [*values[:2], (2**40, "lone ?", "")]
    assert {span["status"]["message"] for span in collector.spans} == {"%s broke"}
    assert {(span["name"], span["parentSpanId"]) for span in collector.spans} == {("run %d", f"{9:016x}")}


@pytest.mark.usefixtures("protocol")
@pytest.mark.parametrize("around", [2**7, 2**10, 2**14, 2**21])
def test_texts_and_numbers_arrive_around_each_length_that_takes_a_further_byte(
    collector: Collector, around: int
) -> None:
    kind = SpanKind("number", "text")
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor")
    lengths = [around - back for back in range(-2, 40)] if around <= 2**14 else [around]
    for each in lengths:
        export.emit(partial(Span, 1, each, None, kind, "n" * each, 1, 2, (each, "v" * each), "e" * each))
    export.close()
    told = [(span["name"], span["status"]["message"], *attributes(span).values()) for span in collector.spans]
    assert told == [("n" * each, "e" * each, each, "v" * each) for each in lengths]


@pytest.mark.usefixtures("protocol")
def test_numbers_arrive_at_the_ends_of_64_bits(collector: Collector) -> None:
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor")
    numbers = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 1]
    for number in numbers:
        export.emit(partial(Span, 2**128 - 1, 2**64 - 1, 2**64 - 1, NUMBERED, "run x", 1, 2, (number,)))
    export.close()
    assert [attributes(span)["number"] for span in collector.spans] == numbers
    assert {(span["traceId"], span["spanId"], span["parentSpanId"]) for span in collector.spans} == {
        ("f" * 32, "f" * 16, "f" * 16)
    }


def test_a_time_that_no_collector_can_read_costs_no_other_span(collector: Collector) -> None:
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor")
    for at_ms in (-1, 0, 1, 2**64):
        export.emit(partial(Span, 1, 2, None, NUMBERED, f"at {at_ms}", at_ms, at_ms, (1,)))
    export.close()
    assert [span["name"] for span in collector.spans] == ["at -1", "at 0", "at 1", f"at {2**64}"]
    assert collector.spans[2]["startTimeUnixNano"] == collector.spans[2]["endTimeUnixNano"] == "1000000"


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [
        ({}, PROTOBUF),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": ""}, PROTOBUF),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, PROTOBUF),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, JSON),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, PROTOBUF),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"}, JSON),
    ],
)
def test_the_environment_chooses_between_protobuf_and_json(environment: dict[str, str], chosen: SpanFormat) -> None:
    assert format_of(environment) is chosen


def test_a_protocol_that_is_not_spoken_is_told_and_protobuf_sent(caplog: pytest.LogCaptureFixture) -> None:
    assert format_of({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}) is PROTOBUF
    assert [each.message for each in caplog.records] == ["traces.protocol_unknown"]


def test_a_share_of_the_runs_is_traced_and_every_process_takes_the_same() -> None:
    seen: list[LateSpan] = []
    runs = [RunId(f"r-{number}") for number in range(1_000)]
    shares = []
    for ratio in (0.0, 0.25, 1.0):
        trace_to(seen.append, ratio)
        shares.append([run_id for run_id in runs if is_traced(run_id)])
    trace_to(None)
    assert shares[0] == [] and shares[2] == runs
    assert 200 < len(shares[1]) < 300
    assert not any(is_traced(run_id) for run_id in runs)


def test_calls_outside_a_traced_stage_have_no_stage() -> None:
    key = StageKey(RunId("r-1"), 1)
    with traced_stage(key):
        assert current_stage() is None
        trace_to(lambda _: None)
        assert current_stage() == key
    assert current_stage() is None
    trace_to(None)


def test_headers_for_the_collector_come_from_the_environment() -> None:
    told = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, x = y=z ,nothing,=empty"}
    assert headers_of(told) == {"api-key": "a b", "x": "y=z"}
    assert headers_of({}) == {}


def test_an_address_where_nobody_listens_costs_nothing_but_spans(collector: Collector) -> None:
    collector.close()
    export = SpanExport(TraceOptions(collector.endpoint), "supervisor")
    export.emit(a_span())
    export.flush()
    export.close()
    assert collector.spans == []
