"""Runs the search tools on the folder that a session works in, which may lie beside the repository."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.settings import Settings
from runtime.tools.result import ToolResult
from serve.mcp.search_tools import SearchHost, SearchTool
from serve.mcp.toolset import Report, ToolAnswer

if TYPE_CHECKING:
    from serve.mcp.project_context import ProjectDocuments
    from serve.mcp.symbol_map import SymbolMap


class WorkspaceHost(SearchHost):
    """Hosts the tools of a repository, and while a session works beside it those of that folder."""

    def __init__(
        self,
        settings: Settings,
        root: str,
        folder: Callable[[], Path | None],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """`close` is called when the host is closed."""
        super().__init__(settings, root)
        self._close = close
        self._main = Path(root)
        self._folder = folder
        self._beside: tuple[Path, SearchHost] | None = None
        # Set where agreements are to be asked before a search by meaning.
        self.map: SymbolMap | None = None
        # Set where a summary of the project's documents is kept.
        self.documents: ProjectDocuments | None = None

    async def call(self, tool: SearchTool, given: Mapping[str, Any], report: Report) -> ToolAnswer:
        """Return the answer of a code tool on the folder that the session works in."""
        if self.map is not None and tool.name == "semantic_search":
            return await self.map.answer(tool, given, report)
        beside = await self._current()
        return await (super().call(tool, given, report) if beside is None else beside.call(tool, given, report))

    async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
        """Return the whole result of a code tool on the folder that the session works in."""
        beside = await self._current()
        if beside is None:
            return await super().result(code_tool, arguments, report)
        return await beside.result(code_tool, arguments, report)

    async def sync(self, wait_s: float, report: Report) -> Mapping[str, Any]:
        """Bring the index of the folder that the session works in up to date, and return exact counts."""
        beside = await self._current()
        return await (super().sync(wait_s, report) if beside is None else beside.sync(wait_s, report))

    async def close(self) -> None:
        """Kill all processes of the tools."""
        if self._beside is not None:
            await self._beside[1].close()
        await super().close()
        self._close()

    async def _current(self) -> SearchHost | None:
        """Return the host of the folder beside the repository; None while the session works in the repository."""
        folder = self._folder()
        wanted = None if folder is None or folder == self._main else folder
        if self._beside is not None and self._beside[0] != wanted:
            closing, self._beside = self._beside[1], None
            await asyncio.shield(closing.close())
        if wanted is not None and self._beside is None:
            self._beside = (wanted, SearchHost(self._settings, str(wanted)))
        return None if self._beside is None else self._beside[1]
