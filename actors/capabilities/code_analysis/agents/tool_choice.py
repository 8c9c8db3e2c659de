"""Chooses which tools a plan leaves out because of their health in this repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# What can find much of what another tool finds; the tools that are missing here have no substitute.
SUBSTITUTES = {
    "explore_symbol_usage": "locate",
    "find_related": "locate",
    "map_module": "locate",
    "trace_entry_point": "read_code",
}
NOT_PLANNED = "was not used"


def avoided_tools(measured: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> dict[str, str]:
    """Map each tool that is left out of a plan to a sentence that gives the reason.

    `measured` holds the fields of `ToolMetric`. A tool with an open breaker would be refused. An unhealthy one is left
    out where another, which is neither, can do its work.
    """
    open_now = {row["tool"] for row in measured if row["breaker"] == "open"} & {*tools}
    unhealthy = {row["tool"] for row in measured if row["health"] == "unhealthy"} & {*tools}
    usable = {*tools} - open_now - unhealthy
    avoided = {tool: f"the tool {tool} {NOT_PLANNED}, since it failed five times in five minutes" for tool in open_now}
    for tool in unhealthy - open_now:
        substitute = SUBSTITUTES.get(tool)
        if substitute in usable:
            avoided[tool] = f"the tool {tool} {NOT_PLANNED}, since it fails or is slow now; {substitute} was"
    return {tool: avoided[tool] for tool in tools if tool in avoided}
