"""The tools of code_analysis: those over a codebase."""

from __future__ import annotations

from runtime.codebase.tool_registry import code_tools

TOOLS = code_tools()
