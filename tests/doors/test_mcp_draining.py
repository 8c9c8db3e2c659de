"""What MCP clients over HTTP hear of the calls that are under way when the server stops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from serve.mcp.connections import OpenRequests
from serve.mcp.transports.http import HttpAddress, serve_http

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


class Slow:
    """A server with one tool that waits."""

    def __init__(self) -> None:
        self.called, self.goes_on, self.listens = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.url = ""
        self.sdk: Server[Any] = Server("slow", on_call_tool=self._call)

    async def _call(self, _context: ServerRequestContext[Any, Any], _params: CallToolRequestParams) -> CallToolResult:
        self.called.set()
        await self.goes_on.wait()
        return CallToolResult(content=[TextContent(type="text", text="done after all")])

    def announce(self, url: str) -> None:
        self.url = url
        self.listens.set()


@asynccontextmanager
async def called() -> AsyncIterator[tuple[Slow, asyncio.Task[None], asyncio.Task[httpx.Response]]]:
    """A server that serves, and a call that is under way at it."""
    slow = Slow()
    serving = asyncio.create_task(
        serve_http(slow.sdk, HttpAddress("127.0.0.1", 0), (), None, slow.announce, OpenRequests())
    )
    async with httpx.AsyncClient(timeout=60, trust_env=False, headers=ACCEPT) as client:
        await asyncio.wait_for(slow.listens.wait(), 30)
        begun = await client.post(slow.url, json=HELLO)
        session = {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
        await client.post(slow.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        calling = asyncio.create_task(client.post(slow.url, json=CALL, headers=session))
        await asyncio.wait_for(slow.called.wait(), 30)
        yield slow, serving, calling
        with pytest.raises(asyncio.CancelledError):
            await serving


def told(reply: httpx.Response) -> dict[str, Any]:
    assert reply.status_code == 200
    data = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: {")]
    answer: dict[str, Any] = json.loads(data[-1])
    return answer


async def test_a_call_that_ends_while_the_server_drains_is_answered() -> None:
    async with called() as (slow, serving, calling):
        serving.cancel()
        await asyncio.sleep(0)
        slow.goes_on.set()
        answer = told(await calling)
        assert (answer["id"], answer["result"]["content"][0]["text"]) == (7, "done after all")


@pytest.mark.long
async def test_a_call_that_takes_longer_is_told_that_the_server_stops() -> None:
    async with called() as (_, serving, calling):
        serving.cancel()
        answer = told(await calling)
        assert answer["id"] == 7
        assert "shutting down" in answer["error"]["message"]


@asynccontextmanager
async def listening(body_timeout_s: float) -> AsyncIterator[Slow]:
    """A server that serves, with so much time for bodies."""
    slow = Slow()
    address = HttpAddress("127.0.0.1", 0)
    serving = asyncio.create_task(
        serve_http(slow.sdk, address, (), None, slow.announce, OpenRequests(), body_timeout_s)
    )
    await asyncio.wait_for(slow.listens.wait(), 30)
    yield slow
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


@pytest.mark.parametrize(
    ("path", "status"),
    [("/mcp", b"HTTP/1.1 408 Request Timeout"), ("/other", b"HTTP/1.1 404 Not Found")],
)
async def test_a_body_that_stops_half_way_ends_its_connection_and_nobody_elses(path: str, status: bytes) -> None:
    async with listening(body_timeout_s=0.2) as slow, httpx.AsyncClient(trust_env=False, headers=ACCEPT) as client:
        url = httpx.URL(slow.url)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        headers = f"Host: localhost\r\nContent-Type: application/json\r\nAccept: {ACCEPT['accept']}"
        writer.write(f'POST {path} HTTP/1.1\r\n{headers}\r\nContent-Length: 100\r\n\r\n{{"json'.encode())
        assert (await client.post(slow.url, json=HELLO)).status_code == 200
        told = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        assert told.startswith(status)
        if b"408" in status:
            assert b"6 of 100 bytes of the body were here within 0.2 s" in told
