"""Runs the MCP door: the toolset of one repository, over standard input and output."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from runtime.settings import Settings
from serve.mcp.search_tools import SearchHost, search_tools
from serve.mcp.server import ToolServer
from serve.mcp.stdio import stdio_streams
from serve.mcp.toolset import Kind, OpenGate, Toolset

START_AFTER_S = 0.2

INSTRUCTIONS = (
    "Jeeves reads one repository for you; its tools see every edit that is on disk. Paths are relative to its root, "
    "lines are counted from 1. To find something, start with locate; to change something, look at its uses with "
    "explore_symbol_usage and at its tests with find_related first. Answers are short: `cut` or `hint` says what was "
    "left out and how to get it."
)


async def serve_stdio(settings: Settings, root: str, kinds: Sequence[Kind]) -> None:
    """Serve the tools of those kinds on standard input and output until the input ends."""
    host = SearchHost(settings, root)
    try:
        async with stdio_streams() as (received, sending):
            server = ToolServer(Toolset(search_tools(host)).of_kinds(*kinds), OpenGate(), INSTRUCTIONS)
            # The client's first message is answered before the imports for its first call begin.
            asyncio.get_running_loop().call_later(START_AFTER_S, host.start)
            await server.sdk.run(received, sending, server.sdk.create_initialization_options())
    finally:
        await host.close()
