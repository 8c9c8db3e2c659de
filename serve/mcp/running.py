"""Runs the MCP door: the toolset of one repository, over standard input and output or over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runtime.settings import Settings
from serve.mcp.search_tools import search_tools
from serve.mcp.server import ToolServer
from serve.mcp.stdio import stdio_streams
from serve.mcp.toolset import Kind, OpenGate, Toolset
from serve.mcp.workspaces import WorkspaceHost

if TYPE_CHECKING:
    from serve.mcp.http import HttpAddress

START_AFTER_S = 0.2

INSTRUCTIONS = (
    "Jeeves reads one repository for you; its tools see every edit that is on disk. Paths are relative to its root, "
    "lines are counted from 1. To find something, start with locate; to change something, look at its uses with "
    "explore_symbol_usage and at its tests with find_related first. Answers are short: `cut` or `hint` says what was "
    "left out and how to get it."
)

CONTRACT_INSTRUCTIONS = (
    "To change code, call start_session with the person's request and follow the `instruction` of each answer; "
    "submit_phase is the only way on. Whatever you have forgotten, get_session_status tells again."
)


async def serve_stdio(settings: Settings, root: str, kinds: Sequence[Kind]) -> None:
    """Serve the tools of those kinds on standard input and output until the input ends."""
    host, server = _opened(settings, root, kinds)
    try:
        async with stdio_streams() as (received, sending):
            sdk = server.sdk
            # The client's first message is answered before the imports for its first call begin.
            asyncio.get_running_loop().call_later(START_AFTER_S, host.start)
            await sdk.run(received, sending, sdk.create_initialization_options())
    finally:
        await host.close()


async def serve_on(
    settings: Settings,
    root: str,
    kinds: Sequence[Kind],
    address: HttpAddress,
    token: str | None,
    announce: Callable[[str], None],
) -> None:
    """Serve the tools of those kinds over HTTP until cancelled. Raises PortTakenError."""
    from serve.mcp.http import serve_http

    host, server = _opened(settings, root, kinds)
    try:
        asyncio.get_running_loop().call_later(START_AFTER_S, host.start)
        await serve_http(server.sdk, address, settings.http.allowed_hosts, token, announce)
    finally:
        await host.close()


def _opened(settings: Settings, root: str, kinds: Sequence[Kind]) -> tuple[WorkspaceHost, ToolServer]:
    if "contract" not in kinds:
        host = WorkspaceHost(settings, root, lambda: None)
        return host, ToolServer(Toolset(search_tools(host)).of_kinds(*kinds), OpenGate(), INSTRUCTIONS)
    # Imported here: who only searches does not wait for it.
    from serve.mcp.contract_host import ContractHost
    from serve.mcp.contract_tools import contract_tools
    from serve.mcp.session_gate import SessionGate

    contract = ContractHost(settings, root)
    host = WorkspaceHost(settings, root, lambda: contract.folder, contract.close)
    tools = Toolset([*contract_tools(contract, host), *search_tools(host)])
    return host, ToolServer(tools, SessionGate(contract), f"{INSTRUCTIONS} {CONTRACT_INSTRUCTIONS}")
