"""Messages that do not fit are refused by the gRPC door before anything is begun, and its kernel calls run nothing."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
import yaml
from ray.serve.config import gRPCOptions

from runtime.errors import InputError, JeevesError
from serve.deployed.application import JeevesGrpcService, JeevesService, ServiceArguments
from serve.grpc.door import CALLS
from serve.grpc.generate import GENERATED, ROOT
from serve.grpc.messages import check_message
from serve.grpc.statuses import MAX_DETAIL_BYTES, MAX_MESSAGE_BYTES, STATUS_OF_HTTP, cut, failure_of
from serve.grpc.v1 import jeeves_pb2 as pb
from serve.grpc.v1 import jeeves_pb2_grpc
from serve.http.connections.http_limits import HttpLimits
from serve.http.documents.problems import RefusedError, members_of
from serve.http.routes.openapi import answers_of
from tests.doors.grpc_site import GrpcSite, open_grpc_site
from tests.doors.page_blocks import shell_blocks

Code = grpc.StatusCode
LIMITS = HttpLimits()


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[GrpcSite]:
    async with open_grpc_site(tmp_path) as opened:
        yield opened


async def raw(door: GrpcSite, data: bytes, name: str = "Run") -> Any:
    return await door.refused(door.channel.unary_unary(f"/jeeves.v1.Jeeves/{name}")(data, metadata=door.ann))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x0a\x01x\xa2\x06\x01y", "100 of RunRequest"),
        (b"\x08\x07", ": 1 of RunRequest"),  # a number where the text of the question is
        (b"\x0a\x01x\x42\x01z", ": 8 of RunRequest"),  # a text where `wait` is
        (b"\xa0\x06\x01" * 333_333, "999999 bytes"),
    ],
)
async def test_fields_that_a_message_does_not_have_are_refused(door: GrpcSite, data: bytes, told: str) -> None:
    (await raw(door, data)).says(Code.INVALID_ARGUMENT, "bad_input", told)
    assert door.site.log.runs(10) == []


def test_fields_in_a_message_within_another_one_are_refused_too() -> None:
    hidden = pb.StreamRequest.FromString(b"\x0a\x04\xa2\x06\x01y")
    with pytest.raises(InputError, match="100 of RunRequest"):
        check_message(hidden, LIMITS)


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x0a\x02\xff\xfe", b"\x0a\x7fshort"])
async def test_bytes_that_are_no_message_begin_nothing(door: GrpcSite, data: bytes) -> None:
    assert (await raw(door, data)).code == Code.UNKNOWN
    assert door.site.log.runs(10) == []


@pytest.mark.parametrize(("beyond", "is_taken"), [(-1, True), (0, True), (1, False)])
def test_a_message_may_be_just_so_large(beyond: int, is_taken: bool) -> None:
    document = pb.Document(json="")
    document.json = " " * (LIMITS.max_body_bytes + beyond - 4)  # its tag and length have 4 bytes
    assert document.ByteSize() == LIMITS.max_body_bytes + beyond
    if is_taken:
        check_message(document, LIMITS)
    else:
        with pytest.raises(RefusedError, match="1000001 bytes, at most 1000000"):
            check_message(document, LIMITS)


@pytest.mark.parametrize("name", ["Run", "Stream", "Validate"])
async def test_a_message_of_10_mb_is_refused_and_the_next_one_answered(door: GrpcSite, name: str) -> None:
    text = "x" * 10_000_000
    requests = {"Run": pb.RunRequest(message=text), "Validate": pb.Document(json=text)}
    request = requests.get(name, pb.StreamRequest(start=pb.RunRequest(message=text)))
    (await door.refused(door.call(name, request))).says(Code.RESOURCE_EXHAUSTED, "body_too_large", "1000000")
    await door.call("List", pb.ListRequest())


async def test_the_message_size_of_the_guide_lets_the_envelope_of_a_run_through(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "grpc.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"RAY_SERVE_GRPC_MAX_MESSAGE_SIZE=(\d+)", guide)
    # As Ray Serve passes it on.
    options = [(f"grpc.max_{way}_message_length", int(told)) for way in ("send", "receive")]
    async with open_grpc_site(tmp_path, options) as door:
        run_id = (await door.call("Run", pb.RunRequest(message="give 3900000"))).run_id
        assert len((await door.call("Get", pb.GetRequest(run_id=run_id))).envelope_json) > 3_900_000
        large = pb.RunRequest(message="x" * (int(told) + 1))
        assert (await door.refused(door.call("Run", large))).code == Code.RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    ("fields", "problem", "word"),
    [
        ({"message": ""}, "bad_input", "message"),
        ({"message": "  "}, "bad_question", "empty"),
        ({"message": "x" * 1_001}, "bad_question", "1001"),
        ({"message": "a\0b"}, "bad_request", "U+0000"),
        ({"limits": {"a\0b": 1}}, "bad_request", "U+0000"),
        ({"limits": {"max_agent_hops": -1}}, "bad_input", "limits"),
        ({"limits": {"max_agent_hops": 2**53 + 1}}, "bad_input", "limits"),
        ({"limits": {"other": 1}}, "bad_input", "other"),
        ({"deadline_s": 0.0}, "bad_input", "deadline_s"),
        ({"deadline_s": float("nan")}, "bad_input", "deadline_s"),
        ({"deadline_s": float("inf")}, "bad_input", "deadline_s"),
        ({"deadline_s": 3_600.1}, "bad_input", "deadline_s"),
        ({"run_mode": "sideways"}, "bad_input", "run_mode"),
        ({"session_id": ""}, "bad_input", "session"),
        ({"repo": "/etc"}, "bad_input", "no path"),
        ({"repo": ""}, None, ""),
    ],
)
async def test_what_the_http_door_refuses_is_refused_in_the_same_words(
    door: GrpcSite, fields: dict[str, Any], problem: str | None, word: str
) -> None:
    call = door.call("Run", pb.RunRequest(**({"message": "Where?"} | fields)))
    if problem is None:
        await call
        return
    (await door.refused(call)).says(Code.INVALID_ARGUMENT, problem, word)
    assert door.site.log.runs(10) == []


@pytest.mark.parametrize(
    ("name", "problem", "code"),
    [("nobody", "unknown_name", Code.NOT_FOUND), ("../x", "bad_input", Code.INVALID_ARGUMENT)],
)
async def test_a_repository_is_named(door: GrpcSite, name: str, problem: str, code: grpc.StatusCode) -> None:
    (await door.refused(door.call("Run", pb.RunRequest(message="Where?", repo=name)))).says(code, problem)


@pytest.mark.parametrize(
    "data", ["[", "1", "[]", '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": "\\u0000"}', "[" * 70 + "]" * 70, ""]
)
async def test_the_data_of_an_answer_are_a_json_object(door: GrpcSite, data: str) -> None:
    waiting = await door.call("Run", pb.RunRequest(message="why", wait=True))
    refusal = await door.refused(door.call("Resume", pb.AnswerRequest(run_id=waiting.run_id, data_json=data)))
    assert refusal.code == Code.INVALID_ARGUMENT
    assert "data" in refusal.problem.detail
    assert (await door.call("Get", pb.GetRequest(run_id=waiting.run_id))).lifecycle == "waiting"


async def test_a_run_id_that_can_be_none_is_one_that_is_not_there(door: GrpcSite) -> None:
    for run_id in ("", "a b", "../..", "x" * 101, "é", "r-" + "0" * 900_000):
        (await door.refused(door.call("Get", pb.GetRequest(run_id=run_id)))).says(Code.NOT_FOUND, "unknown_name")


async def test_the_kernel_calls_make_of_documents_what_the_command_line_makes(door: GrpcSite) -> None:
    request = json.dumps({"pipeline": "sample", "raw_input": "Where?", "user_id": "u", "later": 1})
    envelope = await door.call("CreateEnvelope", pb.Document(json=request))
    assert json.loads(envelope.json)["later"] == 1
    assert json.loads((await door.call("CanContinue", envelope)).json)["can_continue"] is True
    assert json.loads((await door.call("Validate", envelope)).json) == {"valid": True, "faults": []}
    assert json.loads((await door.call("Result", envelope)).json)["terminal_reason"] is None
    assert json.loads((await door.call("Validate", pb.Document(json="[1]"))).json)["valid"] is False
    assert door.site.log.runs(10) == []


async def test_a_document_is_read_and_checked_beside_the_thread_that_answers_others(door: GrpcSite) -> None:
    threads: list[threading.Thread] = []

    class Asked:
        @property
        def json(self) -> str:
            threads.append(threading.current_thread())
            return "[1"

    with pytest.raises(RefusedError, match="no JSON"):
        await door.door.envelope_call(cast(pb.Document, Asked()), lambda _given: {})
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("version", [2**31, 2**64 - 1])
async def test_an_envelope_of_a_newer_version_is_the_fault_of_its_caller(door: GrpcSite, version: int) -> None:
    request = json.dumps({"pipeline": "sample", "raw_input": "Where?", "user_id": "u"})
    envelope = json.loads((await door.call("CreateEnvelope", pb.Document(json=request))).json)
    newer = pb.Document(json=json.dumps(envelope | {"schema_version": version}))
    refusal = await door.refused(door.call("CanContinue", newer))
    refusal.says(Code.INVALID_ARGUMENT, "bad_input", "newer version", str(version))
    assert not refusal.problem.HasField("run_id")
    assert json.loads((await door.call("Validate", newer)).json)["valid"] is False


@pytest.mark.parametrize("deadline_ms", [-(2**63), -(10**15), -1, 0, 1])
async def test_a_deadline_has_passed_however_long_ago(door: GrpcSite, deadline_ms: int) -> None:
    request = json.dumps({"pipeline": "sample", "raw_input": "Where?", "user_id": "u"})
    envelope = json.loads((await door.call("CreateEnvelope", pb.Document(json=request))).json)
    envelope["bounds"] = {"deadline_ms": deadline_ms}
    told = json.loads((await door.call("CanContinue", pb.Document(json=json.dumps(envelope)))).json)
    assert told["reason"] == "deadline_exceeded"


@pytest.mark.parametrize("name", ["CreateEnvelope", "CanContinue", "Result"])
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"run_id": 1}', '{"a": 1e999}', "[" * 65 + "]" * 65])
async def test_a_document_that_is_none_is_refused(door: GrpcSite, name: str, text: str) -> None:
    refusal = await door.refused(door.call(name, pb.Document(json=text)))
    assert refusal.code == Code.INVALID_ARGUMENT
    assert refusal.problem.code in {"bad_input", "bad_request"}


async def test_the_kernel_calls_know_the_pipelines_of_the_service_and_no_files(door: GrpcSite) -> None:
    for name in ("code_analysis", "/etc/passwd", "../sample", ""):
        request = pb.Document(json=json.dumps({"pipeline": name, "raw_input": "x", "user_id": "u"}))
        refusal = await door.refused(door.call("CreateEnvelope", request))
        refusal.says(Code.NOT_FOUND, "unknown_name", "sample")


async def test_a_bug_is_told_without_its_words(door: GrpcSite) -> None:
    door.site.bug = RuntimeError("secret of /folders/of/the/operator")
    refusal = await door.refused(door.call("Get", pb.GetRequest(run_id="r-1")))
    refusal.says(Code.INTERNAL, "internal", "RuntimeError")
    assert "secret" not in refusal.details + refusal.problem.detail


async def test_a_system_that_does_not_answer_is_unavailable(door: GrpcSite) -> None:
    door.site.is_dead = True
    refusal = await door.refused(door.call("Stream", pb.StreamRequest(run_id="r-1")))
    refusal.says(Code.UNAVAILABLE, "cluster", "supervisor")


def all_errors(kind: type[JeevesError] = JeevesError) -> list[type[JeevesError]]:
    return [kind, *(each for sub in kind.__subclasses__() for each in all_errors(sub))]


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_error_of_the_tree_has_a_status_of_its_own_kind(kind: type[JeevesError]) -> None:
    failure = failure_of(members_of(kind("told")))
    is_of_caller = failure.code in {
        Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.PERMISSION_DENIED,
        Code.RESOURCE_EXHAUSTED,
    }  # fmt: skip
    assert is_of_caller == issubclass(kind, InputError), failure
    assert failure.code not in {Code.OK, Code.UNKNOWN}
    assert (failure.message, failure.problem.code) == ("told", kind.code)


def test_every_status_that_the_http_door_answers_a_run_call_with_has_one_here() -> None:
    of_connections = {405, 408, 411, 415, 421, 431}
    answered = {int(status) for kind in ("chat", "control", "events") for status in answers_of(kind)}
    assert {status for status in answered if status >= 400} <= set(STATUS_OF_HTTP) | of_connections


@pytest.mark.parametrize("sign", ["x", "é", "…", "\n"])
def test_long_words_are_cut_to_what_metadata_can_hold(sign: str) -> None:
    members = {"status": 422, "code": "bad_input", "detail": sign * 5_000, "run_id": "r" * 5_000}
    failure = failure_of({**members, "values": {"known": ["x" * 5_000]}})
    assert len(failure.message.encode()) <= MAX_MESSAGE_BYTES
    assert len(failure.problem.detail.encode()) <= MAX_DETAIL_BYTES
    assert not failure.problem.HasField("values_json")
    assert len(failure.details()) < 3_000
    for most in (MAX_MESSAGE_BYTES - 1, MAX_MESSAGE_BYTES):
        assert cut("x" * most, MAX_MESSAGE_BYTES) == "x" * most


def test_the_generated_code_is_what_the_proto_file_gives(tmp_path: Path) -> None:
    _, command = shell_blocks("guides/grpc.md")
    program, *arguments = command.split()
    assert program == "python"
    subprocess.run([sys.executable, *arguments, str(tmp_path)], cwd=ROOT, check=True, timeout=120)
    for name in GENERATED:
        kept = ROOT / "serve" / "grpc" / "v1" / name
        made = tmp_path / "serve" / "grpc" / "v1" / name
        assert made.read_bytes() == kept.read_bytes(), f"{name}: run python -m serve.grpc.generate"


def test_the_generated_code_is_what_the_extra_promises_to_run() -> None:
    code = (ROOT / "serve" / "grpc" / "v1" / "jeeves_pb2_grpc.py").read_text(encoding="utf-8")
    told = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = code.partition("GRPC_GENERATED_VERSION = '")[2].partition("'")[0]
    assert f'"grpcio>={version},' in told
    messages = (ROOT / "serve" / "grpc" / "v1" / "jeeves_pb2.py").read_text(encoding="utf-8")
    assert f'"protobuf>={messages.partition("Protobuf Python Version: ")[2].splitlines()[0]},' in told


def test_the_door_is_loaded_only_where_it_is_switched_on() -> None:
    script = "import sys, serve.deployed.joined_service; sys.exit('serve.grpc.door' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


def test_the_shipped_config_is_that_of_the_http_service_with_two_additions() -> None:
    with_grpc, without = (
        yaml.safe_load((ROOT / "configs" / "serve" / name).read_text(encoding="utf-8"))
        for name in ("jeeves_grpc.yaml", "jeeves.yaml")
    )
    options = gRPCOptions(**with_grpc.pop("grpc_options"))
    assert options.grpc_servicer_func_callable == [jeeves_pb2_grpc.add_JeevesServicer_to_server]
    assert not options.enable_reflection
    assert with_grpc["applications"][0]["args"].pop("grpc") is True
    assert with_grpc == without


def test_replicas_have_a_method_for_each_call_only_if_the_arguments_say_so() -> None:
    calls = {*CALLS, "Stream"}
    assert calls == {method.name for method in pb.DESCRIPTOR.services_by_name["Jeeves"].methods}
    for name in calls:
        assert "grpc_context" in inspect.signature(getattr(JeevesGrpcService, name)).parameters
        assert not hasattr(JeevesService, name)
    assert not ServiceArguments().grpc
