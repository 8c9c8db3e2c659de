"""Drives runs at an HTTP service, by its URL.

Starting a run carries an idempotency key, so that it is tried again when a connection breaks, and starts no second
run. An event stream that breaks, or that ends because the service shuts down, is resumed behind the last event that
was seen.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import httpx2
import msgspec

from runtime.errors import ClusterError, InputError, UnknownNameError, WireError
from runtime.memory.sessions import is_session_id
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.supervision.commands import ClientEvent
from serve.asked_runs import AskedRun
from serve.library.backend import Asked, Started
from serve.library.http_errors import code_of_problem, error_of_problem, error_of_response, reason_of, unreachable
from serve.session_names import NO_PART_OF_A_PATH

log = logging.getLogger(__name__)

MESSAGES = "/api/v1/chat/messages"
RUNS = "/api/v1/runs"
SESSIONS = "/api/v1/chat/sessions"
EVENT_STREAM = "text/event-stream"
RUN_ID_HEADER = "jeeves-run-id"

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 60.0
# A stream shows a sign of life every 15 s.
STREAM_TIMEOUT_S = 45.0
# Before its first event a question may wait for the index of its repository.
START_TIMEOUT_S = 600.0
RETRY_AFTER_S = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
_API_PATH = re.compile("(/api)?/v1(/.*)?$")
_TOKEN = re.compile(r"[!-~]+")
_RUN_ID = re.compile(r"[0-9A-Za-z._:-]*[0-9A-Za-z_:-][0-9A-Za-z._:-]*")
GATEWAY_ERRORS = frozenset({502, 503, 504})
SHUTTING_DOWN = "shutting_down"


class HttpBackend:
    """Drives the runs of a caller at a service. `retry_after_s`: the waits between tries of what may be tried again."""

    def __init__(self, url: str, token: str | None = None, retry_after_s: tuple[float, ...] = RETRY_AFTER_S) -> None:
        """Create a backend; nothing is connected yet. Raises InputError for a URL or a token that is none."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise InputError(f"{url[:200]!r} is no URL of a service; give one such as http://localhost:8700")
        if (path := _API_PATH.search(parts.path)) is not None:
            raise InputError(
                f"{url[:200]!r} is the URL of an API; give that of the service, without {path[0].rstrip('/')}"
            )
        self.url = url.rstrip("/")
        self._retry_after_s = retry_after_s
        # Documents of runs that are over, which a stream has brought and nobody has asked for yet.
        self._final: dict[RunId, dict[str, Any]] = {}
        self._client = httpx2.AsyncClient(
            base_url=self.url,
            headers={} if token is None else {"Authorization": f"Bearer {_checked_token(token)}"},
            timeout=httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            # A proxy of the environment is not asked for this machine itself.
            trust_env=not _is_loopback(parts.hostname),
        )

    async def start(self, asked: Asked, key: str | None) -> Started:
        given = msgspec.to_builtins(asked)
        names = {"question": "message", "session": "session_id"}
        body = {names.get(name, name): value for name, value in given.items() if value not in (None, {}, False)}
        headers = {"Idempotency-Key": key or uuid4().hex, "Accept": EVENT_STREAM}
        response = await self._stream("POST", MESSAGES, json={**body, "stream": True}, headers=headers)
        run_id = response.headers.get(RUN_ID_HEADER)
        if run_id is None:
            await response.aclose()
            raise WireError(f"the service at {self.url} named no run in its answer")
        return Started(RunId(run_id), self._events(RunId(run_id), 0, asked.outputs, response))

    def events(self, run_id: RunId, after_seq: int = 0, outputs: bool = False) -> AsyncGenerator[ClientEvent, None]:
        return self._events(run_id, after_seq, outputs, None)

    async def stage_output(self, run_id: RunId, seq: int) -> dict[str, Any]:
        return _mapping(await self._call("GET", f"{_path(run_id)}/outputs/{seq}"))

    async def document(self, run_id: RunId) -> dict[str, Any]:
        final = self._final.pop(run_id, None)
        return final or _mapping(await self._call("GET", f"{_path(run_id)}/answer"))

    async def cancel(self, run_id: RunId, reason: str) -> dict[str, Any]:
        return _mapping(await self._call("POST", f"{_path(run_id)}/cancel", {"reason": reason}))

    async def pause(self, run_id: RunId, reason: str) -> dict[str, Any]:
        return _mapping(await self._call("POST", f"{_path(run_id)}/pause", {"reason": reason}))

    async def answer(self, run_id: RunId, interrupt_id: str | None, response: InterruptResponse) -> None:
        place = "resume" if interrupt_id is None else f"interrupts/{quote(interrupt_id, safe='')}"
        fields = {name: getattr(response, name) for name in ("text", "approved", "decision", "data")}
        body = {name: value for name, value in fields.items() if value not in (None, "", {})}
        await self._call("POST", f"{_path(run_id)}/{place}", body)

    async def runs(self, limit: int, principal: str | None) -> list[AskedRun]:
        of_principal = "" if principal is None else f"&principal={quote(principal, safe=':')}"
        found = await self._call("GET", f"{RUNS}?limit={limit}{of_principal}")
        try:
            return msgspec.convert(found, list[AskedRun])
        except msgspec.ValidationError as error:
            raise WireError(f"this is no list of runs: {error}") from error

    async def sessions(self, limit: int) -> list[dict[str, Any]]:
        found = await self._call("GET", f"{SESSIONS}?limit={limit}")
        return [_mapping(each) for each in found] if isinstance(found, list) else [_mapping(found)]

    async def session(self, session_id: str, limit: int) -> dict[str, Any]:
        return _mapping(await self._call("GET", f"{_session_path(session_id)}?limit={limit}"))

    async def delete_session(self, session_id: str) -> dict[str, Any]:
        return _mapping(await self._call("DELETE", _session_path(session_id)))

    async def close(self) -> None:
        await self._client.aclose()

    async def _events(
        self, run_id: RunId, after_seq: int, outputs: bool, response: httpx2.Response | None
    ) -> AsyncGenerator[ClientEvent, None]:
        """Yield the events behind `after_seq`, first those of an open response; resume the stream when it breaks."""
        last, tries, is_over = after_seq, 0, False
        while not is_over:
            async with aclosing(self._until_break(run_id, last, outputs, response)) as items:
                async for item in items:
                    if isinstance(item, ClientEvent):
                        last, tries = max(last, item.seq), 0
                        yield item
                    is_over = not isinstance(item, ClientEvent) or item.type == "run.finished" or is_over
            response = None
            if is_over or await self._is_over(run_id, last):
                return
            if tries == len(self._retry_after_s):
                raise ClusterError(
                    f"the event stream of run {run_id} ends behind event {last}, the run does not", run_id=run_id
                )
            await asyncio.sleep(self._retry_after_s[tries])
            tries += 1

    async def _until_break(
        self, run_id: RunId, last: int, outputs: bool, response: httpx2.Response | None
    ) -> AsyncGenerator[ClientEvent | dict[str, Any], None]:
        """Yield the events behind the `last` one, and the answer document if the stream has it, until it breaks."""
        path = f"{_path(run_id)}/events{'?outputs=true' if outputs else ''}"
        response = response or await self._stream("GET", path, headers=_behind(last))
        try:
            async for item in _items_in(response):
                if isinstance(item, ClientEvent):
                    if 0 < item.seq <= last:
                        continue
                    if item.seq > last + 1:
                        return  # a gap: what is missing is asked for
                    last = max(last, item.seq)
                elif item.get("terminal_reason") is not None:
                    self._final[run_id] = item
                yield item
        except httpx2.TransportError as error:
            log.info("library.stream_broken", extra={"run_id": run_id, "after": last, "reason": reason_of(error)})
        finally:
            await response.aclose()

    async def _is_over(self, run_id: RunId, last: int) -> bool:
        """Return whether a run is over and has no event behind the `last` one."""
        told = _mapping(await self._call("GET", f"{_path(run_id)}/events?after={last}"))
        return bool(told.get("is_over")) and not told.get("events")

    async def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the JSON of an answer. A GET is tried again, a POST only if it has not been sent."""
        response = await self._sent(method, path, repeats=method == "GET", json=body)
        try:
            return response.json()
        except ValueError as error:
            raise WireError(f"the service at {self.url} sent no JSON: {error}") from error

    async def _stream(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Return the response of an event stream whose body is not read yet."""
        seconds = START_TIMEOUT_S if method == "POST" else STREAM_TIMEOUT_S
        timeout = httpx2.Timeout(STREAM_TIMEOUT_S, connect=CONNECT_TIMEOUT_S, read=seconds)
        return await self._sent(method, path, repeats=True, streams=True, timeout=timeout, **options)

    async def _sent(
        self, method: str, path: str, *, repeats: bool, streams: bool = False, **options: Any
    ) -> httpx2.Response:
        """Return a good response. Raises the error of any other one, and ClusterError if there is none."""
        for wait_s in (*self._retry_after_s, None):
            try:
                request = self._client.build_request(method, path, **options)
                response = await self._client.send(request, stream=streams)
                if response.is_success:
                    return response
                await response.aread()
                await response.aclose()
            except (httpx2.LocalProtocolError, UnicodeError):
                # Its text has the header that it refuses, and the next try would end alike.
                raise InputError(
                    f"the request cannot be sent to {self.url}: headers such as the idempotency key have printable "
                    "ASCII alone, other texts whole characters"
                ) from None
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if wait_s is None:
                    raise unreachable(self.url, error, _about(path, options.get("headers"))) from error
            except httpx2.TransportError as error:
                if wait_s is None or not repeats:
                    raise unreachable(self.url, error, _about(path, options.get("headers"))) from error
            else:
                if not (repeats and wait_s is not None and (_is_of_gateway(response) or _is_shutting_down(response))):
                    raise error_of_response(response)
            await asyncio.sleep(wait_s or 0)
        raise AssertionError("the last try returns or raises")


async def _items_in(response: httpx2.Response) -> AsyncGenerator[ClientEvent | dict[str, Any], None]:
    """Yield the events of a run in a stream, and the answer document. Raises the error that ends a stream.

    A service that shuts down ends it like a broken connection.
    """
    async for sent in httpx2.EventSource(response):
        try:
            if sent.event not in ("answer", "error"):
                yield msgspec.json.decode(sent.data, type=ClientEvent)
                continue
            told = msgspec.json.decode(sent.data, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise WireError(f"the service sent an event that cannot be read: {str(error)[:200]}") from error
        if sent.event == "error" and told.get("code") == SHUTTING_DOWN:
            return
        if sent.event == "error":
            raise error_of_problem(told)
        yield told


def _behind(last: int) -> Mapping[str, str]:
    return {"Accept": EVENT_STREAM, "Last-Event-ID": str(last)}


def _path(run_id: RunId) -> str:
    """Return the path of a run. Raises UnknownNameError for a text that can be the id of none."""
    if _RUN_ID.fullmatch(run_id) is None:
        raise UnknownNameError(f"no run is named {run_id[:100]!r}", name=run_id[:100], known=[])
    return f"{RUNS}/{run_id}"


def _session_path(session_id: str) -> str:
    """Return the path of a session. Raises UnknownNameError for a text that can be the id of none."""
    if not is_session_id(session_id) or session_id in NO_PART_OF_A_PATH:
        raise UnknownNameError(f"no session of yours is named {session_id[:128]!r}", name=session_id[:128], known=[])
    return f"{SESSIONS}/{quote(session_id, safe='')}"


def _about(path: str, headers: Mapping[str, str] | None) -> dict[str, str]:
    """Return the run_id that a request is about, or the key of the question that it asks."""
    if path.startswith(f"{RUNS}/"):
        return {"run_id": path.removeprefix(f"{RUNS}/").partition("/")[0]}
    key = (headers or {}).get("Idempotency-Key")
    return {} if key is None else {"key": key}


def _checked_token(token: str) -> str:
    """Return a token without the blanks and line ends around it. Raises InputError, which does not show it."""
    stripped = token.strip()
    if _TOKEN.fullmatch(stripped) is None:
        what = "is empty" if not stripped else "has blanks or characters other than printable ASCII in it"
        raise InputError(f"the access token {what}; give one line that `jeeves token create` printed, or None")
    return stripped


def _mapping(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise WireError(f"an object was expected, not {type(found).__name__}")
    return found


def _is_of_gateway(response: httpx2.Response) -> bool:
    """Return whether a proxy answered because it did not reach the service, whose own errors are problem documents."""
    return response.status_code in GATEWAY_ERRORS and "problem+json" not in response.headers.get("content-type", "")


def _is_shutting_down(response: httpx2.Response) -> bool:
    """Return whether the service will not answer this request before it is up again."""
    return response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and code_of_problem(response) == SHUTTING_DOWN


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
