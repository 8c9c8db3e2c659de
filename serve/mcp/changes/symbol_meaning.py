"""Compares symbols with what is asked of them by meaning: their names, signatures and documentation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.codebase.search.presence.spoken_language import is_english
from runtime.errors import MachineError
from runtime.settings import Settings
from runtime.tools.result import ToolResult
from serve.mcp.changes.impact import Results
from serve.mcp.changes.symbol_map import SymbolMap
from serve.wiring import agent_settings

PATIENCE_S = 5.0
MAX_SYMBOLS = 20
MAX_DOC_CHARS = 300

# Parts of a name: words between marks, and humps.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class SymbolMeaning:
    """Compares the symbols of a repository with texts; without the model of meaning nothing is compared."""

    def __init__(self, settings: Settings, search: Results, agreed: SymbolMap | None = None) -> None:
        """`agreed`: what earlier changes agreed on needs no comparison."""
        self._search = search
        self._agreed = agreed
        vectors = agent_settings(settings)["vectors"]
        self._folder = None if vectors is None else Path(str(vectors)).parent

    async def likeness(self, query: str, names: Sequence[str]) -> Mapping[str, float]:
        """Return how like each name is to a query, 0 to 1; without those that no model compares in five seconds.

        To a query in a language that the model does not know, nothing is compared: all would look unlike it.
        A name that an allowed agreement gives for a like query is as like as can be.
        """
        wanted = list(dict.fromkeys(names))[:MAX_SYMBOLS]
        hit = await self._agreed.hit(query, _unheard) if self._agreed is not None else None
        agreed = {name: 1.0 for name in wanted if hit is not None and hit.gives(name)}
        return {**agreed, **await self._compared_with(query, [name for name in wanted if name not in agreed])}

    async def _compared_with(self, query: str, known: Sequence[str]) -> Mapping[str, float]:
        if self._folder is None or not known or not is_english(query):
            return {}
        found = [await self._search.result("find_symbol", {"name": name}, _unheard) for name in known]
        texts = [symbol_text(name, result) for name, result in zip(known, found, strict=True)]
        try:
            likeness = await asyncio.to_thread(_compared, self._folder, query, texts)
        except (MachineError, ImportError):
            # Names are taken as they are, of low confidence, where nothing can be compared.
            return {}
        return dict(zip(known, likeness, strict=True))


def symbol_text(name: str, found: ToolResult) -> str:
    """Return what is compared of a symbol: the words of its name, its signature, the head of its documentation."""
    rows = found.data.get("symbols") or ()
    first = rows[0] if rows else {}
    words = " ".join(_WORD.findall(name)).lower()
    doc = str(first.get("docstring") or "")[:MAX_DOC_CHARS]
    return " ".join(part for part in (words, str(first.get("signature") or ""), doc) if part)


def _compared(folder: Path, query: str, texts: Sequence[str]) -> list[float]:
    from runtime.codebase.semantics.embedding_socket import SocketEmbedder

    vectors = SocketEmbedder(folder).embed([query, *texts], PATIENCE_S)
    return [float(max(0.0, min(1.0, value))) for value in vectors[1:] @ vectors[0]]


async def _unheard(_done: float, _total: float | None, _message: str) -> None:
    return None
