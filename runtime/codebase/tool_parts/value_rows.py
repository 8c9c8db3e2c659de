"""Builds the rows of values that a question asks for, each step of their proofs with a citation."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.resolution.default_values.secret_values import is_secret
from runtime.codebase.resolution.default_values.value_chains import ValueChain
from runtime.codebase.tool_parts.citing import cite
from runtime.primitives.dotted_names import last_part

MAX_CHAINS = 6

_Row = dict[str, Any]


def add_values(codebase: Codebase, data: dict[str, Any], first: int) -> list[Citation]:
    """Add to the data of a search the `values` that its query asks for; return the citations of their steps.

    A row has `part` of the question, `name`, `share` of the question that is said of it, and `chains` [{name, owner,
    role, value, conditions, function, is_secret, steps [{file, line, text, citation}]}]; citations are numbered from
    `first`. `value` is None where it is not proven; the text of a secret is left out.
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


def _cited(codebase: Codebase, chain: ValueChain) -> list[Citation]:
    """Return the citation of each step; empty if a line is no longer what was read."""
    found = []
    hidden = is_secret(chain.name, chain.value)
    for step in chain.steps:
        citation = cite(codebase, step.file, step.line, step.line, why=f"gives {step.name} its value", symbol=step.name)
        if citation is None or step.text not in citation.quote:
            return []
        found.append(msgspec.structs.replace(citation, quote="") if hidden else citation)
    return found


def _chain_row(chain: ValueChain, first: int) -> _Row:
    hidden = is_secret(chain.name, chain.value)
    return {
        "name": chain.name,
        "owner": chain.owner,
        "role": chain.role,
        "value": None if hidden else chain.value,
        "conditions": list(chain.conditions),
        "function": chain.function,
        "is_secret": hidden,
        "steps": [
            {"file": step.file, "line": step.line, "text": "" if hidden else step.text, "citation": first + at}
            for at, step in enumerate(chain.steps)
        ],
    }
