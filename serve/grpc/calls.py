"""Admits gRPC calls by the rules of the HTTP door, and ends them with their token or the door."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol, TypeVar

import grpc
import msgspec

from runtime.errors import JeevesError, RateLimitedError
from runtime.hosting.limits.rate_limits import RateState
from runtime.primitives.ids import RunId
from runtime.run.bearer_tokens import TokenRecord
from runtime.run.principal import principal
from serve.grpc.statuses import DETAILS_KEY, Failure, failure_of
from serve.http.access.callers import Caller, counted_endpoint
from serve.http.access.rate_fields import rate_fields
from serve.http.access.scopes import check_scope
from serve.http.access.token_check import TokenCheck, ended_token
from serve.http.answering.service import Service
from serve.http.connections.cancelling import cancel_until_done
from serve.http.connections.event_stream import log_unawaited
from serve.http.connections.gate import GIVEN_UP_WITHIN_S, SHUTTING_DOWN, shutting_down
from serve.http.documents.problems import RefusedError, members_of

AUTHORIZATION = "authorization"
RETRY_AFTER = "retry-after"

log = logging.getLogger(__name__)

T = TypeVar("T")


class CallContext(Protocol):
    """Holds the metadata of a call and the status that it ends with, as Ray Serve hands it to a method."""

    def invocation_metadata(self) -> Sequence[tuple[str, str | bytes]]:
        """Return the metadata that the caller sent."""

    def set_code(self, code: grpc.StatusCode) -> None:
        """Set the status of the call."""

    def set_details(self, details: str) -> None:
        """Set what is told with the status."""

    def set_trailing_metadata(self, trailing_metadata: list[tuple[str, str | bytes]]) -> None:
        """Set the metadata that follow the answer."""


class Rights(NamedTuple):
    """Names the HTTP route whose scopes open a call, and the one as which it is counted, if that is another one."""

    route: str
    counted: str | None = None


class Call:
    """Follows one call: its context, and its run once there is one."""

    def __init__(self, context: CallContext) -> None:
        self.context = context
        self.run_id: RunId | None = None
        self._rates: list[tuple[str, str | bytes]] = []

    def on_run(self, run_id: RunId) -> None:
        """Record the run of the call, which errors then name."""
        self.run_id = run_id

    def rated(self, states: Sequence[RateState]) -> None:
        """Tell the caller how far it is from its rate limits."""
        self._rates = [(name.decode(), value.decode()) for name, value in rate_fields(states)]
        self.context.set_trailing_metadata(list(self._rates))

    def fail(self, failure: Failure) -> None:
        """End the call with a failure."""
        self.context.set_code(failure.code)
        self.context.set_details(failure.message)
        self.context.set_trailing_metadata([*self._rates, (DETAILS_KEY, failure.details())])


class Admission:
    """Admits calls: token, scope, rates. A call needs a token wherever the door is."""

    def __init__(self, service: Service, check: TokenCheck) -> None:
        self._service = service
        self._check = check

    async def admit(self, call: Call, rights: Rights) -> tuple[Caller, TokenRecord]:
        """Return who calls, and by which token. Raises RefusedError and RateLimitedError."""
        sent = [value for name, value in call.context.invocation_metadata() if name.lower() == AUTHORIZATION]
        token = await self._check.told([value.encode() if isinstance(value, str) else value for value in sent])
        assert token is not None, "tokens are required"
        check_scope(token, rights.route)
        user_id = principal("token", token.name).user_id
        try:
            call.rated(await self._service.runs.take(user_id, counted_endpoint(rights.counted or rights.route)))
        except RateLimitedError as error:
            call.rated(msgspec.convert(error.values.get("rates", []), list[RateState]))
            raise
        return Caller(user_id, token.scopes), token

    @asynccontextmanager
    async def ending(
        self, call: Call, token: TokenRecord, within_s: float | None = None
    ) -> AsyncGenerator[asyncio.Future[Exception], None]:
        """Give a future that is done once the call must end, with the reason.

        Its token ended, the door closes, or it has lasted for `within_s`.
        """
        ending = asyncio.ensure_future(self._end(call, token, within_s))
        try:
            yield ending
        finally:
            ending.cancel()
            await asyncio.wait({ending})

    async def _end(self, call: Call, token: TokenRecord, within_s: float | None) -> Exception:
        invalid = asyncio.ensure_future(self._check.until_invalid(token))
        closing = asyncio.ensure_future(self._service.closing.wait())
        try:
            await asyncio.wait({invalid, closing}, return_when=asyncio.FIRST_COMPLETED, timeout=within_s)
            if closing.done():
                return shutting_down(call.run_id)
            if invalid.done():
                return ended_token(token)
            assert within_s is not None, "neither has happened"
            return _lasted(within_s)
        finally:
            invalid.cancel()
            closing.cancel()

    def failure(self, call: Call, error: Exception) -> Failure:
        """Return what a call ends with that an error ends; what is no error of ours is logged."""
        if not isinstance(error, JeevesError | RefusedError):
            log.error("grpc.call_failed", exc_info=error)
        members: dict[str, Any] = self._service.paths.value(members_of(error, call.run_id))
        if isinstance(error, RefusedError) and RETRY_AFTER in error.headers:
            members["values"] = {"retry_after_s": json.loads(error.headers[RETRY_AFTER])}
        return failure_of(members)


async def until_ended(work: Awaitable[T], ending: asyncio.Future[Exception]) -> T:
    """Return what some work gives; if it must end before, cancel it, and raise the reason."""
    working = asyncio.ensure_future(work)
    awaited: set[asyncio.Future[Any]] = {working, ending}
    is_told = False
    try:
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ending.result()
        is_told = True
        return working.result()
    finally:
        if not is_told:
            working.add_done_callback(log_unawaited)
        if not working.done():
            is_closing = ending.done() and _is_shutting_down(ending)
            await cancel_until_done(working, GIVEN_UP_WITHIN_S if is_closing else None)


def _lasted(seconds: float) -> RefusedError:
    detail = f"the stream has lasted {seconds:g} s, as long as one may; resume it after the last event received"
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "stream_over", detail, {RETRY_AFTER: "0"})


def _is_shutting_down(ending: asyncio.Future[Exception]) -> bool:
    error = None if ending.cancelled() else ending.result()
    return isinstance(error, RefusedError) and error.code == SHUTTING_DOWN
