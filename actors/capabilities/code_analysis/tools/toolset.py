"""The tools of code_analysis: parameters, descriptions and costs over the functions of `runtime.codebase`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from actors.capabilities.code_analysis.tools.base_toolset import BASE_TOOLS, Line, Path, Text
from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.tools.code_history import explain_code_history, git_status
from runtime.codebase.tools.find_related import find_related
from runtime.codebase.tools.locate import locate
from runtime.codebase.tools.module_map import map_module
from runtime.codebase.tools.read_code import read_code
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from runtime.codebase.tools.trace_entry import trace_entry_point
from runtime.tools.registry import Tool, ToolRegistry


class Locate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where is it? `query`: a name or a question; `scope`: a file or folder to look in."""

    query: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    kinds: list[str] | None = None
    scope: Path | None = None


class ExploreSymbolUsage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who defines, calls, imports and tests `symbol`?"""

    symbol: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


class MapModule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What does the folder or file at `path` hold? `symbol`: a type of it, which is told with its members alone."""

    path: Path = "."
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=15)] = 15
    symbol: Text | None = None


class ReadCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines of a file, by path or by symbol, both ends included."""

    path: Path | None = None
    symbol: Text | None = None
    start_line: Line | None = None
    end_line: Line | None = None
    max_lines: Annotated[int, msgspec.Meta(ge=1, le=2_000)] = 200


class TraceEntryPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What does `entry` (a symbol or a file) call? Without it: the entry points of the repository."""

    entry: Text | None = None
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=10)] = 3


class ExplainCodeHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How did a file, some lines of it, or a symbol come to be as they are? `origin`: and when was its name new?"""

    path: Path | None = None
    symbol: Text | None = None
    start_line: Line | None = None
    end_line: Line | None = None
    max_commits: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    origin: bool = False


class FindRelated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What else belongs to a file or symbol: tests, documents, similar and co-changing files?"""

    path: Path | None = None
    symbol: Text | None = None
    max_results: Annotated[int, msgspec.Meta(ge=1, le=50)] = 15


class GitStatus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not committed?"""


class ListTools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tools are there?"""


def _locate(codebase: Codebase, given: Locate) -> ToolResult:
    return locate(codebase, given.query, given.max_results, given.kinds, given.scope)


def _explore(codebase: Codebase, given: ExploreSymbolUsage) -> ToolResult:
    return explore_symbol_usage(codebase, given.symbol, given.max_results)


def _map(codebase: Codebase, given: MapModule) -> ToolResult:
    return map_module(codebase, given.path, given.max_depth, given.symbol)


def _read(codebase: Codebase, given: ReadCode) -> ToolResult:
    return read_code(codebase, given.path, given.symbol, given.start_line, given.end_line, given.max_lines)


def _trace(codebase: Codebase, given: TraceEntryPoint) -> ToolResult:
    return trace_entry_point(codebase, given.entry, given.max_depth)


def _history(codebase: Codebase, given: ExplainCodeHistory) -> ToolResult:
    return explain_code_history(codebase, **msgspec.structs.asdict(given))


def _related(codebase: Codebase, given: FindRelated) -> ToolResult:
    return find_related(codebase, given.path, given.symbol, given.max_results)


def _status(codebase: Codebase, _given: GitStatus) -> ToolResult:
    return git_status(codebase)


def _list(_subject: object, _given: ListTools) -> ToolResult:
    log = AttemptLog()
    return log.result("ok", {"tools": log.run("registry", TOOLS.describe)}, [])


TOOLS = ToolRegistry(
    (
        Tool("locate", "Find where a thing is: symbols, then text, then ranked code.", Locate, _locate, cost=3),
        Tool(
            "explore_symbol_usage",
            "Definitions, callers, importers, tests and callees of a symbol.",
            ExploreSymbolUsage,
            _explore,
            cost=4,
        ),
        Tool("map_module", "Files, symbols, imports and importers of a folder or file.", MapModule, _map, cost=4),
        Tool("trace_entry_point", "What an entry point reaches along its calls.", TraceEntryPoint, _trace, cost=5),
        Tool(
            "explain_code_history",
            "Commits, authors and uncommitted changes of a file, lines or a symbol.",
            ExplainCodeHistory,
            _history,
            cost=5,
        ),
        Tool("find_related", "Tests, documents, similar and co-changing files.", FindRelated, _related, cost=5),
        Tool("git_status", "Branch, HEAD and what is not committed.", GitStatus, _status, cost=2),
        Tool("read_code", "Lines of a file, by path or by symbol.", ReadCode, _read),
        Tool("list_tools", "Names, parameters and costs of the tools.", ListTools, _list),
        *BASE_TOOLS,
    )
)
