"""Serves a toolset over the Model Context Protocol, by the official SDK.

Every call passes the gate, and ends in a result: a fault of the call or of the repository is told to the model as a
result with `isError`, which says what to do; a protocol error is left to unknown tools. No traceback leaves the server.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from runtime.errors import JeevesError, ToolArgumentsError
from runtime.primitives.visible_text import visible_json
from serve.mcp.connections import on_connection
from serve.mcp.elicitation import QuestionOpenError, asking
from serve.mcp.prompts import Prompts
from serve.mcp.search.answers import refusal
from serve.mcp.toolset import McpTool, Report, ToolAnswer, ToolGate, Toolset, described

MAX_ARGUMENT_BYTES = 256 * 1024
MAX_OPEN_CALLS = 2_000

log = logging.getLogger(__name__)

_Context = ServerRequestContext[Any, Any]


class ToolServer:
    """Answers `tools/list` and `tools/call` for any number of connections."""

    def __init__(self, tools: Toolset, gate: ToolGate, instructions: str, prompts: Prompts | None = None) -> None:
        self._tools = tools
        self._gate = gate
        self._open = 0
        self.sdk: Server[Any] = Server(
            "jeeves",
            version=_version(),
            title="Jeeves",
            instructions=instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_list_prompts=None if prompts is None else prompts.listed,
            on_get_prompt=None if prompts is None else prompts.got,
        )

    async def _list(self, _context: _Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_listed(tool) for tool in self._tools])

    async def _call(self, context: _Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools.names())
            raise MCPError(INVALID_PARAMS, f"no tool is named {params.name[:100]!r}; there are {known}")

        async def report(done: float, total: float | None, message: str) -> None:
            await context.session.report_progress(done, total, message)

        connection = "" if context.request is None else str(context.request.headers.get(MCP_SESSION_ID_HEADER, ""))
        with asking(context.session, context.request_id, params.input_responses):
            try:
                return _result(await self.answered(tool, params.arguments or {}, report, connection))
            except QuestionOpenError as asked:
                return asked.result

    async def answered(
        self, tool: McpTool, arguments: Mapping[str, Any], report: Report, connection: str = ""
    ) -> ToolAnswer:
        """Return the answer of a call, whatever happens to it; cancellation alone is passed on."""
        if self._open >= MAX_OPEN_CALLS:
            return refusal(f"{self._open} calls are under way, and more are not taken; send this one again later")
        self._open += 1
        try:
            _check(tool.name, arguments)
            parameters = tool.read(arguments)
            call = described(tool.name, arguments, connection)
            with on_connection(connection):
                refused = await self._gate.permits(call)
                answer = refused or await tool.run(parameters, report)
                if refused is None:
                    await self._gate.record(call, answer)
            return answer
        except JeevesError as error:
            return refusal(error.message)
        except QuestionOpenError:
            raise
        except Exception as error:
            log.exception("mcp.call_failed", extra={"tool": tool.name})
            return refusal(f"this is a bug of the server: {type(error).__name__}; its log says more. Use another tool")
        finally:
            self._open -= 1


def _check(tool: str, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that no tool takes. Raises ToolArgumentsError."""
    written = json.dumps(arguments, ensure_ascii=False)
    size = len(written.encode("utf-8", "surrogatepass"))
    if size > MAX_ARGUMENT_BYTES:
        raise ToolArgumentsError(
            f"the arguments of '{tool}' have {size} bytes, at most {MAX_ARGUMENT_BYTES} are taken; ask for less",
            tool=tool,
        )
    if any("\0" in text for text in _texts(arguments)):
        raise ToolArgumentsError(f"an argument of '{tool}' holds the character U+0000; leave it out", tool=tool)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from (str(key), *_texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _listed(tool: McpTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.listed_schema(),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_read_only,
            idempotent_hint=tool.is_read_only,
            open_world_hint=False,
        ),
    )


def _result(answer: ToolAnswer) -> CallToolResult:
    text = TextContent(type="text", text=visible_json(answer.text.replace("\r\n", "\n")))
    return CallToolResult(content=[text], structured_content=answer.data, is_error=answer.is_error)


def _version() -> str:
    try:
        return version("jeeves")
    except PackageNotFoundError:
        return "0"
