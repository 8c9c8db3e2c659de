"""Reads server-sent events as a client does: line by line, for as long as it wants."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx

from tests.doors.http_site import MESSAGES, Site


class Part(NamedTuple):
    """A server-sent event; `id` is empty if it has none."""

    event: str
    id: str
    data: Any


class Stream:
    """An open stream."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response

    @property
    def run_id(self) -> str:
        return str(self.response.headers["jeeves-run-id"])

    async def parts(self) -> AsyncIterator[Part]:
        fields: dict[str, str] = {}
        async for line in self.response.aiter_lines():
            if line.startswith(":"):
                continue
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                yield Part(fields.get("event", "message"), fields.get("id", ""), json.loads(fields["data"]))
                fields = {}


@asynccontextmanager
async def streamed(site: Site, message: str, key: str = "", last: str = "", **fields: Any) -> AsyncIterator[Stream]:
    """The stream of a question. `last`: the id of the last event that was received."""
    headers = {name: value for name, value in (("Idempotency-Key", key), ("Last-Event-ID", last)) if value}
    headers |= fields.pop("headers", {})
    body = {"message": message, "stream": True, **fields}
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{site.port}", trust_env=False, timeout=60) as client,
        client.stream("POST", MESSAGES, json=body, headers=headers) as response,
    ):
        yield Stream(response)


async def whole(site: Site, message: str, key: str = "", last: str = "", **fields: Any) -> list[Part]:
    """All events of a question's stream."""
    async with streamed(site, message, key, last, **fields) as stream:
        assert stream.response.status_code == 200, await stream.response.aread()
        return [part async for part in stream.parts()]
