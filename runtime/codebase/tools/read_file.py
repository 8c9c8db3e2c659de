"""Declares the tool `read_file`."""

from __future__ import annotations

import msgspec

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.tool_registry import CodeTool, Line, Path, by_fields
from runtime.codebase.tools.read_code import read_code


class ReadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines of a file, both ends included."""

    path: Path
    start_line: Line | None = None
    end_line: Line | None = None


def read_file(codebase: Codebase, path: str, start_line: int | None = None, end_line: int | None = None) -> ToolResult:
    """Read lines of a file; a missing path is replaced by a similar one or one of that name. See `read_code`."""
    return read_code(codebase, path, None, start_line, end_line)


TOOL = CodeTool(
    name="read_file",
    description="Lines of a file; a path that is not there is looked for among similar ones, then by name.",
    parameters=ReadFile,
    run=by_fields(read_file),
    exposed=False,
    isolation="in_process",
    place=100,
    example={"path": "pkg/app.py", "start_line": 1, "end_line": 40},
)
