"""Calls that nobody waits for any more: what they still come to is no fault of the service, and its bugs are logged."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from runtime.errors import InputError
from serve.grpc.calls import until_ended
from serve.grpc.door import GrpcDoor
from serve.grpc.v1 import jeeves_pb2 as pb
from serve.http.answering.service import Service
from serve.http.connections.event_stream import stream
from serve.http.documents.problems import RefusedError
from tests.doors.grpc_site import GrpcSite, open_grpc_site

HOW_THEY_END: list[tuple[type[Exception], bool]] = [(InputError, False), (RuntimeError, True)]


@pytest.fixture
async def unhandled() -> AsyncIterator[list[dict[str, Any]]]:
    """What nobody took of the futures of this test."""
    found: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: found.append(context))
    yield found


def ends_soon() -> asyncio.Future[Exception]:
    """Done once what is begun in this turn has begun."""
    loop = asyncio.get_running_loop()
    ending: asyncio.Future[Exception] = loop.create_future()
    loop.call_soon(ending.set_result, RefusedError(401, "invalid_token", "told"))
    return ending


async def fails_when_left(error: type[Exception]) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise error("what went wrong") from None


async def left_by_its_caller(error: type[Exception]) -> None:
    """The call is cancelled when its work has just failed."""
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    calling = asyncio.ensure_future(until_ended(failed, asyncio.get_running_loop().create_future()))
    await asyncio.sleep(0)
    failed.set_exception(error("what went wrong"))
    calling.cancel()
    await asyncio.wait({calling})
    assert calling.cancelled()


async def left_by_its_token(error: type[Exception]) -> None:
    """The token ends, and the work fails on being told."""
    with pytest.raises(RefusedError):
        await until_ended(fails_when_left(error), ends_soon())


async def left_stream(error: type[Exception]) -> None:
    """The token ends, and the parts fail on being told."""

    async def parts() -> AsyncGenerator[str, None]:
        await fails_when_left(error)
        yield ""

    assert [part async for part in stream(parts(), 60, str, "alive", ends_soon())] == ["told"]


@pytest.mark.parametrize("left", [left_by_its_caller, left_by_its_token, left_stream])
@pytest.mark.parametrize(("error", "is_bug"), HOW_THEY_END)
async def test_what_fails_after_its_caller_has_left_is_logged_only_if_it_is_a_bug(
    left: Any, error: type[Exception], is_bug: bool, unhandled: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        await left(error)
        await asyncio.sleep(0)
        gc.collect()
    assert unhandled == []
    assert [record.message for record in caplog.records] == (["work.failed_unawaited"] if is_bug else [])


async def test_an_error_that_is_told_to_the_caller_is_not_logged_besides(caplog: pytest.LogCaptureFixture) -> None:
    async def failing() -> None:
        raise RuntimeError("bug")

    with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError):
        await until_ended(failing(), asyncio.get_running_loop().create_future())
    assert caplog.records == []


async def test_parts_that_swallow_a_cancellation_end_with_their_stream_all_the_same() -> None:
    ended: list[str] = []

    async def parts() -> AsyncGenerator[str, None]:
        try:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await asyncio.Event().wait()
            yield ""
        finally:
            ended.append("parts")

    async with asyncio.timeout(10):
        assert [part async for part in stream(parts(), 60, str, "alive", ends_soon())] == ["told"]
    assert ended == ["parts"]


async def test_a_call_whose_work_swallows_a_cancellation_ends_all_the_same() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    async with asyncio.timeout(10):
        with pytest.raises(RefusedError):
            await until_ended(work(), ends_soon())
    assert ended == ["work"]


class Context:
    """The metadata of a call that nobody waits for, and nothing of its status."""

    def __init__(self, metadata: list[tuple[str, str]]) -> None:
        self._metadata = metadata

    def invocation_metadata(self) -> Sequence[tuple[str, str | bytes]]:
        return [*self._metadata]

    def set_code(self, code: Any) -> None: ...

    def set_details(self, details: str) -> None: ...

    def set_trailing_metadata(self, trailing_metadata: Any) -> None: ...


async def waiting_run(door: GrpcSite) -> str:
    return str((await door.call("Run", pb.RunRequest(message="why", wait=True))).run_id)


async def test_a_stream_that_nobody_reads_any_more_gives_back_its_slot(tmp_path: Path) -> None:
    async with open_grpc_site(tmp_path, grpc_stream_s=0.2) as door:
        followed = pb.StreamRequest(run_id=await waiting_run(door))
        # A replica goes on so where Ray Serve's proxy has dropped the call: it was told of no end.
        parts = [part async for part in door.door.stream(followed, Context(door.ann))]
        assert (parts[-1].problem.code, parts[-1].problem.http_status) == ("stream_over", 503)
        assert door.service.bounds["event_streams"]["used"] == 0


async def test_a_stream_that_has_lasted_as_long_as_one_may_is_resumed_without_a_gap(tmp_path: Path) -> None:
    async with open_grpc_site(tmp_path, grpc_stream_s=0.2) as door:
        run_id = await waiting_run(door)
        first = await door.refused(door.call("Stream", pb.StreamRequest(run_id=run_id)))
        first.says(grpc.StatusCode.UNAVAILABLE, "stream_over", "lasted 0.2 s", "resume it")
        assert json.loads(first.problem.values_json) == {"retry_after_s": 0}
        last = [part.event.seq for part in first.parts if part.WhichOneof("part") == "event"][-1]
        asked = await door.call("Get", pb.GetRequest(run_id=run_id))
        resumed = door.call("Stream", pb.StreamRequest(run_id=run_id, after_seq=last))
        answer = pb.AnswerRequest(run_id=run_id, interrupt_id=asked.question.interrupt_id, text="this")
        following = asyncio.ensure_future(_parts(resumed))
        await door.call("Answer", answer)
        rest = await following
        assert rest[0].event.seq == last + 1
        assert rest[-1].run.lifecycle == "terminated"


async def _parts(call: Any) -> list[Any]:
    return [part async for part in call]


class Swallowing:
    """The runs of a site; who is cancelled while its rates are looked up goes on as if it were not."""

    def __init__(self, site: Any) -> None:
        self._site = site
        self.asked = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site, name)

    async def take(self, _user_id: str, _endpoint: str) -> list[Any]:
        self.asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return []


@pytest.mark.parametrize("name", ["Run", "Stream"])
async def test_a_call_that_is_left_while_it_is_admitted_begins_nothing(tmp_path: Path, name: str) -> None:
    async with open_grpc_site(tmp_path) as site:
        runs = Swallowing(site.site)
        service = Service(runs, site.service.spec)
        door, context = GrpcDoor(service, {}), Context(site.ann)
        asked = pb.RunRequest(message="hold this")
        parts = door.stream(pb.StreamRequest(start=asked), context)
        work = door.reply(name, asked, context) if name == "Run" else anext(parts)
        calling = asyncio.ensure_future(work)
        await runs.asked.wait()
        calling.cancel()
        async with asyncio.timeout(10):
            await asyncio.wait({calling})
        assert calling.cancelled()
        assert site.site.log.runs(10) == []
        assert {each["used"] for each in service.bounds.values()} == {0}
