"""Defines the notes of values, which facts and claims carry, and reads them from a tool's result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.search.values.literal_forms import LiteralForm


class ValueNote(msgspec.Struct, frozen=True):
    """Describes what a name is, or is by default, and the lines that prove it, from the name to the literal.

    `value`: None where it is not proven, and for a secret. `role`: default, constant, or set for any other place.
    `form`: `document` where a document states the value, `sentence` where the only text is a sentence that tells of it.
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
    form: str = ""

    @property
    def is_proven(self) -> bool:
        """True if its value is known, be it a secret."""
        return self.value is not None or self.is_secret


class LiteralNote(msgspec.Struct, frozen=True):
    """Describes a literal in a line that tells a value which the question asks for.

    `form`: what the line says of it (`literal_forms.LiteralForm`); `subject`: what it is the value of; `text`: its
    line; `leads`: it answers by itself.
    """

    form: LiteralForm
    subject: str
    value: str
    text: str
    citation: Citation
    leads: bool = False


def value_notes(result: ToolResult) -> Iterator[tuple[ValueNote, float]]:
    """Yield the values of a search, each with the share of the question that is said of its name."""
    for row in result.data.get("values", ()):
        for chain in row["chains"]:
            yield _note(row["part"], chain, result.citations), row["share"]


def constant_notes(row: dict[str, Any], citations: Sequence[Citation]) -> tuple[ValueNote, ...]:
    """Return the values of the constants in the lines of a found place."""
    return tuple(_note("", chain, citations) for chain in row.get("constants", ()))


def literal_notes(row: dict[str, Any], citations: Sequence[Citation]) -> tuple[LiteralNote, ...]:
    """Return the literals of a found place that tell a value which is asked for."""
    return tuple(
        LiteralNote(
            one["form"], one["subject"], one["value"], one["text"], _lean(citations[one["citation"]]), one["leads"]
        )
        for one in row.get("literals", ())
    )


def _lean(citation: Citation) -> Citation:
    return msgspec.structs.replace(citation, why="", content_sha256="")


def _note(part: str, chain: dict[str, Any], citations: Sequence[Citation]) -> ValueNote:
    lean = [_lean(citations[step["citation"]]) for step in chain["steps"]]
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
        form=chain.get("form", ""),
    )
