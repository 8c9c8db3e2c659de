"""Finds what a change touches, from the proofs of the code index: what must or should be verified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from runtime.tools.result import ToolResult
from serve.mcp.toolset import Report

MAX_FILES = 40
MAX_DOCUMENT_HITS = 50
# Rows of a usage that are proven; the others are mentions by name.
_PROVEN = {"callers": "calls it", "references": "refers to it", "importers": "imports it", "tests": "tests it"}
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".html")


class Results(Protocol):
    """Runs code tools."""

    async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
        """Return the whole result of a code tool."""
        ...


async def impact_of(search: Results, symbols: Sequence[str], files: Sequence[str], report: Report) -> Mapping[str, Any]:
    """Return `must_verify` and `should_verify`: [{file, reasons}], and what was not found."""
    must: dict[str, list[str]] = {}
    should: dict[str, list[str]] = {}
    unknown = []
    for symbol in symbols:
        usage = await search.result("explore_symbol_usage", {"symbol": symbol}, report)
        if not usage.data.get("definitions"):
            unknown.append(symbol)
        for part, said in _PROVEN.items():
            _note(must, usage.data.get(part, ()), f"{said}: {symbol}")
        _note(should, usage.data.get("mentions", ()), f"names {symbol}, receiver unknown")
        hits = await search.result("grep_search", {"pattern": symbol, "max_hits": MAX_DOCUMENT_HITS}, report)
        named = [row for row in hits.data.get("hits", ()) if str(row.get("file", "")).endswith(_DOCUMENTS)]
        _note(should, named, f"a document that names {symbol}")
    for file in files:
        related = await search.result("find_related", {"path": file}, report)
        for row in related.data.get("related", ()):
            reasons = set(row.get("reasons", ()))
            is_proven = bool(reasons & {"tests", "importers", "imported_by"})
            _note(must if is_proven else should, [row], f"{', '.join(sorted(reasons))}: {file}")
    return {
        "must_verify": _rows(must),
        "should_verify": _rows({file: said for file, said in should.items() if file not in must}),
        **({"not_found": unknown} if unknown else {}),
        **({"cut": f"{MAX_FILES} of {len(must)} files that must be verified"} if len(must) > MAX_FILES else {}),
    }


def _note(found: dict[str, list[str]], rows: Iterable[Mapping[str, Any]], reason: str) -> None:
    for row in rows:
        file = row.get("file")
        if isinstance(file, str):
            line = row.get("line") or row.get("start_line")
            said = f"{reason} (line {line})" if line else reason
            reasons = found.setdefault(file, [])
            if said not in reasons and len(reasons) < 5:
                reasons.append(said)


def _rows(found: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    return [{"file": file, "reasons": reasons} for file, reasons in list(found.items())[:MAX_FILES]]
