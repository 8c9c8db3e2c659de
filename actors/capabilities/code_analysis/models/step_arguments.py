"""Reads a tool call that a model planned into the arguments that the tool declares. Pure.

The target may be a query, a symbol, a path or lines of a path; options are converted to the types of the parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from actors.capabilities.code_analysis.models.schemas import StepOption
from runtime.codebase.tool_registry import CodeTool, code_tool

# The parameter that takes the target as it is written.
TARGET_OF_TOOL: dict[str, str] = {
    "locate": "query",
    "explore_symbol_usage": "symbol",
    "map_module": "path",
    "describe_folder": "path",
    "trace_entry_point": "entry",
    "find_precedents": "query",
    "find_dependency": "name",
    "find_choices": "query",
    "find_tests": "query",
}
# Tools whose target is a place: a path, lines of it, or a symbol.
PLACE_TOOLS = frozenset({"read_code", "explain_code_history", "find_related"})
TOOLS_WITHOUT_TARGET = frozenset({"git_status", "list_tools"})
PLANNED_TOOLS = frozenset({*TARGET_OF_TOOL, *PLACE_TOOLS, *TOOLS_WITHOUT_TARGET})

# As much of what was asked for by name as one slice of code holds.
WHOLE_LINES = 400
_ALWAYS: dict[str, dict[str, Any]] = {"locate": {"max_results": 20}, "read_code": {"max_lines": WHOLE_LINES}}
_MAY_BE_EMPTY = frozenset({"trace_entry_point", "map_module", "describe_folder", "find_dependency"})

_LINES = re.compile(r"^(?P<path>[^\s:]+):(?P<first>\d+)(?:\s*[-–]\s*(?P<last>\d+))?$")
_SYMBOL_OF_PATH = re.compile(r"^(?P<path>[^\s:#]+[/.][^\s:#]+)(?::{1,2}|#)(?P<symbol>[A-Za-z_$][\w.$:#]*)$")
_CALL = re.compile(r"\(.*\)$")

IsFile = Callable[[str], bool]


def arguments_of(tool: str, target: str, options: Iterable[StepOption], is_file: IsFile) -> dict[str, Any] | None:
    """Return the arguments of a call; None for a call that the tool would refuse. Unknown options are left out."""
    declared = code_tool(tool)
    if declared is None or tool not in PLANNED_TOOLS:
        return None
    written = target.strip().strip("`").strip()
    if not written and tool not in _MAY_BE_EMPTY | TOOLS_WITHOUT_TARGET:
        return None
    arguments = {**_ALWAYS.get(tool, {}), **_target(tool, written, is_file)}
    known = {field.name: field.type for field in msgspec.structs.fields(declared.parameters)}
    arguments = {name: value for name, value in arguments.items() if name in known}
    for option in options:
        if option.name in known and (given := _converted(option.value, known[option.name])) is not None:
            changed = {**arguments, option.name: given}
            arguments = changed if _is_valid(declared, changed) else arguments
    return arguments if _is_valid(declared, arguments) else None


def _target(tool: str, written: str, is_file: IsFile) -> dict[str, Any]:
    if tool in PLACE_TOOLS:
        return _place(written, is_file)
    if not written or tool in TOOLS_WITHOUT_TARGET:
        return {}
    text = _CALL.sub("", written) if tool == "explore_symbol_usage" else written
    return {TARGET_OF_TOOL[tool]: text}


def _place(written: str, is_file: IsFile) -> dict[str, Any]:
    """Read `path`, `path:first-last`, `path:Symbol`, or `Class.method`."""
    if is_file(written):
        return {"path": written}
    if (lines := _LINES.match(written)) is not None:
        first = int(lines["first"])
        return {"path": lines["path"], "start_line": first, "end_line": max(first, int(lines["last"] or first))}
    if (found := _SYMBOL_OF_PATH.match(written)) is not None and is_file(found["path"]):
        return {"path": found["path"], "symbol": found["symbol"]}
    name = _CALL.sub("", written)
    return {"path": written} if "/" in name else {"symbol": name}


def _converted(value: str, wanted: Any) -> Any:
    """Convert the text of an option to the type of its parameter; None if it cannot be."""
    texts = [part.strip() for part in value.split(",") if part.strip()]
    for given in (value.strip(), texts):
        try:
            return msgspec.convert(given, wanted, strict=False)
        except msgspec.ValidationError:
            continue  # a list of texts is tried after a single one
    return None


def _is_valid(declared: CodeTool, arguments: dict[str, Any]) -> bool:
    try:
        msgspec.convert(arguments, declared.parameters)
    except msgspec.ValidationError:
        return False
    return True
