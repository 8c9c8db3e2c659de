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
