"""Builds the rows of values that a question asks for, or that its places name or hold.

Each step of a proof has a citation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path, kind_of_place
from runtime.codebase.resolution.default_values.secret_values import is_secret
from runtime.codebase.resolution.default_values.value_chains import ChainStep, ValueChain
from runtime.codebase.search.excerpts import informative_terms
from runtime.codebase.search.prose.sentences import holds
from runtime.codebase.search.values.shown_literals import Piece
from runtime.codebase.search.values.shown_values import ShownLines
from runtime.codebase.search.values.value_questions import literal_parts
from runtime.codebase.tool_parts.citing import cite
from runtime.primitives.dotted_names import last_part

MAX_CHAINS = 6
# The place that leads an answer is among so many.
MAX_PLACES = 10

_Row = dict[str, Any]


def add_values(codebase: Codebase, data: dict[str, Any], first: int) -> list[Citation]:
    """Add to the data of a search the `values` that its query asks for; return the citations of their steps.

    A row has `part` of the question, `name`, `share` of the question that is said of it, and `chains` [{name, owner,
    role, form, value, conditions, function, is_secret, steps [{file, line, text, citation}]}]; citations are numbered
    from `first`. `value` is None where it is not proven; the text of a secret is left out.
    """
    places = [(row["file"], row["start_line"], row["end_line"]) for row in data["results"]]
    names = [last_part(name) for row in data["passages"] for name in row["names"]]
    citations: list[Citation] = []
    rows: list[_Row] = []
    for asked in codebase.asked_values(data["query"], places, names):
        chains = []
        for chain in asked.chains[:MAX_CHAINS]:
            cited = _cited(codebase, chain)
            if cited:
                chains.append(_chain_row(chain, first + len(citations)))
                citations += cited
        if chains:
            rows.append({"part": asked.part, "name": asked.name, "share": round(asked.share, 4), "chains": chains})
    data["values"] = rows
    return citations


def add_told_values(codebase: Codebase, query: str, rows: Sequence[_Row], first: int) -> list[Citation]:
    """Add the `constants` and the `literals` of the first rows; return their citations, numbered from `first`."""
    citations = add_constants(codebase, rows, first)
    return citations + add_literals(codebase, query, rows, first + len(citations))


def add_constants(codebase: Codebase, rows: Sequence[_Row], first: int) -> list[Citation]:
    """Add to the first ten rows with an excerpt of code the `constants` in its lines; return their steps' citations.

    `constants` are chains as those of `add_values`, of numbers alone; a row without any is left as it is.
    """
    told = [row for row in rows[:MAX_PLACES] if "excerpt" in row and kind_of_path(row["file"]) == "source"]
    shown = codebase.shown_values([_lines_of(codebase, row) for row in told]) if told else []
    citations: list[Citation] = []
    for row, chains in zip(told, shown, strict=True):
        for chain in chains:
            cited = _cited(codebase, chain)
            if cited:
                row.setdefault("constants", []).append(_chain_row(chain, first + len(citations)))
                citations += cited
    return citations


def add_literals(codebase: Codebase, query: str, rows: Sequence[_Row], first: int) -> list[Citation]:
    """Add to the first ten rows with an excerpt of code the `literals` that a query asks for; return their citations.

    A row of these has form, subject, value, text (its line), leads (it answers by itself) and citation, numbered from
    `first`; a query that asks for no value adds none.
    """
    if not literal_parts(query):
        return []
    told = [row for row in rows[:MAX_PLACES] if "excerpt" in row and _is_source(row)]
    places = [_piece_of(codebase, row) for row in told]
    found = codebase.shown_literals(query, informative_terms(codebase.index, query), places)
    citations: list[Citation] = []
    for row, literals in zip(told, found, strict=True):
        for one in literals:
            lines = (one.start_line, one.line)
            citation = cite(
                codebase, row["file"], *lines, why="tells a value", symbol=row["symbol"], telling_line=one.line
            )
            if citation is None or citation.quote not in one.text:
                continue
            told_of = {"form": one.form, "subject": one.subject, "value": one.value, "text": one.text}
            row.setdefault("literals", []).append({**told_of, "leads": one.leads, "citation": first + len(citations)})
            citations.append(citation)
    return citations


def _is_source(row: _Row) -> bool:
    return kind_of_place(row["file"], row["symbol"]) == "source"


def _piece_of(codebase: Codebase, row: _Row) -> Piece:
    shown = tuple(_lines_of(codebase, row)[1])
    return Piece(row["file"], row["start_line"], row["end_line"], shown, row["symbol"] or "")


def _lines_of(codebase: Codebase, row: _Row) -> ShownLines:
    """Return the numbers and the text of the lines that an answer may show of a place."""
    chosen = row["excerpt"]
    numbers = {*range(chosen["shown_start"], chosen["shown_end"] + len(chosen.get("rest", ())) + 1)}
    numbers |= {number for part in ("heads", "body") for number, _ in chosen.get(part, ())}
    source = codebase.try_source(row["file"])
    lines = source.lines if source is not None else []
    kept = sorted(number for number in numbers if number <= len(lines))
    return row["file"], kept, [lines[number - 1] for number in kept]


def _cited(codebase: Codebase, chain: ValueChain) -> list[Citation]:
    """Return the citation of each step; empty if a line is no longer what was read."""
    found = []
    hidden = is_secret(chain.name, chain.value)
    for step in chain.steps:
        last = step.last_line or step.line
        citation = cite(codebase, step.file, step.line, last, why=f"gives {step.name} its value", symbol=step.name)
        if citation is None or not (step.text in citation.quote or _is_said(codebase, step)):
            return []
        found.append(msgspec.structs.replace(citation, quote="") if hidden else citation)
    return found


def _is_said(codebase: Codebase, step: ChainStep) -> bool:
    """Return whether a step is a sentence that its lines still hold."""
    source = codebase.try_source(step.file) if step.last_line else None
    return source is not None and holds(source.lines[step.line - 1 : step.last_line], step.text)


def _chain_row(chain: ValueChain, first: int) -> _Row:
    hidden = is_secret(chain.name, chain.value)
    return {
        "name": chain.name,
        "owner": chain.owner,
        "role": chain.role,
        "form": chain.form,
        "value": None if hidden else chain.value,
        "conditions": list(chain.conditions),
        "function": chain.function,
        "is_secret": hidden,
        "steps": [
            {"file": step.file, "line": step.line, "text": "" if hidden else step.text, "citation": first + at}
            for at, step in enumerate(chain.steps)
        ],
    }
