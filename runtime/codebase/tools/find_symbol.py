"""Declares the tool `find_symbol`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import MAX_SYMBOLS, bounded, listed, numbered, symbol_row
from runtime.codebase.tool_registry import CodeTool, Text, by_fields


class FindSymbol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where is a name defined?"""

    name: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=100)] = 100


def find_symbol(codebase: Codebase, name: str, max_results: int = MAX_SYMBOLS) -> ToolResult:
    """Find definitions of a name; without any, partial names, then its imports. `data`: name, symbols, imports."""
    log = AttemptLog()
    limit = bounded(max_results, MAX_SYMBOLS)
    found = log.run("symbol_index", lambda: codebase.symbols_named(name, limit=limit + 1), "not_found")
    if not found:
        found = log.run(
            "partial_symbol", lambda: codebase.symbols_named(name, fuzzy=True, limit=limit + 1), "not_found"
        )
    imports = [] if found else log.run("imports", lambda: codebase.importers(name, limit=limit), "not_found")
    citations: list[Citation] = []
    rows = [symbol_row(codebase, symbol, citations) for symbol in found[:limit]]
    places = [
        {
            "file": item.file,
            "line": item.line,
            "module": item.module,
            "citation": numbered(citations, cite(codebase, item.file, item.line, item.line, why=f"imports {name}")),
        }
        for item in imports
    ]
    data = {"name": name, "symbols": rows, "imports": places}
    if not rows and not places:
        return log.result("not_found", data, [], error=f"nothing in the repository is named {name}")
    return listed(log, data, citations, len(found) > limit, True)


TOOL = CodeTool(
    name="find_symbol",
    description="Definitions of a name.",
    parameters=FindSymbol,
    run=by_fields(find_symbol),
    exposed=False,
    isolation="in_process",
    place=140,
    example={"name": "Depot.open"},
)
