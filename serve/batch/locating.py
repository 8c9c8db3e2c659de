"""Answers `jeeves batch --mode locate` with ranked places, without agents or a run log."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.semantics.similarity import open_semantics
from runtime.codebase.tools.locate import locate
from runtime.settings import Settings, open_state_dir
from serve.answer_document import DOCUMENT_SCHEMA_VERSION, Ask
from serve.runtimes.answering import UNHEARD, AskCallbacks
from serve.wiring import agent_settings, index_service

MAX_PLACES = 20
_FIELDS = ("file", "start_line", "end_line")


class LocateRuntime:
    """Answers questions with the matching places, best first; adjacent pieces are joined.

    A batch is not interactive, so missing vectors are computed before the answer.
    """

    def __init__(self, settings: Settings) -> None:
        open_state_dir(settings.state_dir)
        shared = agent_settings(settings)
        self._index = index_service(settings)
        self._allow_secrets = bool(shared["allow_secrets"])
        vectors, store = shared["vectors"], shared["vector_store"]
        self._semantics = open_semantics(Path(vectors), store=store) if vectors else None

    async def ask(self, ask: Ask, callbacks: AskCallbacks = UNHEARD) -> dict[str, Any]:
        """Return a document with at most 20 `citations`, {file, start_line, end_line}. Raises what a refresh raises."""
        started_s = time.monotonic()
        refreshed = await self._index.refresh(ask.repo, ask.deadline_s)
        result = await asyncio.to_thread(self._locate, refreshed, ask.question)
        document: dict[str, Any] = {"schema_version": DOCUMENT_SCHEMA_VERSION}
        if ask.id is not None:
            document["id"] = ask.id
        return document | {
            "question": ask.question,
            "repo": ask.repo,
            "commit": refreshed["commit"],
            "citations": [{field: getattr(item, field) for field in _FIELDS} for item in result.citations],
            **({} if (meaning := result.data.get("meaning")) is None else {"meaning": meaning}),
            "terminal_reason": "completed",
            "usage": {
                "duration_ms": int((time.monotonic() - started_s) * 1000),
                "index": refreshed["stats"]["duration_ms"],
            },
        }

    def _locate(self, refreshed: dict[str, Any], question: str) -> ToolResult:
        codebase = Codebase.open(
            Path(refreshed["root"]),
            Path(refreshed["index_path"]),
            allow_secrets=self._allow_secrets,
            semantics=self._semantics,
        )
        try:
            return locate(codebase, question, MAX_PLACES, join=True, wait=True)
        finally:
            codebase.close()

    async def close(self) -> None:
        """Release the resources of the runtime."""
        self._index.close()
        if self._semantics is not None:
            self._semantics.close()
