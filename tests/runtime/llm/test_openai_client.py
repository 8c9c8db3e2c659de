"""The OpenAI-compatible backend against a real endpoint that behaves well, badly, or not at all."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from runtime.errors import (
    ModelBrokeOffError,
    ModelBusyError,
    ModelDownError,
    ModelFailedError,
    ModelRefusedError,
    SettingsError,
)
from runtime.llm.messages import TextDelta
from runtime.llm.openai_answer import MAX_CHARS_PER_TOKEN
from runtime.llm.openai_client import OpenAIBackend
from runtime.llm.protocol import drained
from runtime.llm.providers.openai import api_key
from runtime.llm.tokens import ByteCounter
from runtime.primitives.clock import FakeClock, SystemClock
from tests.runtime.llm.endpoint import (
    IMPATIENT_S,
    PATIENT_S,
    Endpoint,
    Handler,
    asked,
    begins,
    deployment_at,
    event,
    hangs,
    refuses,
    says,
    sends,
)

Opened = Callable[..., Awaitable[tuple[Endpoint, OpenAIBackend]]]


@pytest.fixture
async def opened() -> AsyncGenerator[Opened, None]:
    closers: list[Callable[[], Awaitable[None]]] = []

    async def open_(*handlers: Handler, key: str | None = None, **settings: object) -> tuple[Endpoint, OpenAIBackend]:
        endpoint = Endpoint(*handlers)
        await endpoint.start()
        backend = endpoint.backend(key, **settings)
        closers.extend((backend.close, endpoint.stop))
        return endpoint, backend

    yield open_
    for close in closers:
        await close()


async def test_an_answer_comes_in_pieces_and_ends_with_what_it_took(opened: Opened) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}
    _, backend = await opened(says("Good ", "day", usage=usage))
    async with aclosing(backend.stream(asked())) as stream:
        pieces = [piece async for piece in stream]
    assert pieces[:2] == [TextDelta("Good "), TextDelta("day")]
    done = await drained(backend, asked())
    assert (done.text, done.finish_reason) == ("Good day", "stop")
    assert (done.tokens_in, done.tokens_out, done.tokens_cached) == (7, 2, 5)


async def test_a_server_that_tells_no_usage_is_counted_by_our_counter(opened: Opened) -> None:
    _, backend = await opened(says("abc", usage=None))
    done = await drained(backend, asked("hello"))
    assert (done.tokens_in, done.tokens_out) == (16 + 16 + 5, 3)


async def test_a_request_says_model_bounds_schema_and_key(opened: Opened) -> None:
    endpoint, backend = await opened(says("{}"), key="s3cret")
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    await drained(backend, asked("hi", 9, schema=schema))
    (body,), (headers,) = endpoint.bodies, endpoint.headers
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 9, True)
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert body["response_format"]["json_schema"]["schema"] == schema
    assert headers["Authorization"] == "Bearer s3cret"


@pytest.mark.parametrize(("mode", "form"), [("json_object", {"type": "json_object"}), ("none", None)])
async def test_servers_without_schemas_are_asked_for_less(opened: Opened, mode: str, form: object) -> None:
    endpoint, backend = await opened(says("{}"), structured_output=mode)
    await drained(backend, asked(schema={"type": "object"}))
    assert endpoint.bodies[0].get("response_format") == form


BOUNDED = {
    "type": "object",
    "additionalProperties": False,
    "required": ["texts", "maxItems"],
    "properties": {
        "texts": {"type": "array", "maxItems": 3, "minItems": 1, "items": {"type": "string", "maxLength": 9}},
        "maxItems": {"type": "integer", "minimum": 0, "maximum": 9},
    },
}


async def test_a_schema_is_sent_without_what_strict_services_refuse_unless_bounds_are_wanted(opened: Opened) -> None:
    endpoint, backend = await opened(says("{}"))
    await drained(backend, asked(schema=BOUNDED))
    assert endpoint.bodies[0]["response_format"]["json_schema"]["schema"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["texts", "maxItems"],
        "properties": {
            "texts": {"type": "array", "items": {"type": "string"}},
            "maxItems": {"type": "integer"},
        },
    }
    endpoint, backend = await opened(says("{}"), structured_output="bounded_json_schema")
    await drained(backend, asked(schema=BOUNDED))
    assert endpoint.bodies[0]["response_format"]["json_schema"]["schema"] == BOUNDED


def forms_of(endpoint: Endpoint) -> list[str]:
    return [body.get("response_format", {"type": "none"})["type"] for body in endpoint.bodies]


@pytest.mark.parametrize(
    ("refusals", "forms"),
    [
        (["response_format json_schema is not supported"], ["json_schema", "json_object"]),
        (
            ["Invalid schema for response_format: 'maxLength' is not permitted.", "response_format is unknown"],
            ["json_schema", "json_object", "none"],
        ),
    ],
)
async def test_a_refused_schema_falls_back_to_json_mode_and_then_to_none_and_is_not_tried_again(
    opened: Opened, refusals: list[str], forms: list[str]
) -> None:
    endpoint, backend = await opened(*(refuses(400, told) for told in refusals), says("{}"))
    assert (await drained(backend, asked(schema=BOUNDED))).text == "{}"
    assert forms_of(endpoint) == forms
    await drained(backend, asked(schema=BOUNDED))
    assert forms_of(endpoint) == [*forms, forms[-1]]


@pytest.mark.parametrize(
    ("handler", "schema"),
    [
        (refuses(400, "maximum context length is 5 tokens"), BOUNDED),
        (refuses(400, "response_format is unknown"), None),
        (refuses(401, "no schema for you"), BOUNDED),
    ],
    ids=["another refusal", "no schema was sent", "another status"],
)
async def test_other_refusals_are_no_reason_to_ask_for_less(
    opened: Opened, handler: Handler, schema: dict[str, Any] | None
) -> None:
    endpoint, backend = await opened(handler)
    with pytest.raises(ModelRefusedError):
        await drained(backend, asked(schema=schema))
    assert len(endpoint.bodies) == 1


async def test_an_endpoint_that_refuses_every_form_is_asked_once_with_each(opened: Opened) -> None:
    endpoint, backend = await opened(refuses(400, "schema"), structured_output="bounded_json_schema")
    with pytest.raises(ModelRefusedError):
        await drained(backend, asked(schema=BOUNDED))
    assert forms_of(endpoint) == ["json_schema", "json_schema", "json_object", "none"]


@pytest.mark.parametrize("temperature", [None, 0.0, 0.7])
async def test_a_temperature_is_sent_only_where_one_is_set(opened: Opened, temperature: float | None) -> None:
    endpoint, backend = await opened(says("{}"))
    request = asked()
    sampling = msgspec.structs.replace(request.sampling, temperature=temperature)
    await drained(backend, msgspec.structs.replace(request, sampling=sampling))
    assert endpoint.bodies[0].get("temperature") == temperature


@pytest.mark.parametrize("parts", [1, 3])
async def test_an_answer_that_is_not_streamed_is_taken_too_in_however_many_parts_it_comes(
    opened: Opened, parts: int
) -> None:
    async def whole(request: web.Request, _body: object) -> web.StreamResponse:
        choice = {"message": {"content": "all at once"}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}).encode()
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        size = -(-len(body) // parts)
        for start in range(0, len(body), size):
            await response.write(body[start : start + size])
            await asyncio.sleep(0.01)
        return response

    _, backend = await opened(whole)
    done = await drained(backend, asked())
    assert (done.text, done.tokens_in, done.tokens_out) == ("all at once", 3, 4)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelRefusedError),
        (401, ModelRefusedError),
        (403, ModelRefusedError),
        (404, ModelRefusedError),
        (307, ModelRefusedError),
        (408, ModelDownError),
        (429, ModelBusyError),
        (500, ModelDownError),
        (502, ModelDownError),
        (503, ModelBusyError),
    ],
)
async def test_each_status_says_whether_asking_again_would_help(
    opened: Opened, status: int, kind: type[ModelFailedError]
) -> None:
    _, backend = await opened(refuses(status, "because   of\nthis"))
    with pytest.raises(kind, match=f"answered {status}: because of this"):
        await drained(backend, asked())


# What is no time at all is taken as none named: a server must not make its askers wait for ever, or never.
TIMES_TO_COME_BACK = [
    *[("2", 2.0), ("0.5", 0.5), ("-3", 0.0), ("0", 0.0)],
    *[(header, None) for header in ("soon", None, "", "nan", "inf", "-inf", "1e999", "Infinity", "9" * 400)],
]


@pytest.mark.parametrize(("header", "seconds"), TIMES_TO_COME_BACK)
async def test_the_time_that_a_busy_server_names_is_read(
    opened: Opened, header: str | None, seconds: float | None
) -> None:
    _, backend = await opened(refuses(429, **({} if header is None else {"Retry_After": header})))
    with pytest.raises(ModelBusyError) as caught:
        await drained(backend, asked())
    assert caught.value.values["retry_after_s"] == seconds


EIGHT_O_CLOCK_MS = 784_108_800_000  # 6 November 1994, 08:00:00 GMT


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose own time is not GMT."""
    monkeypatch.setenv("TZ", "JST-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize(("clock_s", "seconds"), [(-5, 5.0), (0, 0.0), (5, 0.0)])
@pytest.mark.parametrize(
    "date", ["Sun, 06 Nov 1994 08:00:00 GMT", "Sunday, 06-Nov-94 08:00:00 GMT", "Sun Nov  6 08:00:00 1994"]
)
async def test_a_date_as_the_time_to_come_back_is_counted_from_now_in_all_forms_of_http(
    date: str, clock_s: int, seconds: float
) -> None:
    endpoint = Endpoint(refuses(503, Retry_After=date))
    await endpoint.start()
    clock = FakeClock(EIGHT_O_CLOCK_MS + 1_000 * clock_s)
    backend = OpenAIBackend(deployment_at(endpoint.url), ByteCounter(), clock=clock)
    with pytest.raises(ModelBusyError) as caught:
        await drained(backend, asked())
    assert caught.value.values["retry_after_s"] == seconds
    await backend.close()
    await endpoint.stop()


@pytest.mark.parametrize("status", [408, 500, 502, 504])
async def test_a_server_that_failed_may_name_a_time_as_well(opened: Opened, status: int) -> None:
    _, backend = await opened(refuses(status, Retry_After="7"))
    with pytest.raises(ModelDownError) as caught:
        await drained(backend, asked())
    assert caught.value.values["retry_after_s"] == 7.0


@pytest.mark.parametrize(
    ("status", "words"),
    [(307, "base_url"), (401, "key in THE_KEY"), (403, "key in THE_KEY"), (404, "base_url and model")],
)
async def test_a_refusal_says_where_to_look(opened: Opened, status: int, words: str) -> None:
    _, backend = await opened(refuses(status), api_key_env="THE_KEY")
    with pytest.raises(ModelRefusedError, match=words):
        await drained(backend, asked())


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (sends(event("half an ans")), "ended before the answer did"),
        (sends(event("half"), hangs_up=True), "broke off"),
        (sends(event("half"), then_hangs=True), "fell silent"),
        (sends(b"data: {not json\n\n"), "no JSON"),
        (sends(b"data: [1, 2]\n\n"), "a list, not an object"),
        (sends(b"data: " + b"[" * 30_000 + b"\n\n"), "no JSON"),
        (sends(event("x"), b'data: {"error": {"message": "engine died"}}\n\n'), "engine died"),
        (sends(b"\xff\xfe\x00\n\n"), "ended before the answer did"),
        (sends(), "ended before the answer did"),
        (hangs, "fell silent"),
    ],
)
async def test_an_answer_that_is_no_whole_answer_broke_off(opened: Opened, handler: Handler, words: str) -> None:
    _, backend = await opened(handler, silence_timeout_s=IMPATIENT_S if words == "fell silent" else PATIENT_S)
    with pytest.raises(ModelBrokeOffError, match=words) as caught:
        await drained(backend, asked("hello"))
    assert caught.value.values["tokens_in"] == 37


async def test_an_answer_that_broke_off_tells_what_it_took(opened: Opened) -> None:
    _, backend = await opened(sends(event("12345")))
    with pytest.raises(ModelBrokeOffError) as caught:
        await drained(backend, asked("hello"))
    assert (caught.value.values["tokens_in"], caught.value.values["tokens_out"]) == (37, 5)


@pytest.mark.parametrize("usage", [-1, 4_097, 10**30, True, "7", None])
async def test_a_count_that_cannot_be_is_not_believed(opened: Opened, usage: object) -> None:
    told = {"prompt_tokens": usage, "completion_tokens": usage, "prompt_tokens_details": {"cached_tokens": usage}}
    _, backend = await opened(says("abc", usage=told), max_model_len=4_096)
    done = await drained(backend, asked("hello"))
    assert (done.tokens_in, done.tokens_out, done.tokens_cached) == (16 + 16 + 5, 3, 0)


async def test_a_count_of_all_that_the_model_takes_is_believed(opened: Opened) -> None:
    _, backend = await opened(says("abc", usage={"prompt_tokens": 4_096}), max_model_len=4_096)
    assert (await drained(backend, asked())).tokens_in == 4_096


@pytest.mark.parametrize("more", [0, 1])
async def test_a_server_that_does_not_stop_writing_is_stopped(opened: Opened, more: int) -> None:
    _, backend = await opened(says("x" * (10 * MAX_CHARS_PER_TOKEN + more)))
    if more:
        with pytest.raises(ModelBrokeOffError, match="goes on beyond 10 tokens"):
            await drained(backend, asked(max_tokens=10))
    else:
        assert (await drained(backend, asked(max_tokens=10))).text


@pytest.mark.parametrize(
    "body", ["<html>ok</html>", "[]", "null", '{"choices": "none"}', '{"choices": [{"message": 5}]}']
)
async def test_a_page_of_something_else_is_no_answer(opened: Opened, body: str) -> None:
    async def page(_request: web.Request, _body: object) -> web.Response:
        return web.Response(text=body)

    _, backend = await opened(page)
    with pytest.raises(ModelBrokeOffError):
        await drained(backend, asked())


async def test_calling_off_closes_the_connection_so_that_the_server_drops_the_request(opened: Opened) -> None:
    endpoint, backend = await opened(sends(event("a"), then_hangs=True), silence_timeout_s=60)
    started = asyncio.Event()

    async def read() -> None:
        async with aclosing(backend.stream(asked())) as stream:
            async for _ in stream:
                started.set()

    reading = asyncio.create_task(read())
    await started.wait()
    assert endpoint.at_work == 1
    reading.cancel()
    await asyncio.wait({reading})
    async with asyncio.timeout(30):
        await endpoint.idle.wait()


@pytest.mark.parametrize(("status", "is_up"), [(200, True), (401, True), (404, True), (500, False), (503, False)])
async def test_an_endpoint_that_says_anything_but_an_error_of_its_own_answers(status: int, is_up: bool) -> None:
    endpoint = Endpoint(status_of_models=status)
    await endpoint.start()
    backend = endpoint.backend()
    try:
        if is_up:
            await backend.check()
        else:
            with pytest.raises(ModelDownError, match=f"answered {status}"):
                await backend.check()
        assert endpoint.bodies == []
    finally:
        await backend.close()
        await endpoint.stop()


async def test_an_endpoint_that_is_not_there_does_not_answer() -> None:
    endpoint = Endpoint()
    await endpoint.start()
    backend = endpoint.backend()
    await endpoint.stop()
    with pytest.raises(ModelDownError, match="cannot be reached"):
        await backend.check()
    await backend.close()


async def test_no_more_connections_are_open_than_the_deployment_allows(opened: Opened) -> None:
    endpoint, backend = await opened(says("a"), concurrent=2)
    await asyncio.gather(*(drained(backend, asked()) for _ in range(10)))
    assert endpoint.most_at_work <= 2
    assert len(endpoint.bodies) == 10


@pytest.mark.parametrize(("lingers_s", "connections"), [(0.0, 1), (0.02, 1), (60.0, 3)])
async def test_requests_one_after_the_other_share_a_connection_unless_the_server_does_not_end_its_answer(
    lingers_s: float, connections: int
) -> None:
    async def says_late_that_it_is_over(request: web.Request, _body: object) -> web.StreamResponse:
        response = await begins(request, "a")
        await response.write(event(finish="stop") + b"data: [DONE]\n\n")
        await asyncio.sleep(lingers_s)
        return response

    endpoint = Endpoint(says_late_that_it_is_over)
    await endpoint.start()
    # A busy machine may take longer than the grace for an end that comes soon: that one is waited for, however late.
    clock = FakeClock() if connections == 1 else SystemClock()
    backend = OpenAIBackend(deployment_at(endpoint.url), ByteCounter(), clock=clock)
    async with asyncio.timeout(30):
        for _ in range(3):
            assert (await drained(backend, asked())).text == "a"
    await backend.close()
    await endpoint.stop()
    assert len(set(endpoint.peers)) == connections


async def test_an_answer_that_never_falls_silent_and_never_ends_is_given_up(opened: Opened) -> None:
    async def drips(request: web.Request, _body: object) -> web.StreamResponse:
        response = await begins(request, "a")
        while True:
            await response.write(b": still there\n\n")
            await asyncio.sleep(0.02)

    _, backend = await opened(drips, total_timeout_s=0.4, silence_timeout_s=5)
    with pytest.raises(ModelBrokeOffError, match=r"has not come to an end within 0\.4 s"):
        async with asyncio.timeout(30):
            await drained(backend, asked())


async def test_a_machine_that_takes_no_connection_is_not_waited_for() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filling in (first, second):
            filling.setblocking(False)
            filling.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        backend = OpenAIBackend(deployment_at(url, connect_timeout_s=0.2, silence_timeout_s=5), ByteCounter())
        with pytest.raises(ModelDownError, match="cannot be reached in time"):
            async with asyncio.timeout(30):
                await drained(backend, asked())
        await backend.close()


async def test_an_address_that_is_none_is_said() -> None:
    backend = OpenAIBackend(deployment_at("http://[half/v1"), ByteCounter())
    for asking in (drained(backend, asked()), backend.check()):
        with pytest.raises(ModelDownError, match="correct base_url") as caught:
            await asking
        assert caught.value.values["permanent"]
    await backend.close()


async def test_nobody_at_the_address_is_a_deployment_that_is_down() -> None:
    endpoint = Endpoint(says("a"))
    await endpoint.start()
    url = endpoint.url
    await endpoint.stop()
    backend = OpenAIBackend(deployment_at(url), ByteCounter())
    with pytest.raises(ModelDownError, match="cannot be reached"):
        await drained(backend, asked())
    await backend.close()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody has signed but itself, and its key."""
    made, key = folder / "cert.pem", folder / "key.pem"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*command, "-keyout", key, "-out", made], check=True, capture_output=True)
    return made, key


async def test_a_certificate_that_is_not_trusted_is_said_and_one_that_is_named_is_taken(tmp_path: Path) -> None:
    made, key = certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(made, key)
    endpoint = Endpoint(says("safe"))
    await endpoint.start(tls)
    url = endpoint.url.replace("http://", "https://").replace("localhost", "127.0.0.1")
    strict = OpenAIBackend(deployment_at(url), ByteCounter())
    with pytest.raises(
        ModelDownError, match=r"certificate of https://127.* is not trusted \(self-signed.*ca_file"
    ) as caught:
        await drained(strict, asked())
    assert caught.value.values["permanent"]
    trusting = OpenAIBackend(deployment_at(url, ca_file=str(made)), ByteCounter())
    assert (await drained(trusting, asked())).text == "safe"
    astray = OpenAIBackend(deployment_at(url, ca_file=str(tmp_path / "none.pem")), ByteCounter())
    with pytest.raises(ModelDownError, match=r"none\.pem cannot be read") as caught:
        await drained(astray, asked())
    assert caught.value.values["permanent"]
    for backend in (strict, trusting, astray):
        await backend.close()
    await endpoint.stop()


@pytest.mark.parametrize("value", [None, "", "  ", "with blank", "ключ", "line\nbreak"])
def test_a_key_that_is_missing_or_cannot_be_one_is_said_before_anything_is_sent(value: str | None) -> None:
    deployment = deployment_at("http://x", api_key_env="THE_KEY")
    with pytest.raises(SettingsError, match="THE_KEY holds no usable key of http://x"):
        api_key(deployment, {} if value is None else {"THE_KEY": value})


def test_a_key_comes_from_its_variable_or_its_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("abc\n", encoding="utf-8")
    assert api_key(deployment_at("http://x", api_key_env="K"), {"K": "xyz"}) == "xyz"
    assert api_key(deployment_at("http://x", api_key_file=str(tmp_path / "key")), {}) == "abc"
    assert api_key(deployment_at("http://x"), {}) is None
    with pytest.raises(SettingsError, match="cannot be read"):
        api_key(deployment_at("http://x", api_key_file=str(tmp_path / "no")), {})


async def test_a_key_is_not_told_in_errors(opened: Opened) -> None:
    _, backend = await opened(refuses(401), key="s3cret")
    with pytest.raises(ModelRefusedError) as caught:
        await drained(backend, asked())
    assert "s3cret" not in json.dumps([caught.value.message, str(caught.value.values)])
