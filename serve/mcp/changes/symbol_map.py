"""Answers searches from the Map: symbols that earlier changes for a like request turned out to mean.

Agreements that were recorded, imported or allowed on this machine are a short-cut: what they name is all that is told.
Others, which a repository brings along, only add to what a search finds. Either way nothing of an agreement is shown:
its names are looked up, and rows of the index are told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from actors.capabilities.code_change.session.agreed_symbols import Agreed, agreed, exact
from actors.capabilities.code_change.session.consent import contract_of
from actors.capabilities.code_change.store.agreement_files import AgreementFile, read_agreements
from runtime.codebase.files.consent import Consent
from runtime.codebase.search.presence.spoken_language import is_english
from runtime.contracts.loading import load_contract
from runtime.errors import InputError, MachineError
from runtime.settings import Settings
from runtime.tools.result import ToolResult
from serve.mcp.changes.impact import Results
from serve.mcp.search.answers import answer_of
from serve.mcp.search.tools import SearchTool, arguments_of
from serve.mcp.toolset import Report, ToolAnswer
from serve.wiring import CHANGE_CONTRACT, agent_settings

if TYPE_CHECKING:
    from serve.mcp.changes.request_vectors import RequestVectors

MAX_PLACES = 3

SHORT_CUT = (
    "from the Map: {count} agreement(s) of earlier changes for a like request (likeness {likeness:.2f}) name these "
    "symbols, and nothing else was searched; locate and search_text look further"
)
NOT_ALLOWED = (
    "rows with found_by map are named by agreements that this repository brings along and nobody allowed here; take "
    "them for hints"
)

# A file's own name, a key or a heading is no definition.
_NO_SYMBOLS = frozenset({"module", "key", "section"})

log = logging.getLogger(__name__)


class MapHit(NamedTuple):
    """Holds the places of agreed symbols that exist, as rows of `find_symbol`, and the agreements behind them."""

    rows: tuple[Mapping[str, Any], ...]
    agreed: Agreed

    def gives(self, name: str) -> bool:
        """Return whether an allowed agreement names a symbol that exists, by its whole name or the last part of it."""
        return self.agreed.is_allowed and any(_is_named(str(row["symbol"]), name) for row in self.rows)

    def symbols(self) -> list[dict[str, Any]]:
        """Return the agreed symbols with their places, as an agent is told them."""
        return [{"symbol": row["symbol"], "file": row["file"], "line": row["start_line"]} for row in self.rows]


class SymbolMap:
    """Looks requests up among the agreements of one repository."""

    def __init__(self, settings: Settings, root: str, search: Results) -> None:
        self._root = Path(root)
        self._search = search
        self._consent = Consent(settings.state_dir)
        self._bound: float | None = None
        self._kind = settings.code_index.vector_store
        vectors = agent_settings(settings)["vectors"]
        self._folder = None if vectors is None else Path(str(vectors)).parent
        self._vectors: RequestVectors | None = None

    async def hit(self, query: str, report: Report) -> MapHit | None:
        """Return what is agreed on for a request; None where nothing is, or nothing of it exists any more."""
        found = await asyncio.to_thread(self._agreed, query)
        if found is None:
            return None
        rows = [row for name in found.symbols for row in await self._places(name, report)]
        return MapHit(tuple(rows), found) if rows else None

    async def answer(self, tool: SearchTool, given: Mapping[str, Any], report: Report) -> ToolAnswer:
        """Return what agreements say of a search by meaning, or what it finds; agreements not allowed add to that."""
        arguments = arguments_of(tool, given)
        hit = await self.hit(str(given["query"]), report)
        rows = _rows_of(hit, arguments.get("scope"))[: int(arguments["max_results"])] if hit is not None else []
        if hit is None or not rows:
            result = await self._search.result(tool.code_tool, arguments, report)
        elif hit.agreed.is_allowed:
            note = SHORT_CUT.format(count=hit.agreed.agreements, likeness=hit.agreed.likeness)
            result = ToolResult("ok", {"query": given["query"], "found_by": "map", "hits": list(rows), "note": note})
        else:
            found = await self._search.result(tool.code_tool, arguments, report)
            places = {(row.get("file"), row.get("start_line")) for row in found.data.get("hits", ())}
            more = [{**row, "found_by": "map"} for row in rows if (row["file"], row["start_line"]) not in places]
            hits = [*found.data.get("hits", ()), *more]
            result = ToolResult("ok", {**found.data, "hits": hits, **({"note": NOT_ALLOWED} if more else {})})
        return await asyncio.to_thread(answer_of, tool.code_tool, result, arguments, int(given["max_tokens"]))

    async def _places(self, symbol: str, report: Report) -> list[Mapping[str, Any]]:
        """Return the definitions that have exactly that name; an agreement may be older than the code."""
        found = await self._search.result("find_symbol", {"name": symbol}, report)
        known = (row for row in found.data.get("symbols", ()) if row["kind"] not in _NO_SYMBOLS)
        rows = [row for row in known if _is_named(str(row["symbol"]), symbol)]
        return rows[:MAX_PLACES]

    def _agreed(self, query: str) -> Agreed | None:
        files = read_agreements(self._root).files
        if not files:
            return None
        if self._bound is None:
            contract = load_contract(CHANGE_CONTRACT)
            try:
                contract, _ = contract_of(self._root, contract, self._consent)
            except InputError:
                # A search is answered also where no session begins.
                log.info("map.shipped_bound")
            self._bound = contract.relevance.agreement
        likeness = {**self._likeness(query, files), **exact(query, files)}
        return agreed(query, files, likeness, self._consent.allowed(self._root), self._bound)

    def _likeness(self, query: str, files: Mapping[str, AgreementFile]) -> dict[str, float]:
        """Return how like the requests of agreements are.

        Equal ones alone count without the model of meaning, and in a language that it does not know, whose sentences
        all look alike to it.
        """
        if self._folder is None or not is_english(query):
            return {}
        try:
            # Imported here: numpy takes a while, and many repositories have no agreement.
            from serve.mcp.changes.request_vectors import RequestVectors

            if self._vectors is None:
                self._vectors = RequestVectors(self._folder, self._kind, self._root)
            return self._vectors.compared(query, files)
        except (MachineError, ImportError) as error:
            log.info("map.not_compared", extra={"error": str(error)})
            return {}


def _is_named(found: str, symbol: str) -> bool:
    return found == symbol or found.endswith((f".{symbol}", f"::{symbol}", f"#{symbol}"))


def _rows_of(hit: MapHit, scope: str | None) -> list[dict[str, Any]]:
    """Return the places of a hit within a file or folder, as rows of `semantic_search`."""
    below = None if scope in (None, ".", "") else str(scope).strip("/")
    return [
        {"file": row["file"], "start_line": row["start_line"], "end_line": row["end_line"], "symbol": row["symbol"]}
        for row in hit.rows
        if below is None or row["file"] == below or str(row["file"]).startswith(f"{below}/")
    ]
