"""Defines the note of a proven value, which facts and claims carry, and reads it from a tool's result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from runtime.codebase.citation import Citation, ToolResult


class ValueNote(msgspec.Struct, frozen=True):
    """Describes what a name is, or is by default, and the lines that prove it, from the name to the literal.

    `value`: None where it is not proven, and for a secret. `role`: default, constant, or set for any other place.
    `part`: the part of the question that asks for it; `function`: the function that gives the value, if one does.
    """

    part: str
    name: str
    owner: str
    role: str
    value: str | None
    conditions: tuple[str, ...]
    function: str
    steps: tuple[Citation, ...]
    texts: tuple[str, ...]
    is_secret: bool = False

    @property
    def is_proven(self) -> bool:
        """True if its value is known, be it a secret."""
        return self.value is not None or self.is_secret


def value_notes(result: ToolResult) -> Iterator[tuple[ValueNote, float]]:
    """Yield the values of a search, each with the share of the question that is said of its name."""
    for row in result.data.get("values", ()):
        for chain in row["chains"]:
            yield _note(row["part"], chain, result.citations), row["share"]


def constant_notes(row: dict[str, Any], citations: Sequence[Citation]) -> tuple[ValueNote, ...]:
    """Return the values of the constants in the lines of a found place."""
    return tuple(_note("", chain, citations) for chain in row.get("constants", ()))


def _note(part: str, chain: dict[str, Any], citations: Sequence[Citation]) -> ValueNote:
    lean = [msgspec.structs.replace(citations[step["citation"]], why="", content_sha256="") for step in chain["steps"]]
    return ValueNote(
        part=part,
        name=chain["name"],
        owner=chain["owner"],
        role=chain["role"],
        value=chain["value"],
        conditions=tuple(chain["conditions"]),
        function=chain["function"],
        steps=tuple(lean),
        texts=tuple(step["text"] for step in chain["steps"]),
        is_secret=chain["is_secret"],
    )
