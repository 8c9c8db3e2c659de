"""Runs the MCP door: the toolset of one repository, over standard input and output or over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from runtime.settings import Settings
from serve.mcp.ask.tool import AskHost, ask_tool
from serve.mcp.changes.workspaces import WorkspaceHost
from serve.mcp.connections import OpenRequests
from serve.mcp.prompts import Prompts
from serve.mcp.search.tools import search_tools
from serve.mcp.server import ToolServer
from serve.mcp.toolset import Kind, OpenGate, Toolset
from serve.mcp.transports.stdio import stdio_streams

if TYPE_CHECKING:
    from serve.mcp.transports.http import HttpAddress

START_AFTER_S = 0.2

INSTRUCTIONS = (
    "Jeeves reads one repository for you; its tools see every edit that is on disk. Paths are relative to its root, "
    "lines are counted from 1. To find something, start with locate; to change something, look at its uses with "
    "explore_symbol_usage and at its tests with find_related first. Answers take at most `max_tokens`; `cut` or `hint` "
    "says what was left out and how to get it."
)

CONTRACT_INSTRUCTIONS = (
    "To change code, call start_session with the person's request and follow the `instruction` of each answer; "
    "submit_phase is the only way on. Steps are numbered 1 to 19; those that the request, your answers or the "
    "repository make needless are passed over, so the numbers leave gaps. Whatever you have forgotten, "
    "get_session_status tells again."
)


async def serve_stdio(settings: Settings, root: str, kinds: Sequence[Kind]) -> None:
    """Serve the tools of those kinds on standard input and output until the input ends."""
    async with stdio_streams() as (received, sending), _serving(settings, root, kinds) as server:
        await server.sdk.run(received, sending, server.sdk.create_initialization_options())


async def serve_on(
    settings: Settings,
    root: str,
    kinds: Sequence[Kind],
    address: HttpAddress,
    token: str | None,
    announce: Callable[[str], None],
) -> None:
    """Serve the tools of those kinds over HTTP until cancelled. Raises PortTakenError."""
    from serve.mcp.transports.http import serve_http

    requests = OpenRequests()
    async with _serving(settings, root, kinds, requests.is_away) as server:
        hosts, body_timeout_s = settings.http.allowed_hosts, settings.http.body_timeout_s
        await serve_http(server.sdk, address, hosts, token, announce, requests, body_timeout_s)


def _never_away(_connection: str) -> bool:
    """Return False: the client on standard input is there as long as its server."""
    return False


@asynccontextmanager
async def _serving(
    settings: Settings, root: str, kinds: Sequence[Kind], is_away: Callable[[str], bool] = _never_away
) -> AsyncIterator[ToolServer]:
    """Yield the server of a repository's tools; at the end of the block, end all that its calls have started."""
    asking = AskHost(settings, root)
    search, server, close = _opened(settings, root, kinds, asking, is_away)
    # The client's first message is answered before the imports for its first call begin.
    asyncio.get_running_loop().call_later(START_AFTER_S, search.start)
    try:
        yield server
    finally:
        await asyncio.gather(search.close(), asking.close(), close())


async def _nothing() -> None:
    return None


def _opened(
    settings: Settings, root: str, kinds: Sequence[Kind], asking: AskHost, is_away: Callable[[str], bool]
) -> tuple[WorkspaceHost, ToolServer, Callable[[], Awaitable[None]]]:
    if "contract" not in kinds:
        host = WorkspaceHost(settings, root, lambda: None)
        tools = Toolset([ask_tool(asking), *search_tools(host)])
        return host, ToolServer(tools.of_kinds(*kinds), OpenGate(), INSTRUCTIONS), _nothing
    # Imported here: who only searches does not wait for it.
    from serve.mcp.changes.contract_host import ContractHost
    from serve.mcp.changes.contract_tools import contract_tools
    from serve.mcp.changes.project_context import ProjectDocuments
    from serve.mcp.changes.session_gate import SessionGate
    from serve.mcp.changes.symbol_map import SymbolMap
    from serve.mcp.changes.symbol_meaning import SymbolMeaning
    from serve.mcp.elicitation import confirm
    from serve.wiring import CHANGE_CONTRACT

    contract = ContractHost(settings, root, confirm, is_away)
    host = WorkspaceHost(settings, root, lambda: contract.folder, lambda: contract.folders)
    host.documents = ProjectDocuments(settings, root, host)
    host.map = SymbolMap(settings, root, host)
    contract.compare = SymbolMeaning(settings, host, host.map).likeness
    tools = Toolset([*contract_tools(contract, host), ask_tool(asking), *search_tools(host)])
    told = f"{INSTRUCTIONS} {CONTRACT_INSTRUCTIONS}"
    server = ToolServer(tools, SessionGate(contract), told, Prompts(CHANGE_CONTRACT.parent))
    return host, server, contract.close
