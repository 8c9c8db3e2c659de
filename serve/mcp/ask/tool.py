"""Declares the tool `ask`: questions answered by the pipeline, with checked citations."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping
from typing import Any

from runtime.settings import Settings
from serve.mcp.search import parameters
from serve.mcp.search.answers import refusal, shown_lines
from serve.mcp.search.fitting import fitted
from serve.mcp.toolset import McpTool, Report, ToolAnswer

DESCRIPTION = (
    "Ask how something works, where it is done, or what a change would touch, when that needs several places; for one "
    "look-up use locate. Returns sentences with the lines that prove them; `status` not_found or a low `confidence` "
    "means likely, not proven. Takes seconds, the first time longest."
)

# What a document says beside its answer, where it says it.
_FIELDS = ("status", "confidence", "partial", "open_goals", "terminal_reason", "run_id")
_CITED = ("file", "start_line", "end_line", "symbol")


class AskHost:
    """Opens what answers questions when the first is asked, and runs them."""

    def __init__(self, settings: Settings, root: str) -> None:
        self._settings = settings
        self._root = root
        self._opening: asyncio.Task[Any] | None = None

    async def answer(self, given: parameters.Ask, report: Report) -> ToolAnswer:
        """Return the answer of a question. Raises every JeevesError of one that cannot be answered."""
        question = given.question.strip()
        if not question:
            return refusal("the question is empty; ask something, such as: How are errors handled?")
        self._opening = self._opening or asyncio.create_task(self._opened())
        await asyncio.wait({self._opening})
        document = await self._opening.result().ask(question, given.session, report)
        return answer_of_document(document, given.max_tokens)

    async def close(self) -> None:
        """End the process that answers."""
        if self._opening is None:
            return
        if not self._opening.done():
            self._opening.cancel()
            await asyncio.wait({self._opening})
        if not self._opening.cancelled() and self._opening.exception() is None:
            await self._opening.result().close()

    async def _opened(self) -> Any:
        def opened() -> Any:
            # Takes a second of imports, during which other calls are answered.
            return importlib.import_module("serve.mcp.ask.asking").Asking(self._settings, self._root)

        return await asyncio.to_thread(opened)


def ask_tool(host: AskHost) -> McpTool:
    """Return the record of the tool `ask`, which runs on that host."""
    return McpTool(
        name="ask",
        title="Ask a question",
        description=DESCRIPTION,
        parameters=parameters.Ask,
        run=host.answer,
        explores="query",
    )


def answer_of_document(document: Mapping[str, Any], max_tokens: int) -> ToolAnswer:
    """Return the answer of a document, as `jeeves ask --json` prints it, within `max_tokens`."""
    data: dict[str, Any] = {"answer": str(document["answer"])}
    data |= {name: document[name] for name in _FIELDS if document.get(name)}
    data["citations"] = [{key: item[key] for key in _CITED if key in item} for item in document["citations"]]
    text, shown = fitted(data, max_tokens, _as_text)
    is_error = document["terminal_reason"] not in (None, "completed") and not document["citations"]
    return ToolAnswer(text, shown, is_error, tuple(shown_lines(shown)))


def _as_text(data: Mapping[str, Any]) -> str:
    told = [str(data["answer"]).strip()]
    notes = [f"{name}: {data[name]}" for name in ("status", "confidence", "partial") if name in data]
    if data.get("open_goals"):
        notes.append(f"not found: {'; '.join(data['open_goals'])}")
    if "cut" in data:
        notes.append(f"cut: {data['cut']}; ask with a higher max_tokens")
    return "\n".join([*told, *([""] if notes else []), *notes])
