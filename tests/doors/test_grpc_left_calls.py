"""Calls that nobody waits for any more: what they still come to is no fault of the service, and its bugs are logged."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from runtime.errors import InputError
from serve.grpc.calls import until_ended
from serve.http.connections.event_stream import stream
from serve.http.documents.problems import RefusedError

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
