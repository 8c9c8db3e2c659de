"""Finds what a change touches, from the proofs of the code index: what must or should be verified."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.tools.result import ToolResult
from serve.mcp.search.fitting import size_tokens
from serve.mcp.toolset import Report

MAX_FILES = 40
MAX_LIKELY = 12
MAX_REASONS = 5
# Shares of the files that are tried where not all fit.
_SHARES = (0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0.0)
MAX_DOCUMENT_HITS = 50
# Rows of a usage that are proven; the others are mentions by name.
_PROVEN = {"callers": "calls it", "references": "refers to it", "importers": "imports it", "tests": "tests it"}
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".html")


_PLAIN_WORD = re.compile(r"[a-z]+")
# A mention in code weighs as many in documents.
IN_CODE = 3


class Results(Protocol):
    """Runs code tools."""

    async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
        """Return the whole result of a code tool."""
        ...


async def impact_of(search: Results, symbols: Sequence[str], files: Sequence[str], report: Report) -> Mapping[str, Any]:
    """Return `must_verify` and `should_verify`: [{file, reasons}], and what was not found.

    Files that should be verified come in order of likelihood, those with most mentions first, at most twelve.
    """
    must: dict[str, list[str]] = {}
    should: dict[str, list[str]] = {}
    weights: Counter[str] = Counter()
    unknown = []
    # One after another: more calls side by side than processes are kept for would start processes for them alone.
    for symbol in symbols:
        usage, rows = await _look_up(search, symbol, report)
        if not usage.data.get("definitions"):
            unknown.append(symbol)
        for part, said in _PROVEN.items():
            for row in usage.data.get(part, ()):
                _note(should if _is_of_document(row) else must, [row], _reason(row, said, symbol))
        mentions = usage.data.get("mentions", ())
        _note(should, mentions, f"names {symbol}, receiver unknown")
        weights.update({file: IN_CODE * count for file, count in _files(mentions).items()})
        named = [row for row in rows if str(row.get("file", "")).endswith(_DOCUMENTS)]
        _note(should, named, f"a document that names {symbol}")
        weights.update(_files(named))
    for file in files:
        related = await search.result("find_related", {"path": file}, report)
        if related.status == "not_found":
            unknown.append(file)
        for row in related.data.get("related", ()):
            reasons = set(row.get("reasons", ()))
            is_proven = bool(reasons & {"tests", "importers", "imported_by"})
            _note(must if is_proven else should, [row], f"{', '.join(sorted(reasons))}: {file}")
    likely = sorted((file for file in should if file not in must), key=lambda file: -weights[file])
    more = len(likely) - MAX_LIKELY
    return {
        "must_verify": _rows(must),
        "should_verify": _rows({file: should[file] for file in likely[:MAX_LIKELY]}),
        **({"more": f"{more} more files only name these symbols; search_text lists them"} if more > 0 else {}),
        **({"not_found": unknown} if unknown else {}),
        **({"cut": f"{MAX_FILES} of {len(must)} files that must be verified"} if len(must) > MAX_FILES else {}),
    }


def _is_of_document(row: Mapping[str, Any]) -> bool:
    """Return whether a use is no more than that a document shows the name."""
    return not row.get("proof") and kind_of_path(str(row.get("file", ""))) in {"docs", "changelog"}


def _reason(row: Mapping[str, Any], said: str, symbol: str) -> str:
    if row.get("imports") == "module":
        return f"imports the module of {symbol}"
    brought = row.get("name") if "imports" in row else None
    if brought and str(symbol).rpartition(".")[2] != brought:
        return f"imports {brought}, which has {symbol}"
    return f"{said}: {symbol}"


async def _look_up(search: Results, symbol: str, report: Report) -> tuple[ToolResult, list[Mapping[str, Any]]]:
    """Return the usage of a symbol, and the lines that name it as documents do."""
    usage = search.result("explore_symbol_usage", {"symbol": symbol}, report)
    found, lines = await _all((usage, _naming_lines(search, symbol, report)))
    return found, lines


async def _naming_lines(search: Results, symbol: str, report: Report) -> list[Mapping[str, Any]]:
    wanted = {"pattern": document_pattern(symbol), "regex": True, "endings": _DOCUMENTS}
    hits = await search.result("grep_search", {**wanted, "max_results": MAX_DOCUMENT_HITS}, report)
    return list(hits.data.get("hits", ()))


async def _all(awaited: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Return the results of coroutines that run side by side; if one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in awaited]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def within(found: Mapping[str, Any], max_tokens: int) -> Mapping[str, Any]:
    """Return an impact that takes at most so many tokens, as text and as data: with fewer reasons, then fewer files."""
    told, files = dict(found), len(found["must_verify"])
    for reasons, kept in ((MAX_REASONS, 1.0), *((most, 1.0) for most in (3, 2, 1)), *((1, share) for share in _SHARES)):
        told["must_verify"] = _shortened(found["must_verify"], reasons, kept)
        told["should_verify"] = _shortened(found["should_verify"], reasons, kept)
        left = len(told["must_verify"])
        if left < files:
            of = str(found.get("cut", f"of {files}")).partition("of ")[2].partition(" ")[0]
            told["cut"] = f"{left} of {of} files that must be verified; ask for fewer symbols at once"
        if 2 * size_tokens(json.dumps(told, ensure_ascii=False, indent=1)) <= max_tokens:
            break
    return told


def _shortened(rows: Sequence[Mapping[str, Any]], reasons: int, share: float) -> list[dict[str, Any]]:
    return [{**row, "reasons": row["reasons"][:reasons]} for row in rows[: max(1, int(len(rows) * share))]]


def document_pattern(symbol: str) -> str:
    """Return the regular expression by which documents name a symbol; a plain word must stand there as code does."""
    name = re.escape(symbol)
    before, after = (r"\b" if each.isalnum() or each == "_" else "" for each in (symbol[:1], symbol[-1:]))
    word = f"{before}{name}{after}"
    return f"`[^`]*{word}[^`]*`|{word}\\(" if _PLAIN_WORD.fullmatch(symbol) else word


def _files(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    return Counter(row["file"] for row in rows if isinstance(row.get("file"), str))


def _note(found: dict[str, list[str]], rows: Iterable[Mapping[str, Any]], reason: str) -> None:
    for row in rows:
        file = row.get("file")
        if isinstance(file, str):
            line = row.get("line") or row.get("start_line")
            said = f"{reason} (line {line})" if line else reason
            reasons = found.setdefault(file, [])
            if said not in reasons and len(reasons) < MAX_REASONS:
                reasons.append(said)


def _rows(found: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    return [{"file": file, "reasons": reasons} for file, reasons in list(found.items())[:MAX_FILES]]
