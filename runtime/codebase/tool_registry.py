"""Collects the tools over a codebase from every module of `runtime.codebase.tools` with a `TOOL`.

Installed packages declare further ones by an entry point of the group `jeeves.code_tools`, which names such a module.
"""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from typing import Annotated, Any

import msgspec

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.errors import SettingsError
from runtime.tools.registry import Isolation, Tool, ToolRegistry

ENTRY_POINT_GROUP = "jeeves.code_tools"

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=100_000)]
Path = Annotated[str, msgspec.Meta(max_length=4_096)]
Line = Annotated[int, msgspec.Meta(ge=1)]

# Tools import this module, so their package is imported by its name when it is listed.
_PACKAGE = "runtime.codebase.tools"
_AFTER_OURS = 1_000


class CodeTool(Tool, frozen=True, kw_only=True):
    """Declares a tool over a codebase. `exposed` tools are offered to agents, the others are for people.

    `place`: position in lists, smaller numbers first. `example`: arguments that show its use in documentation.
    `remembered_of`: the parameter for whose symbol it gets the remembered relations, empty if it needs none.
    `reduced`: argument → its value, or its upper limit, in the retry of a call that took too long; a tool without them
    is not retried. `capped_by`: parameter → the context bound that limits it.

    It runs in a process of its own unless it is declared otherwise. `reference` is set by the registry.
    """

    place: int = _AFTER_OURS
    example: dict[str, Any] = msgspec.field(default_factory=dict)
    remembered_of: str = ""
    reduced: dict[str, Any] = msgspec.field(default_factory=dict)
    capped_by: dict[str, str] = msgspec.field(default_factory=dict)
    result: Any = ToolResult
    isolation: Isolation = "own_process"

    def default_of(self, parameter: str) -> object:
        """Return the default of a parameter, None for a required one."""
        defaults = {field.name: field.default for field in msgspec.structs.fields(self.parameters)}
        default = defaults.get(parameter, msgspec.NODEFAULT)
        return None if default is msgspec.NODEFAULT else default


def by_fields(function: Callable[..., ToolResult]) -> Callable[[Any, Any], ToolResult]:
    """Return a tool's `run` that calls a function with the codebase and the fields of the parameters."""

    def run(codebase: Codebase, given: msgspec.Struct) -> ToolResult:
        return function(codebase, **msgspec.structs.asdict(given))

    return run


@functools.cache
def code_tools() -> ToolRegistry:
    """Return every tool over a codebase, by place. SettingsError for an invalid declaration or a duplicate name."""
    found = sorted((*_of_this_package(), *_of_others()), key=lambda tool: (tool.place, tool.name))
    try:
        return ToolRegistry(found)
    except ValueError as error:
        raise SettingsError(f"{error}; rename one of them") from error


def _of_this_package() -> Iterator[CodeTool]:
    for found in pkgutil.iter_modules(importlib.import_module(_PACKAGE).__path__):
        module = importlib.import_module(f"{_PACKAGE}.{found.name}")
        # Modules shared by several tools lie beside them and declare none.
        if hasattr(module, "TOOL"):
            yield _tool_of(module, module.__name__, f"the module {module.__name__}")


def _of_others() -> Iterator[CodeTool]:
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        module = entry.load()
        yield _tool_of(
            module, getattr(module, "__name__", entry.value), f"the entry point {entry.name} of {ENTRY_POINT_GROUP}"
        )


def _tool_of(module: object, name: str, place: str) -> CodeTool:
    tool = getattr(module, "TOOL", None)
    if not isinstance(tool, CodeTool):
        raise SettingsError(f"{place} declares no tool; give it TOOL, a record of type CodeTool")
    return msgspec.structs.replace(tool, reference=f"{name}:TOOL")


def code_tool(name: str) -> CodeTool | None:
    """Return the declaration of a tool, None for a name that is not a tool over a codebase."""
    return next((tool for tool in code_tools() if tool.name == name and isinstance(tool, CodeTool)), None)


def remembered_of(tool: str) -> str:
    """Return the parameter of a tool for whose symbol it gets the remembered relations; empty if it needs none."""
    declared = code_tool(tool)
    return "" if declared is None else declared.remembered_of


def table_of(tools: Iterable[Tool]) -> str:
    """Return a Markdown table of tools for the documentation."""
    rows = ["| tool | does | cost | example of its arguments |", "|---|---|---|---|"]
    for tool in tools:
        example = json.dumps(tool.example, ensure_ascii=False) if isinstance(tool, CodeTool) else "{}"
        rows.append(f"| {tool.name} | {tool.description.removesuffix('.')} | {tool.cost} | `{example}` |")
    return "\n".join(rows)
