"""The library over HTTP: connections that break, services that are away, and answers that are none."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import ClusterError, InputError, JeevesError, MachineError, NotPermittedError, WireError
from serve.client import Answer, Jeeves
from serve.library.backend import Asked
from serve.library.http_backend import HttpBackend
from tests.doors.http_site import Site, open_site, until
from tests.doors.library_sites import RETRY_AFTER_S, jeeves_of

MANY = 10_000_000


class Cuts:
    """A line to a site that breaks its connections after as many bytes of their answers as `after` says, in turn."""

    def __init__(self, site: Site, after: list[int]) -> None:
        self.site = site
        self.after = after
        self._serving: set[asyncio.Task[None]] = set()

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection of a client."""
        self._serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def close(self) -> None:
        """Break the connections that are left."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self.after.pop(0) if self.after else MANY
        to_site = sending = None
        try:
            if left:
                from_site, to_site = await asyncio.open_connection("127.0.0.1", self.site.port)
                sending = asyncio.create_task(_send(reader, to_site))
                while left > 0 and (data := await from_site.read(min(left, 65_536))):
                    writer.write(data)
                    await writer.drain()
                    left -= len(data)
        finally:
            writer.transport.abort()
            if sending is not None and to_site is not None:
                sending.cancel()
                await asyncio.wait({sending})
                to_site.transport.abort()


async def _send(reader: asyncio.StreamReader, to_site: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        to_site.write(data)


@asynccontextmanager
async def library_at(port: int, **options: Any) -> AsyncIterator[Jeeves]:
    async with jeeves_of(HttpBackend(f"http://127.0.0.1:{port}", retry_after_s=RETRY_AFTER_S, **options)) as jeeves:
        yield jeeves


@asynccontextmanager
async def cut_library(site: Site, after: list[int]) -> AsyncIterator[Jeeves]:
    cuts = Cuts(site, after)
    server = await asyncio.start_server(cuts.serve, "127.0.0.1", 0)
    async with library_at(server.sockets[0].getsockname()[1]) as jeeves:
        yield jeeves
    server.close()
    await cuts.close()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.mark.long
async def test_a_stream_that_breaks_anywhere_has_every_event_once(site: Site) -> None:
    async with library_at(site.port) as whole:
        expected = [item async for item in whole.stream("Where?", key="k")]
    assert isinstance(expected[-1], Answer)
    for cut in range(150, 2_600, 175):
        async with cut_library(site, [cut]) as jeeves:
            assert [item async for item in jeeves.stream("Where?", key="k")] == expected, cut
    assert len(site.log.runs(10)) == 1


async def test_a_stream_that_breaks_while_the_run_goes_on_is_taken_up(site: Site) -> None:
    async with cut_library(site, [700, 420]) as jeeves, aclosing(jeeves.stream("hold this")) as stream:
        seen = [await anext(stream)]
        site.hold.set()
        seen += [item async for item in stream]
    assert [item.seq for item in seen if not isinstance(item, Answer)] == list(range(1, len(seen)))
    assert isinstance(seen[-1], Answer)


async def test_a_question_whose_connection_breaks_is_one_run(site: Site) -> None:
    async with cut_library(site, [0, 0, 100, 0, 100]) as jeeves:
        assert (await jeeves.ask("Where?")).text == "Answer to Where?"
    assert len(site.log.runs(10)) == 1


async def test_a_service_that_is_away_is_an_error_of_the_cluster(site: Site) -> None:
    async with cut_library(site, [0] * 100) as jeeves:
        with pytest.raises(ClusterError, match="does not answer"):
            await jeeves.ask("Where?")
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with library_at(port) as jeeves:
        with pytest.raises(ClusterError, match="does not answer"):
            await jeeves.runs()


async def test_a_service_that_stays_away_is_told_with_the_run_and_the_key(site: Site) -> None:
    async with cut_library(site, [0] * 100) as jeeves:
        with pytest.raises(ClusterError, match="key k-1") as asked:
            await jeeves.ask("Where?", key="k-1")
        with pytest.raises(ClusterError, match="run r-1") as awaited:
            await jeeves.wait_for("r-1")
    assert (asked.value.values["key"], awaited.value.values["run_id"]) == ("k-1", "r-1")


async def test_a_token_without_the_scope_is_not_permitted() -> None:
    async with canned(problem(403, "scope_lacking")) as (jeeves, _):
        with pytest.raises(NotPermittedError):
            await jeeves.runs()
    async with canned(problem(403, "foreign_origin")) as (jeeves, _):
        with pytest.raises(InputError) as raised:
            await jeeves.runs()
        assert type(raised.value) is InputError


async def test_a_cancellation_that_may_have_been_carried_out_is_not_sent_twice(site: Site) -> None:
    async with library_at(site.port) as whole:
        asking = asyncio.create_task(whole.ask("hold this"))
        await until(site.log.unfinished)
        run_id = site.log.unfinished()[0].run_id
        async with cut_library(site, [1]) as jeeves:
            with pytest.raises(ClusterError, match="does not answer"):
                await jeeves.cancel(run_id)
        assert (await asking).terminal_reason == "user_cancelled"


class Canned:
    """A service that gives the same bytes as answer to every request."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
        await writer.drain()
        writer.close()


def response(status: int, body: bytes, kind: str = "application/json", *lines: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status} Some", f"content-type: {kind}", "connection: close", *lines])
    return f"{head}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def problem(status: int, code: str, *lines: str, **members: Any) -> bytes:
    body = {"status": status, "code": code, "detail": "told so", **members}
    return response(status, json.dumps(body).encode(), "application/problem+json", *lines)


@asynccontextmanager
async def canned(*answers: bytes, token: str | None = None) -> AsyncIterator[tuple[Jeeves, Canned]]:
    service = Canned(*answers)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    async with library_at(server.sockets[0].getsockname()[1], token=token) as jeeves:
        yield jeeves, service
    server.close()


EVENTS = "text/event-stream"
NAMED = "jeeves-run-id: r-1"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(401, "unauthorized"), NotPermittedError),
        (problem(418, "teapot"), InputError),
        (problem(500, "internal"), MachineError),
        (problem(422, "bad_input", values={"message": 1, "self": 2, "code": 3, "a b": 4, "__class__": 5}), InputError),
        (problem(422, "bad_input", values=[1]), InputError),
        (response(404, b"[]"), InputError),
        (response(400, b"\xff{"), InputError),
        (response(302, b"", "text/plain", "location: http://127.0.0.1:1/"), InputError),
        (response(200, b"{}"), WireError),
        (response(200, b"", EVENTS), WireError),
        (response(200, b"data: {\n\n", EVENTS, NAMED), WireError),
        (response(200, b'event: answer\ndata: {"terminal_reason": "x"}\n\n', EVENTS, NAMED), WireError),
        (
            response(200, b'event: error\ndata: {"code": "cluster", "detail": "gone"}\n\n', EVENTS, NAMED),
            ClusterError,
        ),
    ],
    ids=lambda given: given if isinstance(given, type) else "",
)
async def test_an_answer_that_is_none_is_an_error_of_the_tree(answer: bytes, kind: type[JeevesError]) -> None:
    async with canned(answer) as (jeeves, service):
        with pytest.raises(JeevesError) as raised:
            await jeeves.ask("Where?")
        assert type(raised.value) is kind, raised.value
        assert len(service.requests) == 1


async def test_what_a_gateway_answers_is_tried_again(site: Site) -> None:
    away = response(502, b"<html>", "text/html")
    async with canned(away, away, response(200, b"[]")) as (jeeves, service):
        assert await jeeves.runs() == []
        assert len(service.requests) == 3


async def test_a_service_that_shuts_down_is_asked_again_and_its_streams_are_resumed() -> None:
    stopping = problem(503, "shutting_down")
    ended = f"{sent_event(1, 'run.accepted')}event: error\ndata: {json.dumps({'code': 'shutting_down'})}\n\n"
    going_on = response(200, b'{"events": [], "is_over": false}')
    rest = response(200, sent_event(2, "run.finished").encode(), EVENTS)
    final = {"run_id": "r-1", "question": "?", "repo": "/r", "answer": "a", "terminal_reason": "completed"}
    answer = response(200, json.dumps({"citations": [], **final}).encode())
    told = response(200, ended.encode(), EVENTS)
    async with canned(stopping, told, stopping, going_on, rest, answer) as (jeeves, service):
        *events, last = [item async for item in jeeves.follow("r-1")]
    assert [event.seq for event in events if not isinstance(event, Answer)] == [1, 2]
    assert isinstance(last, Answer)
    assert len(service.requests) == 6


async def test_the_token_is_sent_and_never_shown() -> None:
    async with canned(problem(401, "unauthorized"), token="s3cret") as (jeeves, service):
        with pytest.raises(NotPermittedError) as raised:
            await jeeves.runs()
        assert b"Authorization: Bearer s3cret\r\n" in service.requests[0]
        assert "s3cret" not in f"{raised.value}{raised.value.values}{jeeves!r}"


@pytest.mark.parametrize("around", ["{}\n", "{}\r\n", " {} ", "\t{}\n\n"])
async def test_a_token_is_sent_without_the_blanks_around_it(around: str) -> None:
    async with canned(response(200, b"[]"), token=around.format("jeeves_s3cret")) as (jeeves, service):
        assert await jeeves.runs() == []
        assert b"Authorization: Bearer jeeves_s3cret\r\n" in service.requests[0]


@pytest.mark.parametrize(
    "token", ["", " \n", "s3cret s3cret", "s3cret\ns3cret", "s3crét", "s3cret\0s3cret", "s3cret\x7f"]
)
def test_a_token_that_is_none_is_refused_at_the_door_and_not_shown(token: str) -> None:
    with pytest.raises(InputError, match="access token") as raised:
        Jeeves.at("http://127.0.0.1:1", token=token)
    told = "".join(traceback.format_exception_only(raised.value)) + repr(raised.value.values)
    assert "s3cr" not in told
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("key", ["k3y\n", "k3y\x00", "k3\u00fcy"])
async def test_a_request_that_cannot_be_sent_is_tried_once_and_its_headers_are_not_shown(key: str) -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    backend = HttpBackend(url, "jeeves_s3cret", retry_after_s=(3_600.0,))
    with pytest.raises(InputError, match="header") as raised:
        await asyncio.wait_for(backend.start(Asked("Where?"), key), 5)
    await backend.close()
    server.close()
    await server.wait_closed()
    told = "".join(traceback.format_exception(raised.value))
    assert "s3cret" not in told
    assert "k3" not in str(raised.value)


async def test_a_redirection_takes_the_token_nowhere() -> None:
    async with canned(response(200, b"[]")) as (_, other):
        moved = response(307, b"", "text/plain", "location: http://127.0.0.1:1/api/v1/runs")
        async with canned(moved, token="s3cret") as (jeeves, service):
            with pytest.raises(InputError):
                await jeeves.runs()
            assert len(service.requests) == 1
        assert other.requests == []


@pytest.mark.parametrize("url", ["http://host/v1", "https://host:1/api/v1/", "http://host/jeeves/v1/chat/completions"])
def test_the_url_of_an_api_is_refused_and_that_of_the_service_named(url: str) -> None:
    with pytest.raises(InputError, match=r"give that of the service, without (/api)?/v1"):
        Jeeves.at(url)


@pytest.mark.parametrize("url", ["", "localhost:8700", "ftp://host", "http://", "http://user:pw@host", "file:///etc"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="no URL"):
        Jeeves.at(url)


def sent_event(seq: int, kind: str) -> str:
    event = {"seq": seq, "at_ms": 0, "run_id": "r-1", "type": kind, "schema_version": 1}
    return f"id: {seq}\nevent: {kind}\ndata: {json.dumps(event)}\n\n"


async def test_an_event_that_a_service_sends_twice_is_given_once_and_a_gap_is_asked_for() -> None:
    kinds = {1: "run.accepted", 2: "stage.started", 3: "stage.finished", 4: "run.finished"}
    told = [response(200, "".join(sent_event(seq, kinds[seq]) for seq in seqs).encode(), EVENTS) for seqs in SENT]
    going_on = response(200, b'{"events": [{}], "is_over": false}')
    final = {"run_id": "r-1", "question": "?", "repo": "/r", "answer": "a", "terminal_reason": "completed"}
    answer = response(200, json.dumps({"citations": [], **final}).encode())
    async with canned(told[0], going_on, told[1], answer) as (jeeves, service):
        *events, last = [item async for item in jeeves.follow("r-1")]
    assert [event.seq for event in events if not isinstance(event, Answer)] == [1, 2, 3, 4]
    assert isinstance(last, Answer)
    asked = [line for head in service.requests for line in head.split(b"\r\n") if line.startswith(b"Last-Event-ID")]
    assert asked == [b"Last-Event-ID: 0", b"Last-Event-ID: 2"]


SENT = ((1, 2, 2, 1, 4), (2, 3, 3, 4))
"""What the service sends at the first and at the second time: events again, and then one too early."""
