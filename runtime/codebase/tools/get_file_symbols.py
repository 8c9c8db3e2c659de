"""Declares the tool `get_file_symbols`."""

from __future__ import annotations

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import IndexedFile
from runtime.codebase.tool_parts.look_up import MAX_PATHS, OfFile, listed, of_file, symbol_row
from runtime.codebase.tool_registry import CodeTool, by_fields


def get_file_symbols(codebase: Codebase, path: str) -> ToolResult:
    """Return the definitions in a file, by line. `data`: file, status (how it was read), symbols."""
    log = AttemptLog()

    def read(file: IndexedFile) -> ToolResult:
        found = log.run("file_symbols", lambda: codebase.symbols_in(file.path, limit=MAX_PATHS + 1))
        citations: list[Citation] = []
        rows = [symbol_row(codebase, symbol, citations) for symbol in found[:MAX_PATHS]]
        data = {"file": file.path, "status": file.status, "symbols": rows}
        if file.status == "unsupported" and not rows:
            return log.result("unsupported", data, [], error=f"{file.path} is of a kind that is not read for symbols")
        return listed(log, data, citations, len(found) > MAX_PATHS, bool(rows))

    return of_file(codebase, path, log, read)


TOOL = CodeTool(
    name="get_file_symbols",
    description="Definitions in a file, by line.",
    parameters=OfFile,
    run=by_fields(get_file_symbols),
    exposed=False,
    isolation="in_process",
    place=150,
    example={"path": "pkg/app.py"},
)
