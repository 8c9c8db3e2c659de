"""Records how the tools of a pass found their results: places with features, proofs with lines.

Nothing of it is read by a later stage; it is made only for an answer that is to be explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.handover.explained import (
    ConsideredPlace,
    ExplainedSteps,
    ProofStep,
    ProvenLink,
)
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase

MAX_PLACES = 12
MAX_PROOFS = 60
MAX_LINE_CHARS = 160
# What a list of `explore_symbol_usage` shows of its rows.
_LINKS = {"callers": "calls", "others": "calls", "references": "uses", "tests": "tests", "callees": "calls"}


def explained_steps(codebase: Codebase, called: Iterable[tuple[Step, ToolResult]]) -> ExplainedSteps:
    """Return the first places of each search and the proofs of all tools, in the order of the calls."""
    places: list[ConsideredPlace] = []
    proofs: dict[tuple[str, str, int], ProvenLink] = {}
    for step, result in called:
        if step.tool == "locate":
            places += _considered(codebase, step, result)
            links = _values(result)
        else:
            links = _links(codebase, result) if step.tool == "explore_symbol_usage" else iter(())
        for link in links:
            proofs.setdefault((link.what, link.file, link.line), link)
    return ExplainedSteps(places, list(proofs.values())[:MAX_PROOFS])


def _considered(codebase: Codebase, step: Step, result: ToolResult) -> Iterator[ConsideredPlace]:
    query = str(result.data["query"])
    rows = result.data["results"][:MAX_PLACES]
    order = codebase.explained_order(query) if any(row.get("ranker") for row in rows) else None
    for rank, row in enumerate(rows, 1):
        is_ranked = order is not None and bool(row.get("ranker"))
        yield ConsideredPlace(
            step=step.id,
            query=query,
            rank=rank,
            file=row["file"],
            start_line=row["start_line"],
            end_line=row["end_line"],
            symbol=row["symbol"] or "",
            score=row["score"],
            source=row["source"],
            ranker=row.get("ranker"),
            features=dict(order.of(row["file"], row["start_line"], row["end_line"])) if order and is_ranked else {},
        )


def _values(result: ToolResult) -> Iterator[ProvenLink]:
    """Yield the values that a search proved, each with the steps from its name to its literal."""
    for row in result.data.get("values", ()):
        for chain in row["chains"]:
            cited = [(step, result.citations[step["citation"]]) for step in chain["steps"]]
            if chain["value"] is None or not cited:
                continue
            shows = ["name", *["leads on"] * (len(cited) - 2), "value"][-len(cited) :]
            texts = [(step["text"].strip(), at) for step, at in cited]
            by = [ProofStep(what, at.file, at.start_line, text) for what, (text, at) in zip(shows, texts, strict=True)]
            name = f"{chain['owner']}.{chain['name']}" if chain["owner"] else chain["name"]
            yield ProvenLink(f"{name} is {chain['value']}", by[0].file, by[0].line, by)


def _links(codebase: Codebase, result: ToolResult) -> Iterator[ProvenLink]:
    """Yield the calls and other uses that were proven, each with the lines that lead to the definition."""
    for part, verb in _LINKS.items():
        for row in result.data.get(part, ()):
            if row.get("proof"):
                yield _link(codebase, result.data["symbol"], part, verb, row)


def _link(codebase: Codebase, symbol: str, part: str, verb: str, row: dict[str, Any]) -> ProvenLink:
    steps = ((step["kind"], step["file"], step["line"]) for step in row["proof"])
    by = [ProofStep(kind, file, line, _line(codebase, file, line)) for kind, file, line in steps]
    if part == "callees":
        return ProvenLink(f"{symbol} {verb} {row['symbol'] or row['name']}", by[0].file, row["line"], by)
    return ProvenLink(f"{row['enclosing'] or row['file']} {verb} {symbol}", row["file"], row["line"], by)


def _line(codebase: Codebase, file: str, line: int) -> str:
    source = codebase.try_source(file)
    return source.lines[line - 1].strip()[:MAX_LINE_CHARS] if source and 0 < line <= len(source.lines) else ""
