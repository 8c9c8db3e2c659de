"""Runs the search tools on the folder that a session works in, which may lie beside the repository."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.settings import Settings
from runtime.tools.result import ToolResult
from serve.mcp.search.tools import SearchHost, SearchTool
from serve.mcp.toolset import Report, ToolAnswer

if TYPE_CHECKING:
    from serve.mcp.changes.project_context import ProjectDocuments
    from serve.mcp.changes.symbol_map import SymbolMap


class WorkspaceHost(SearchHost):
    """Hosts the tools of a repository, and while a session works beside it those of that folder."""

    def __init__(
        self,
        settings: Settings,
        root: str,
        folder: Callable[[], Path | None],
        in_use: Callable[[], Collection[Path]] = tuple,
    ) -> None:
        """Create it. `folder`: that of the session of the current call; `in_use`: those of all sessions."""
        super().__init__(settings, root)
        self._main = Path(root)
        self._folder = folder
        self._in_use = in_use
        self._beside: dict[Path, SearchHost] = {}
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
        for host in self._beside.values():
            await host.close()
        await super().close()

    async def _current(self) -> SearchHost | None:
        """Return the host of the folder beside the repository; None while the session works in the repository."""
        folder = self._folder()
        wanted = None if folder is None or folder == self._main else folder
        in_use = {*self._in_use(), wanted}
        # Another client's call must not end the processes of a session that still works.
        for place in [place for place in self._beside if place not in in_use]:
            await asyncio.shield(self._beside.pop(place).close())
        if wanted is None:
            return None
        if wanted not in self._beside:
            self._beside[wanted] = SearchHost(self._settings, str(wanted))
        return self._beside[wanted]
