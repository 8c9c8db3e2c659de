"""The gRPC door: its calls answer as the HTTP door does, from the same runs and by the same rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from runtime.hosting.limits.limits_service import Limits, LimitsService
from runtime.hosting.limits.rate_limits import RateLimits
from runtime.primitives.clock import SystemClock
from serve.grpc.door import CALLS
from serve.grpc.v1 import jeeves_pb2 as pb
from serve.http.answering.service import ChatMessage
from tests.doors.grpc_site import GrpcSite, open_grpc_site
from tests.doors.http_site import MESSAGES, until

Code = grpc.StatusCode


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[GrpcSite]:
    async with open_grpc_site(tmp_path) as opened:
        yield opened


def question(text: str = "Where?", **fields: Any) -> Any:
    return pb.RunRequest(message=text, **fields)


async def parts_of(call: Any) -> list[Any]:
    return [part async for part in call]


async def test_a_question_is_answered_with_the_document_that_the_http_door_gives(door: GrpcSite) -> None:
    reply = await door.call("Run", question(idempotency_key="k1"))
    assert (reply.lifecycle, reply.terminal_reason) == ("terminated", "completed")
    token = door.ann[0][1]
    asked = await door.site.call("POST", MESSAGES, {"message": "Where?"}, Authorization=token, Idempotency_Key="k1")
    assert asked.run_id == reply.run_id
    assert asked.json == json.loads(reply.answer_json)
    assert len(door.site.log.runs(10)) == 1


async def test_the_run_belongs_to_the_name_of_the_token(door: GrpcSite) -> None:
    reply = await door.call("Run", question())
    got = await door.call("Get", pb.GetRequest(run_id=reply.run_id))
    assert json.loads(got.envelope_json)["request"]["user_id"] == "token:ann"
    bob = door.bob
    for name, request in (
        ("Get", pb.GetRequest(run_id=reply.run_id)),
        ("Cancel", pb.CancelRequest(run_id=reply.run_id)),
        ("Resume", pb.AnswerRequest(run_id=reply.run_id)),
        ("Stream", pb.StreamRequest(run_id=reply.run_id)),
    ):
        (await door.refused(door.call(name, request, bob))).says(Code.NOT_FOUND, "unknown_name", "no run")
    assert json.loads((await door.call("List", pb.ListRequest(), bob)).runs_json) == []


async def test_the_newest_runs_are_listed_by_pages(door: GrpcSite) -> None:
    made = [(await door.call("Run", question(f"Where? {number}"))).run_id for number in range(3)]
    first = await door.call("List", pb.ListRequest(limit=2))
    second = await door.call("List", pb.ListRequest(limit=2, before=first.next))
    listed = {run["run_id"]: run["question"] for page in (first, second) for run in json.loads(page.runs_json)}
    assert listed == {run_id: f"Where? {number}" for number, run_id in enumerate(made)}
    assert not second.HasField("next")


@pytest.mark.parametrize(("limit", "is_taken"), [(0, False), (1, True), (500, True), (501, False), (-1, False)])
async def test_a_page_has_1_to_500_runs(door: GrpcSite, limit: int, is_taken: bool) -> None:
    call = door.call("List", pb.ListRequest(limit=limit))
    if is_taken:
        await call
    else:
        (await door.refused(call)).says(Code.INVALID_ARGUMENT, "bad_input", "limit")


async def test_a_question_of_a_run_is_answered_and_the_run_goes_on(door: GrpcSite) -> None:
    waiting = await door.call("Run", question("why", wait=True))
    assert (waiting.lifecycle, waiting.question.kind, waiting.question.text) == ("waiting", "clarification", "Which?")
    told = {"run_id": waiting.run_id, "text": "this one"}
    (await door.refused(door.call("Answer", pb.AnswerRequest(**told)))).says(
        Code.INVALID_ARGUMENT, "bad_input", "interrupt_id"
    )
    other = pb.AnswerRequest(interrupt_id="i-0", **told)
    (await door.refused(door.call("Answer", other))).says(Code.FAILED_PRECONDITION, "interrupt")
    await door.call("Answer", pb.AnswerRequest(interrupt_id=waiting.question.interrupt_id, **told))
    parts = await parts_of(door.call("Stream", pb.StreamRequest(run_id=waiting.run_id)))
    assert parts[-1].run.terminal_reason == "completed"
    (await door.refused(door.call("Resume", pb.AnswerRequest(**told)))).says(Code.FAILED_PRECONDITION, "run_state")


async def test_a_run_is_cancelled_and_who_waits_for_it_is_told(door: GrpcSite) -> None:
    call = door.call("Run", question("hold this"))
    await until(door.site.log.unfinished)
    (run_id,) = [run.run_id for run in door.site.log.runs(10)]
    reply = await door.call("Cancel", pb.CancelRequest(run_id=run_id, reason="enough"))
    assert reply.lifecycle == "terminated"
    assert (await call).terminal_reason == reply.terminal_reason == "user_cancelled"
    (await door.refused(door.call("Cancel", pb.CancelRequest(run_id=run_id)))).says(
        Code.FAILED_PRECONDITION, "run_state", run_id
    )


async def test_a_stream_has_all_events_and_the_run_last(door: GrpcSite) -> None:
    start = pb.StreamRequest(start=question(idempotency_key="k1"))
    *events, last = await parts_of(door.call("Stream", start))
    assert [part.event.seq for part in events] == list(range(1, len(events) + 1))
    assert json.loads(events[0].event.json)["run_id"] == last.run.run_id
    assert last.run == await door.call("Run", question(idempotency_key="k1"))
    again = await parts_of(door.call("Stream", pb.StreamRequest(run_id=last.run.run_id)))
    assert again == [*events, last]


@pytest.mark.parametrize("by", ["key", "id"])
async def test_a_stream_is_resumed_after_its_last_event_and_at_none_that_it_has_not(door: GrpcSite, by: str) -> None:
    *events, last = await parts_of(door.call("Stream", pb.StreamRequest(start=question(idempotency_key="k1"))))
    target = {"start": question(idempotency_key="k1")} if by == "key" else {"run_id": last.run.run_id}
    end = events[-1].event.seq
    for after, expected in ((0, events), (end - 1, events[-1:]), (end, [])):
        got = await parts_of(door.call("Stream", pb.StreamRequest(after_seq=after, **target)))
        assert got == [*expected, last], after
    for after in (end + 1, 2**53, 2**53 + 1, -1, -(2**63)):
        refusal = await door.refused(door.call("Stream", pb.StreamRequest(after_seq=after, **target)))
        refusal.says(Code.INVALID_ARGUMENT, "bad_input")
        assert [part.problem for part in refusal.parts] == [refusal.problem]
    assert len(door.site.log.runs(10)) == 1


async def test_a_stream_of_a_question_is_resumed_by_a_known_key_only(door: GrpcSite) -> None:
    without = pb.StreamRequest(start=question(), after_seq=1)
    (await door.refused(door.call("Stream", without))).says(Code.INVALID_ARGUMENT, "bad_input", "after_seq")
    unknown = pb.StreamRequest(start=question(idempotency_key="new"), after_seq=1)
    (await door.refused(door.call("Stream", unknown))).says(Code.NOT_FOUND, "unknown_name", "after_seq")
    (await door.refused(door.call("Stream", pb.StreamRequest()))).says(Code.INVALID_ARGUMENT, "bad_input", "run_id")
    assert door.site.log.runs(10) == []


async def test_outputs_come_with_the_ends_of_stages(door: GrpcSite) -> None:
    start = pb.StreamRequest(start=question("give 9"), outputs=True)
    events = [json.loads(part.event.json) for part in await parts_of(door.call("Stream", start)) if part.event.seq]
    outputs = [event["data"]["output"] for event in events if "output" in event.get("data", {})]
    assert {"found": "x" * 9} in outputs


async def test_a_silent_stream_shows_signs_of_life(tmp_path: Path) -> None:
    async with open_grpc_site(tmp_path, stream_alive_s=0.01) as door:
        call = door.call("Stream", pb.StreamRequest(start=question("hold this")))
        async for part in call:
            if part.WhichOneof("part") == "alive":
                break
        door.site.hold.set()
        assert (await parts_of(call))[-1].run.lifecycle == "terminated"


@pytest.mark.parametrize("name", ["Run", "Stream"])
async def test_a_client_that_goes_away_gives_back_its_place_and_its_run_goes_on(tmp_path: Path, name: str) -> None:
    async with open_grpc_site(tmp_path, max_asked=1, max_streams=1) as door:
        held = question("hold this", idempotency_key="k1")
        request = held if name == "Run" else pb.StreamRequest(start=held)
        call = door.call(name, request)
        begun = asyncio.ensure_future(call.read() if name == "Stream" else asyncio.wait_for(_of(call), 60))
        await until(door.site.log.unfinished)
        refusal = await door.refused(door.call(name, request))
        refusal.says(Code.UNAVAILABLE, "overloaded")
        assert json.loads(refusal.problem.values_json)["retry_after_s"] >= 1
        call.cancel()
        await asyncio.gather(begun, return_exceptions=True)
        await until(lambda: not door.under_way)
        assert {each["used"] for each in door.service.bounds.values()} == {0}
        door.site.hold.set()
        again = await door.call("Run", held)
        assert again.terminal_reason == "completed"
        assert len(door.site.log.runs(10)) == 1


async def _of(call: Any) -> Any:
    return await call


async def test_the_deadline_of_a_call_ends_the_waiting_and_not_the_run(door: GrpcSite) -> None:
    held = question("hold this", idempotency_key="k1")
    call = door.stub.Run(held, metadata=door.ann, timeout=0.3)
    await until(door.site.log.unfinished)
    assert (await door.refused(call)).code == Code.DEADLINE_EXCEEDED
    await until(lambda: not door.under_way)
    door.site.hold.set()
    assert (await door.call("Run", held)).terminal_reason == "completed"
    assert len(door.site.log.runs(10)) == 1


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ([], "no_token"),
        ([("authorization", "Bearer jeeves_x_y")], "invalid_token"),
        ([("authorization", "Basic YTpi")], "invalid_token"),
        ([("authorization", "")], "invalid_token"),
        ([("authorization", "Bearer " + "x" * 5_000)], "invalid_token"),
        ([("x-authorization", "Bearer x")], "no_token"),
    ],
)
@pytest.mark.parametrize("name", ["Get", "Stream", "Validate"])
async def test_without_a_valid_token_no_call_is_answered(
    door: GrpcSite, name: str, metadata: list[tuple[str, str]], problem: str
) -> None:
    request = {"Get": pb.GetRequest, "Stream": pb.StreamRequest, "Validate": pb.Document}[name]()
    (await door.refused(door.call(name, request, metadata))).says(Code.UNAUTHENTICATED, problem)
    assert door.site.counted == []


async def test_two_tokens_are_refused_and_so_is_one_that_was_revoked(door: GrpcSite) -> None:
    both = [*door.ann, *door.bob]
    (await door.refused(door.call("List", pb.ListRequest(), both))).says(Code.INVALID_ARGUMENT, "bad_request", "one")
    door.tokens.revoke("ann")
    async with asyncio.timeout(5):
        while not (refusal := await _maybe_refused(door)):
            pass
    assert refusal == Code.UNAUTHENTICATED


async def _maybe_refused(door: GrpcSite) -> Any:
    try:
        await door.call("List", pb.ListRequest())
    except grpc.aio.AioRpcError as error:
        return error.code()
    return None


@pytest.mark.parametrize("name", ["Run", "Stream"])
async def test_a_token_that_is_revoked_ends_what_waits(door: GrpcSite, name: str) -> None:
    request = question("hold this") if name == "Run" else pb.StreamRequest(start=question("hold this"))
    ended = asyncio.ensure_future(door.refused(door.call(name, request)))
    await until(door.site.log.unfinished)
    door.tokens.revoke("ann")
    refusal = (await ended).says(Code.UNAUTHENTICATED, "invalid_token", "no longer")
    assert refusal.problem.run_id == door.site.log.runs(10)[0].run_id
    assert len(door.site.log.unfinished()) == 1


@pytest.mark.parametrize("name", ["Run", "Stream"])
async def test_a_door_that_closes_tells_what_waits_where_its_run_goes_on(door: GrpcSite, name: str) -> None:
    request = question("hold this") if name == "Run" else pb.StreamRequest(start=question("hold this"))
    ended = asyncio.ensure_future(door.refused(door.call(name, request)))
    await until(door.site.log.unfinished)
    await until(lambda: any(run.run_id for run in door.site.log.runs(10)))
    door.service.closing.set()
    refusal = (await ended).says(Code.UNAVAILABLE, "shutting_down", "shutting down")
    assert json.loads(refusal.problem.values_json) == {"retry_after_s": 5}


OPENED = {
    "ask": {"Run", "Answer", "Resume", "Cancel"},
    "watch": {"Get", "List", "Stream"},
    "operate": {"Answer", "Resume", "Cancel", "Get", "List", "Stream"},
}
REQUESTS: dict[str, Any] = {
    "Run": question(),
    "Stream": pb.StreamRequest(run_id="r-none"),
    "Answer": pb.AnswerRequest(run_id="r-none", interrupt_id="i-1"),
    "Resume": pb.AnswerRequest(run_id="r-none"),
    "Cancel": pb.CancelRequest(run_id="r-none"),
    "Get": pb.GetRequest(run_id="r-none"),
    "List": pb.ListRequest(),
} | dict.fromkeys(("CreateEnvelope", "CanContinue", "Result", "Validate"), pb.Document(json="{}"))
KERNEL = {"CreateEnvelope", "CanContinue", "Result", "Validate"}


@pytest.mark.parametrize("scope", list(OPENED))
async def test_each_scope_opens_its_calls_and_no_others(door: GrpcSite, scope: Any) -> None:
    assert set(REQUESTS) == {*CALLS, "Stream"}
    metadata = door.of_scope[scope]
    for name, request in REQUESTS.items():
        try:
            call = door.call(name, request, metadata)
            await (parts_of(call) if name == "Stream" else call)
            is_open = True
        except grpc.aio.AioRpcError as error:
            is_open = error.code() != Code.PERMISSION_DENIED
        assert is_open == (name in OPENED[scope] | KERNEL), name
    starting = door.call("Stream", pb.StreamRequest(start=question()), metadata)
    if scope == "ask":
        assert (await parts_of(starting))[-1].run.lifecycle == "terminated"
    else:
        assert (await door.refused(starting)).code == Code.PERMISSION_DENIED


async def test_an_operator_sees_the_runs_of_others(door: GrpcSite) -> None:
    run_id = (await door.call("Run", question())).run_id
    assert (await door.call("Get", pb.GetRequest(run_id=run_id), door.olga)).run_id == run_id
    listed = await door.call("List", pb.ListRequest(principal="all"), door.olga)
    assert [run["run_id"] for run in json.loads(listed.runs_json)] == [run_id]
    denied = await door.refused(door.call("List", pb.ListRequest(principal="all")))
    denied.says(Code.PERMISSION_DENIED, "scope_lacking")


async def test_calls_are_counted_as_what_they_do_and_beyond_the_rate_they_are_refused(door: GrpcSite) -> None:
    for name, request in REQUESTS.items():
        call = door.call(name, request)
        await asyncio.gather(parts_of(call) if name == "Stream" else _of(call), return_exceptions=True)
    counted = dict(zip(REQUESTS, (endpoint for _, endpoint in door.site.counted), strict=True))
    assert counted == {"Run": "chat", "Stream": "events", "Answer": "answer", "Resume": "answer", "Cancel": "cancel",
                       "Get": "run", "List": "runs"} | dict.fromkeys(KERNEL, "run")  # fmt: skip
    assert {user for user, _ in door.site.counted} == {"token:ann"}


async def test_the_rates_of_a_caller_follow_each_answer(door: GrpcSite) -> None:
    two = RateLimits(per_minute=2, per_hour=None, per_day=None, burst=None)
    door.site.rates = LimitsService(Limits(rates=two), SystemClock())
    call = door.call("List", pb.ListRequest())
    await call
    assert ";r=1;" in dict(await call.trailing_metadata())["ratelimit"]
    await door.call("List", pb.ListRequest())
    refusal = (await door.refused(door.call("List", pb.ListRequest()))).says(Code.RESOURCE_EXHAUSTED, "rate_limited")
    assert json.loads(refusal.problem.values_json)["retry_after_s"] > 0
    assert "r=0" in refusal.trailing["ratelimit"]


async def test_a_key_stands_for_one_request(door: GrpcSite) -> None:
    first = await door.call("Run", question(idempotency_key="k1"))
    refusal = await door.refused(door.call("Run", question("When?", idempotency_key="k1")))
    refusal.says(Code.ALREADY_EXISTS, "idempotency_key")
    assert refusal.problem.run_id == first.run_id
    assert (await door.call("Run", question(idempotency_key="k1"), door.bob)).run_id != first.run_id


@pytest.mark.parametrize(("length", "is_taken"), [(0, False), (1, True), (255, True), (256, False)])
async def test_a_key_may_be_just_so_long(door: GrpcSite, length: int, is_taken: bool) -> None:
    call = door.call("Run", question(idempotency_key="k" * length))
    if is_taken:
        await call
    else:
        (await door.refused(call)).says(Code.INVALID_ARGUMENT, "bad_input", "Idempotency-Key")


def test_a_request_has_the_fields_of_the_http_door_and_no_others() -> None:
    ours = {field.name for field in pb.RunRequest.DESCRIPTOR.fields} - {"idempotency_key"}
    assert ours == set(ChatMessage.model_fields) - {"stream", "outputs"}
