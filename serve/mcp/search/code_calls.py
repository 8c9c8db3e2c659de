"""Calls the tools of the code index, each in a worker process, on an index that is up to date.

Slow calls do not hold up others: each tool and session has places of its own, and a call that has run for two seconds
gives its place away. A call that is cancelled or takes too long is killed with its process. Ray is not used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from runtime.codebase.files.project_config import read_project_config
from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.forest import count_chunks, newest_vector
from runtime.codebase.tool_registry import code_tools
from runtime.run.bounds import Grant
from runtime.run.stage_budget import StageBudget
from runtime.settings import Settings, open_state_dir
from runtime.tools.executor import ToolExecutor
from runtime.tools.own_process import ToolProcesses
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult
from runtime.tools.tool_host import ToolHost
from serve.mcp.connections import current_connection
from serve.mcp.search.code_subject import PortableRepository
from serve.mcp.search.lanes import Lanes
from serve.mcp.search.repository_index import RepositoryIndex
from serve.mcp.toolset import Report
from serve.wiring import agent_settings, index_service

KEPT_PROCESSES = 2
# Of one tool and session, and in all: of those that have not run for long.
CALLS_PER_TOOL = 3
CALLS_AT_ONCE = 8
SLOW_AFTER_S = 2.0
# With those that have.
MAX_PROCESSES = 24
EMBEDDING_POLL_S = 0.3


class CodeCalls:
    """Runs code tools on one repository until it is closed."""

    def __init__(self, settings: Settings, root: str) -> None:
        open_state_dir(settings.state_dir)
        shared = agent_settings(settings)
        self._allow_secrets, self._vectors = bool(shared["allow_secrets"]), shared["vectors"]
        self._store: VectorStoreKind = shared["vector_store"]
        self._root = Path(root)
        self._service = index_service(settings)
        self._index = RepositoryIndex(self._service, root)
        self._host = ToolHost(processes=ToolProcesses(kept=KEPT_PROCESSES, size=MAX_PROCESSES))
        self._tools = ToolRegistry(msgspec.structs.replace(tool, isolation="own_process") for tool in code_tools())
        self._lanes = Lanes(CALLS_PER_TOOL, CALLS_AT_ONCE, SLOW_AFTER_S)

    def prepare(self) -> None:
        """Start the processes of the first refresh and the first call."""
        self._service.prepare()
        self._host.processes.warm_up(tool for tool in self._tools if isinstance(tool, Tool))

    def syncs_on_start(self) -> bool:
        """Return whether the project wants its index brought up to date at the start. Raises RepositoryError."""
        return read_project_config(self._root).sync_on_start

    async def ready(self, report: Report) -> None:
        """Wait until the index is up to date. Raises RepositoryError and StateStorageError."""
        await self._index.current(report, "start")

    async def rebuild(self, report: Report) -> None:
        """Make the index anew. Vectors stay: they are kept by what they were made of, and cannot be stale.

        Raises RepositoryError and StateStorageError.
        """
        await self._index.current(report, "anew")

    async def sync(self, wait_s: float, report: Report) -> dict[str, Any]:
        """Compare every file by its content, wait for vectors that long, and return exact counts.

        Raises RepositoryError and StateStorageError.
        """
        known = await asyncio.to_thread(newest_vector, self._vectors)
        repository = await self._index.current(report, "now")
        stats = repository["stats"]
        files = {name: stats[f"files_{name}"] for name in ("added", "changed", "removed")}
        counts = {**files, "total": stats["files"]}
        if self._vectors is None or not repository["embeds"]:
            return {"files": counts, "chunks": {"total": stats["chunks"]}, "note": "search by meaning is off"}
        until_s = time.monotonic() + wait_s
        while True:
            path = Path(repository["index_path"])
            chunks = await asyncio.to_thread(count_chunks, path, Path(self._vectors), known, self._store)
            left_s = until_s - time.monotonic()
            if not chunks.left or left_s <= 0:
                return {"files": counts, "chunks": {"total": sum(chunks), **chunks._asdict()}}
            await report(chunks.embedded, chunks.embedded + chunks.left, "embedding")
            await asyncio.sleep(min(EMBEDDING_POLL_S, left_s))

    async def call(self, tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
        """Return the result of a call; its status shows whether it succeeded. Cancellation kills its process.

        Raises RepositoryError and StateStorageError if the repository cannot be indexed.
        """
        repository = await self._index.current(report)
        vectors = self._vectors if repository["embeds"] else None
        subject = PortableRepository(
            repository["root"], repository["index_path"], self._allow_secrets, vectors, self._store
        )
        executor = ToolExecutor(self._tools, frozenset({tool}), StageBudget(Grant(tool_calls=1)), host=self._host)
        async with self._lanes.turn((current_connection(), tool)):
            return await executor.call(tool, subject, dict(arguments))

    async def close(self) -> None:
        """Kill the processes and what they started."""
        await self._index.close()
        await self._host.close()
        self._service.close()
