"""Declares the tool `list_tools`: the tools that are exposed to agents."""

from __future__ import annotations

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.tool_registry import CodeTool, by_fields, code_tools


class ListTools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tools are there?"""


def list_tools(_codebase: object) -> ToolResult:
    """Describe every tool that is exposed to agents, with its parameters and cost. `data`: tools."""
    log = AttemptLog()
    return log.result("ok", {"tools": log.run("registry", code_tools().describe)}, [])


TOOL = CodeTool(
    name="list_tools",
    description="Names, parameters and costs of the tools.",
    parameters=ListTools,
    run=by_fields(list_tools),
    isolation="in_process",
    place=90,
    example={},
)
