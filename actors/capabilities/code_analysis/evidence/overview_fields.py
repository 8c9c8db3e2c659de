"""Reads the result of `describe_folder` into the fields of facts, one fact for each statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.codebase.citation import ToolResult

# More parts are drawn than any other kind is listed: kinds take turns where the facts of a step are cut.
MAX_EDGES = 16


def overview_fields(result: ToolResult) -> Iterator[dict[str, Any]]:
    """Yield the fields of facts, in the order in which an answer tells them; what has no citation is left out."""
    data = result.data
    for fields in _fields(data):
        position = fields.pop("citation")
        if position is not None:
            yield {**fields, "citation": result.citations[position]}


def _fields(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in data["purpose"]:
        yield _fact("purpose", row, name=row["source"], text=row["text"])
    place = "whole" if data["path"] == "." else "folder"
    for row in data["languages"]:
        told = {"name": row["language"], "about": row["source"], "count": row["lines"], "of": data["lines"]}
        yield _fact("language", row, symbol_kind=place, **told)
    yield from _of_parts(data)
    for row in data["further"]:
        yield _fact("part_further", row, name=row["part"])
    for row in data["edges"][:MAX_EDGES]:
        yield _fact("edge", row, name=row["target"], about=row["source"], count=row["files"])
    yield from _of_hubs(data)
    for row in data["entries"]:
        yield _fact(
            "entry",
            row,
            name=row["name"],
            symbol_kind=row["kind"],
            signature=row["target"],
            text=" ".join(row["names"]),
            count=row["names_total"],
            of=data["entries_total"],
        )
    for row in data["dependencies"]:
        yield _fact("dependency", row, name=row["source"], text=" ".join(row["names"]), count=row["names_total"])
    for row in data["reading"]:
        yield _fact("reading", row, name=row["name"], symbol_kind=row["reason"], count=row["count"])
    for row in data["asides"]:
        yield _fact("aside", row, name=row["folder"], symbol_kind=row["kind"], text=row["text"], count=row["files"])


def _of_parts(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for rank, row in enumerate(data["parts"]):
        yield _fact(
            "part",
            row,
            name=row["part"],
            symbol_kind=row["kind"],
            text=row["text"],
            about=row["about"],
            count=row["files"],
            of=data["parts_total"],
            score=1 / (rank + 1),
        )
        for one in row["alike"]:
            yield _fact("part_alike", one, name=one["name"], about=row["part"], count=one["files"])
        # Of a part that says itself what it is, the names are not told.
        is_whole = bool(row["text"]) and (not row["about"] or row["kind"] != "folder")
        for used in () if is_whole else row["names"]:
            kind = "file" if used["is_file"] else ""
            yield _fact("part_name", used, name=used["name"], about=row["part"], count=used["files"], symbol_kind=kind)


def _of_hubs(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in data["calls"]:
        yield _fact(
            "entry_call",
            row,
            name=row["name"],
            about=row["caller"],
            signature=row["entry"],
            text=row["part"],
            symbol_kind="step" if row["is_step"] else "call",
        )
    for row in data["hubs"]:
        yield _fact(
            "hub",
            row,
            name=row["target"],
            about=row["name"],
            signature=row["entry"],
            text=row["step"],
            symbol_kind="step" if row["step"] else "part" if row["is_part"] else "file",
            count=row["total"],
            of=row["parts_total"],
        )


def _fact(kind: str, row: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "citation": row["citation"], **fields}
