"""A tool call that took too long is made once more with less to look at, and then left out.

What a search does when it finds nothing, and reading when a path or symbol is missing, is the tools' own business: they
tell it in their attempts. The attempts of all calls of a step stand together in the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from runtime.codebase.citation import ToolResult
from runtime.tools.result import Attempt

REDUCED = "reduced_scope"
SKIPPED = "skipped"

Call = Callable[[dict[str, Any]], Awaitable[ToolResult]]

# tool → the arguments with which it has less to look at. A tool that is not here has nothing to leave out.
_LESS: dict[str, dict[str, Any]] = {
    "locate": {"max_results": 5},
    "explore_symbol_usage": {"max_results": 5},
    "map_module": {"max_depth": 2},
    "trace_entry_point": {"max_depth": 1},
    "explain_code_history": {"max_commits": 3, "origin": False},
    "find_related": {"max_results": 3},
    "read_code": {"max_lines": 40},
}


def reduced(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments with less to look at; None when there is nothing to leave out. Never asks for more than before."""
    less = {name: min(arguments.get(name, most), most) for name, most in _LESS.get(tool, {}).items()}
    fewer = {**arguments, **less}
    return None if fewer == dict(arguments) or not less else fewer


async def with_retries(tool: str, arguments: dict[str, Any], call: Call, max_retries: int) -> ToolResult:
    """The result of a call; after a timeout, of the same with less to look at, where `max_retries` permits one.

    A call that took too long again is skipped: its result is a timeout with what the attempts were.
    """
    first = await call(arguments)
    fewer = reduced(tool, arguments)
    if first.status != "timeout" or max_retries < 1:
        return first
    tried = [*(first.attempts or (Attempt("as_asked", "timeout", 0, first.duration_ms),))]
    last = first
    if fewer is not None:
        last = await call(fewer)
        tried.append(Attempt(REDUCED, last.status, len(last.citations), last.duration_ms))
    if last.status == "timeout":
        tried.append(Attempt(SKIPPED, "timeout"))
    more: dict[str, Any] = {"attempts": (*tried, *(last.attempts if last is not first else ()))}
    if last.usable:
        more |= {"status": "partial", "truncated": True, "error": last.error or _explained(tool)}
    return msgspec.structs.replace(last, **more)


def _explained(tool: str) -> str:
    return f"{tool} took too long and was asked for less; more of it may be there"
