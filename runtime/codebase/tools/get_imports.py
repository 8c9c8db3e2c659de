"""Declares the tool `get_imports`."""

from __future__ import annotations

from dataclasses import asdict

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import IndexedFile
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import MAX_PATHS, OfFile, listed, numbered, of_file
from runtime.codebase.tool_registry import CodeTool, by_fields


def get_imports(codebase: Codebase, path: str) -> ToolResult:
    """Return the imports of a file. `data`: file, imports [{file, line, module, name, alias, target, citation}]."""
    log = AttemptLog()

    def read(file: IndexedFile) -> ToolResult:
        found = log.run("imports", lambda: codebase.imports_of(file.path))
        citations: list[Citation] = []
        rows = [
            {
                **asdict(item),
                "citation": numbered(citations, cite(codebase, item.file, item.line, item.line, why="imports")),
            }
            for item in found[:MAX_PATHS]
        ]
        return listed(log, {"file": file.path, "imports": rows}, citations, len(found) > MAX_PATHS, bool(rows))

    return of_file(codebase, path, log, read)


TOOL = CodeTool(
    name="get_imports",
    description="What a file imports.",
    parameters=OfFile,
    run=by_fields(get_imports),
    exposed=False,
    isolation="in_process",
    place=160,
    example={"path": "pkg/app.py"},
)
