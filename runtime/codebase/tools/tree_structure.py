"""Declares the tool `tree_structure`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import tokens_of
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.tool_parts.look_up import Row
from runtime.codebase.tool_registry import CodeTool, Path, by_fields
from runtime.codebase.tools.module_map import map_module


class TreeStructure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which folders and files lie below a path?"""

    path: Path = "."
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=15)] = 15


def tree_structure(codebase: Codebase, path: str = ".", max_depth: int = 15) -> ToolResult:
    """List folders and files below a path. `data`: path, tree [line …]."""
    mapped = map_module(codebase, path, max_depth)
    data: Row = {key: mapped.data[key] for key in ("path", "tree") if key in mapped.data}
    return msgspec.structs.replace(mapped, data=data, citations=(), tokens=tokens_of(data))


TOOL = CodeTool(
    name="tree_structure",
    description="Folders and files below a path.",
    parameters=TreeStructure,
    run=by_fields(tree_structure),
    exposed=False,
    isolation="in_process",
    place=130,
    example={"path": "pkg", "max_depth": 2},
)
