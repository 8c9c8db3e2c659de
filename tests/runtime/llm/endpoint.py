"""A real HTTP endpoint in this process that speaks the OpenAI chat protocol, well or badly, as a test wants."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from runtime.llm.messages import Message, ModelRequest, Sampling
from runtime.llm.openai_client import OpenAIBackend
from runtime.llm.providers.openai import OpenAIDeployment
from runtime.llm.tokens import ByteCounter

Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]

PATIENT_S = 30.0
IMPATIENT_S = 0.3
"""For endpoints that never answer: one that does may take longer on a busy machine."""


class Endpoint:
    """Plays handlers in order, the last one again and again; `bodies` and `headers` are what it was sent.

    `peers` are the connections' other ends, one for each request.
    """

    def __init__(self, *handlers: Handler, status_of_models: int = 200) -> None:
        self._handlers = list(handlers)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.peers: list[object] = []
        self.at_work = 0
        self.idle = asyncio.Event()
        self.most_at_work = 0
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._handle)

        async def list_models(_request: web.Request) -> web.StreamResponse:
            return web.json_response({"data": []}, status=status_of_models)

        app.router.add_get("/v1/models", list_models)
        self._server = TestServer(app)

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        await self._server.start_server(ssl=tls)

    async def stop(self) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        return str(self._server.make_url("/v1"))

    def backend(self, key: str | None = None, **settings: Any) -> OpenAIBackend:
        """A backend that talks to this endpoint."""
        return OpenAIBackend(deployment_at(self.url, **settings), ByteCounter(), key)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        handler = self._handlers[min(len(self.bodies), len(self._handlers) - 1)]
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.peers.append(request.transport and request.transport.get_extra_info("peername"))
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            return await handler(request, body)
        finally:
            self.at_work -= 1
            if self.at_work == 0:
                self.idle.set()


def deployment_at(url: str, **settings: Any) -> OpenAIDeployment:
    """An endpoint's deployment."""
    given = {"backend": "openai", "model": "m", "base_url": url, "max_model_len": 4_096}
    given["silence_timeout_s"] = PATIENT_S
    return OpenAIDeployment.model_validate({**given, **settings})


def asked(text: str = "hello", max_tokens: int = 100, **more: Any) -> ModelRequest:
    """A request of one message."""
    return ModelRequest("q-1", (Message("user", text),), Sampling(max_tokens), **more)


def event(content: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": {} if content is None else {"content": content}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


def says(*parts: str, usage: dict[str, Any] | None = None, finish: str = "stop") -> Handler:
    """Answers in parts, and ends as it should."""

    async def handle(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = await _streaming(request)
        for part in parts:
            await response.write(event(part))
        await response.write(event(finish=finish))
        if usage is not None:
            await response.write(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response

    return handle


async def begins(request: web.Request, part: str) -> web.StreamResponse:
    """Writes the beginning of an answer; the caller writes the rest."""
    response = await _streaming(request)
    await response.write(event(part))
    return response


def sends(*chunks: bytes, then_hangs: bool = False, hangs_up: bool = False) -> Handler:
    """Writes these bytes as an event stream, and ends it, falls silent, or drops the connection."""

    async def handle(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = await _streaming(request)
        for chunk in chunks:
            await response.write(chunk)
        if then_hangs:
            await asyncio.Event().wait()
        if hangs_up and request.transport is not None:
            request.transport.abort()
        return response

    return handle


def refuses(status: int, text: str = "no", **headers: str) -> Handler:
    """Answers with an error."""

    async def handle(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=status, text=text, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return handle


async def hangs(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError("an event that nobody sets was set")


async def _streaming(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    return response
