"""Declares the tool `get_importers`."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import MAX_PATHS, listed, numbered
from runtime.codebase.tool_registry import CodeTool, Text, by_fields


class GetImporters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who imports a file, folder or module?"""

    module: Text


def get_importers(codebase: Codebase, module: str) -> ToolResult:
    """Find the imports of a file, folder or module.

    `data`: module, importers [{file, line, module, name, alias, target, citation}].
    """
    log = AttemptLog()
    found = log.run("importers", lambda: codebase.importers(module, limit=MAX_PATHS + 1))
    citations: list[Citation] = []
    rows = [
        {
            **asdict(item),
            "citation": numbered(citations, cite(codebase, item.file, item.line, item.line, why=f"imports {module}")),
        }
        for item in found[:MAX_PATHS]
    ]
    return listed(log, {"module": module, "importers": rows}, citations, len(found) > MAX_PATHS, bool(rows))


TOOL = CodeTool(
    name="get_importers",
    description="Who imports a file, folder or module.",
    parameters=GetImporters,
    run=by_fields(get_importers),
    exposed=False,
    isolation="in_process",
    place=170,
    example={"module": "pkg/app.py"},
)
