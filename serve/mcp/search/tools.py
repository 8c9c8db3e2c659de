"""Declares the search tools of the MCP door: what each is for, and the code tool that answers it.

docs/mcp.md has the table of which tool to use for what. Tools of the kind `contract` are second names that the phases
of a change under contract use for tools of this list; agents that only search are not offered them.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from runtime.errors import JeevesError
from runtime.settings import Settings
from runtime.tools.result import ToolResult
from serve.mcp.search import parameters
from serve.mcp.search.answers import answer_of, joined, room_of
from serve.mcp.toolset import Kind, McpTool, Report, Run, ToolAnswer


class SearchTool(NamedTuple):
    """Describes one search tool: its name, the code tool behind it, its arguments and its description.

    `renamed`: argument → parameter of the code tool, where the names differ.
    """

    name: str
    code_tool: str
    title: str
    parameters: type[msgspec.Struct]
    explores: str
    description: str
    renamed: Mapping[str, str] = {}
    kind: Kind = "search"


SEARCH_TOOLS = (
    SearchTool(
        "locate",
        "locate",
        "Find where something is",
        parameters.Locate,
        "query",
        "Find where something is, by name or in plain words; start here when you do not know the file. Returns ranked "
        "places (file:lines, symbol, signature), definitions first. Fast. For exact text use search_text.",
    ),
    SearchTool(
        "find_definitions",
        "find_symbol",
        "Find definitions of a name",
        parameters.FindDefinitions,
        "find_definitions",
        "Find all definitions of a name you know. Returns file:lines, kind, signature; if none is exact, names that "
        "contain it. Cheapest of all.",
    ),
    SearchTool(
        "explore_symbol_usage",
        "explore_symbol_usage",
        "Find uses of a symbol",
        parameters.ExploreSymbolUsage,
        "find_references",
        "Find who uses a symbol, before you change it: callers, references, importers, tests, what it calls. "
        "Proven ones first. Fast.",
    ),
    SearchTool(
        "search_text",
        "grep_search",
        "Search text",
        parameters.SearchText,
        "search_text",
        "Search all files for up to 8 strings or regular expressions: messages, keys, literals. Returns file:line and "
        "the line, source first; if nothing matches, any case, then beyond `scope` (`note`). Fast.",
    ),
    SearchTool(
        "search_files",
        "glob_files",
        "Find files by name",
        parameters.SearchFiles,
        "search_files",
        "Find files by a glob over paths. Returns path, language, length; no ignored files, binaries, secrets. Fast.",
    ),
    SearchTool(
        "get_symbols",
        "get_file_symbols",
        "List the symbols of a file",
        parameters.GetSymbols,
        "get_symbols",
        "Outline a file before reading parts: definitions in order, with lines and signatures. Fast.",
    ),
    SearchTool(
        "map_module",
        "map_module",
        "Map a folder or file",
        parameters.MapModule,
        "analyze_structure",
        "Get your bearings in a folder, package or file: its tree, main definitions, imports and importers. Fast.",
    ),
    SearchTool(
        "read_code",
        "read_code",
        "Read code",
        parameters.ReadCode,
        "read_code",
        "Read a definition (`symbol`), a range of lines, or a file, with line numbers. About 160 lines fit an answer; "
        "`cut` says where to go on. Fast.",
    ),
    SearchTool(
        "trace_entry_point",
        "trace_entry_point",
        "Trace what a function calls",
        parameters.TraceEntryPoint,
        "trace_entry_point",
        "Learn how a request or command flows: the proven calls below a function, script or route, breadth first. "
        "Without `entry`: the entry points. Fast.",
    ),
    SearchTool(
        "find_related",
        "find_related",
        "Find related files",
        parameters.FindRelated,
        "find_related",
        "Before a change, find what else belongs to a file or symbol: tests, documents, importers, similar files, and "
        "files that change with it in git. Up to a second.",
    ),
    SearchTool(
        "explain_code_history",
        "explain_code_history",
        "Explain the history of code",
        parameters.ExplainCodeHistory,
        "explain_code_history",
        "Learn when and why code became as it is: commits of a file, lines or symbol, who wrote which lines last, and "
        "uncommitted changes. Needs git; a second on long histories.",
    ),
    SearchTool(
        "git_status",
        "git_status",
        "Show the state of the work tree",
        parameters.GitStatus,
        "",
        "See branch, commit and changed files. Fast.",
    ),
    SearchTool(
        "find_references",
        "explore_symbol_usage",
        "Find uses of a symbol",
        parameters.ExploreSymbolUsage,
        "find_references",
        "The same as explore_symbol_usage.",
        kind="contract",
    ),
    SearchTool(
        "analyze_structure",
        "map_module",
        "Map a folder or file",
        parameters.MapModule,
        "analyze_structure",
        "The same as map_module.",
        kind="contract",
    ),
    SearchTool(
        "semantic_search",
        "semantic_search",
        "Search by meaning",
        parameters.Locate,
        "semantic_search",
        "Find pieces of code that fit a description, by words and meaning. Returns file:lines and symbol, best first. "
        "In a change from SEMANTIC on. Fast.",
        kind="contract",
    ),
    SearchTool(
        "query",
        "locate",
        "Search in plain words",
        parameters.Locate,
        "query",
        "The same as locate.",
        kind="contract",
    ),
)


class SearchHost:
    """Opens what the search tools need behind the first answers of the server, and runs their calls."""

    def __init__(self, settings: Settings, root: str) -> None:
        self._settings = settings
        self._root = root
        self._opening: asyncio.Task[Any] | None = None
        self._first: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to import the code tools, to start processes and to refresh the index."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._opened())

    async def call(self, tool: SearchTool, given: Mapping[str, Any], report: Report) -> ToolAnswer:
        """Return the answer of a code tool. Raises RepositoryError and StateStorageError."""
        calls = await self._calls()
        arguments = arguments_of(tool, given)
        max_tokens = int(given["max_tokens"])
        if "patterns" not in given:
            result = await calls.call(tool.code_tool, arguments, report)
            # In a thread, as fitting hundreds of rows takes a while.
            return await asyncio.to_thread(answer_of, tool.code_tool, result, arguments, max_tokens)
        asked = list(dict.fromkeys(given["patterns"]))
        fitting, room = room_of(len(asked), max_tokens)
        patterns = asked[:fitting]
        together = {**arguments, "pattern": patterns[0], "further": patterns[1:]}
        results = _of_each(await calls.call(tool.code_tool, together, report), len(patterns))
        answers = [answer_of(tool.code_tool, result, arguments, room) for result in results]
        return joined(dict(zip(patterns, answers, strict=True)), len(asked) - fitting)

    async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
        """Return the whole result of a code tool. Raises RepositoryError and StateStorageError."""
        calls = await self._calls()
        result: ToolResult = await calls.call(code_tool, arguments, report)
        return result

    async def sync(self, wait_s: float, report: Report) -> Mapping[str, Any]:
        """Bring the index up to date by the content of all files, and return exact counts."""
        calls = await self._calls()
        counts: Mapping[str, Any] = await calls.sync(wait_s, report)
        return counts

    async def rebuild(self, report: Report) -> None:
        """Make the index of the repository anew. Raises RepositoryError and StateStorageError."""
        calls = await self._calls()
        await calls.rebuild(report)

    async def _calls(self) -> Any:
        self.start()
        assert self._opening is not None
        await asyncio.wait({self._opening})
        return self._opening.result()

    async def close(self) -> None:
        """Kill all processes of the tools."""
        for task in (self._first, self._opening):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait({task})
        if self._opening is not None and not self._opening.cancelled() and self._opening.exception() is None:
            await self._opening.result().close()

    async def _opened(self) -> Any:
        # Takes a second of imports, during which the server answers already.
        module = await asyncio.to_thread(importlib.import_module, "serve.mcp.search.code_calls")
        calls = module.CodeCalls(self._settings, self._root)
        calls.prepare()
        self._first = asyncio.create_task(self._refreshed(calls))
        return calls

    async def _refreshed(self, calls: Any) -> None:
        with contextlib.suppress(JeevesError):  # told to the first call, whose own refresh fails alike
            if await asyncio.to_thread(calls.syncs_on_start):
                await calls.ready(_unheard)


def _of_each(result: ToolResult, count: int) -> list[ToolResult]:
    """Return the results of the searches for so many patterns in one call; its own, where it did not get that far."""
    further = result.data.get("further")
    if further is None:
        return [result] * count
    first = {name: value for name, value in result.data.items() if name != "further"}
    return [msgspec.structs.replace(result, data=first), *msgspec.convert(further, list[ToolResult])]


def arguments_of(tool: SearchTool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the code tool behind a search tool."""
    return {
        tool.renamed.get(name, name): value
        for name, value in given.items()
        if value is not None and name not in {"max_tokens", "patterns"}
    }


async def _unheard(_done: float, _total: float | None, _message: str) -> None:
    return None


def search_tools(host: SearchHost) -> list[McpTool]:
    """Return the records of the search tools, which run on that host."""
    return [
        McpTool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            parameters=tool.parameters,
            run=_run_of(host, tool),
            kind=tool.kind,
            explores=tool.explores,
        )
        for tool in SEARCH_TOOLS
    ]


def _run_of(host: SearchHost, tool: SearchTool) -> Run:
    async def run(given: msgspec.Struct, report: Report) -> ToolAnswer:
        return await host.call(tool, msgspec.structs.asdict(given), report)

    return run
