"""Lists the tools of code_analysis, which are those of the code index."""

from __future__ import annotations

from runtime.codebase.tool_registry import code_tools
from runtime.tools.registry import ToolRegistry

# Most agents call none, and need not import them.
TOOLS = ToolRegistry(code_tools)
