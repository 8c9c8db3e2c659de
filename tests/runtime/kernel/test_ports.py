"""Queries in one process: one handler, an answer, a timeout that is told apart from the handler's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.bus.queries import LocalQueries, error_from_wire, error_to_wire
from runtime.errors import DuplicateHandlerError, NoHandlerError, QueryTimeoutError, ToolFailedError


def queries(**handlers: Any) -> LocalQueries:
    made = LocalQueries()
    made.register(handlers)
    return made


async def test_a_query_gets_its_handlers_answer() -> None:
    async def double(body: dict[str, Any]) -> dict[str, Any]:
        return {"n": body["n"] * 2}

    assert await queries(double=double).query("double", {"n": 21}) == {"n": 42}


async def test_a_query_that_nobody_handles_fails_with_the_known_types() -> None:
    async def answer(body: dict[str, Any]) -> dict[str, Any]:
        return {}

    with pytest.raises(NoHandlerError, match="nobody handles 'lost'; known: found"):
        await queries(found=answer).query("lost", {})


def test_a_second_handler_for_a_type_is_an_error() -> None:
    async def answer(body: dict[str, Any]) -> dict[str, Any]:
        return {}

    made = queries(x=answer)
    with pytest.raises(DuplicateHandlerError, match="'x' has a handler already"):
        made.register({"x": answer})


async def test_a_query_without_an_answer_in_time_is_a_timeout() -> None:
    async def never(body: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    with pytest.raises(QueryTimeoutError, match=r"no answer to 'never' within 0\.01 s"):
        await queries(never=never).query("never", {}, timeout_s=0.01)


async def test_a_timeout_inside_the_handler_is_not_taken_for_one_of_the_query() -> None:
    async def impatient(body: dict[str, Any]) -> dict[str, Any]:
        raise TimeoutError("its own socket")

    with pytest.raises(TimeoutError, match="its own socket"):
        await queries(impatient=impatient).query("impatient", {})


async def test_the_error_that_a_handler_raises_reaches_the_caller() -> None:
    async def broken(body: dict[str, Any]) -> dict[str, Any]:
        raise ToolFailedError("no index", recoverable=True)

    with pytest.raises(ToolFailedError, match="no index"):
        await queries(broken=broken).query("broken", {})


async def test_a_cancelled_query_is_cancelled_and_no_timeout() -> None:
    async def never(body: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    task = asyncio.create_task(queries(never=never).query("never", {}))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_error_of_an_unknown_code_is_still_an_error() -> None:
    error = error_from_wire({"code": "from the future", "message": "hm"})
    assert error.message == "hm"
    assert error_to_wire(error)["code"] == "jeeves_error"
