"""Retries a tool call that timed out once with a reduced scope, and then skips it.

The tools themselves broaden a search without hits and look for similar paths or symbols, and report that in their
attempts. The attempts of all calls of a step are listed together in order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from runtime.codebase.citation import ToolResult
from runtime.codebase.tool_registry import code_tool
from runtime.tools.result import Attempt

REDUCED = "reduced_scope"
SKIPPED = "skipped"

Call = Callable[[dict[str, Any]], Awaitable[ToolResult]]


def reduced(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return arguments with a smaller scope, never a larger one; None when they cannot be reduced."""
    declared = code_tool(tool)
    limits = {} if declared is None else declared.reduced
    less = {name: min(arguments.get(name, most), most) for name, most in limits.items()}
    fewer = {**arguments, **less}
    return None if fewer == dict(arguments) or not less else fewer


async def with_retries(tool: str, arguments: dict[str, Any], call: Call, max_retries: int) -> ToolResult:
    """Return the result of a call; after a timeout, of a retry with a smaller scope, if `max_retries` permits it.

    A call that times out again is skipped: its result is a timeout that lists the attempts.
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
