"""Writes the Markdown of generated pages: tables whose cells hold any text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

_CODE = re.compile(r"(`+[^`]*`+)")
_MARKUP = re.compile(r"([\\<>\[\]*_{}$#~])")


def prose(text: str) -> str:
    """Return text of code or of a document as Markdown of one line: code spans stay, everything else is literal."""
    pieces = _CODE.split(" ".join(text.split()))
    return "".join(piece if at % 2 else _MARKUP.sub(r"\\\1", piece) for at, piece in enumerate(pieces))


def code(text: str) -> str:
    """Return text as a code span; empty text stays empty."""
    line = " ".join(text.split())
    return f"`{line}`" if line and "`" not in line else prose(line)


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table; the cells are Markdown already."""
    yield ""
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def form(schema: dict[str, Any]) -> str:
    """Return what a JSON schema admits, in a few words."""
    if "$ref" in schema:
        return code(schema["$ref"].rpartition("/")[2])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(form(each) for each in schema[word] if each.get("type") != "null"))
    if "allOf" in schema:
        return " and ".join(form(each) for each in schema["allOf"])
    if "enum" in schema:
        return ", ".join(code(each if isinstance(each, str) else json.dumps(each)) for each in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {form(schema.get('items', {}))}"
    if kind == "object":
        return _map_form(schema)
    return _scalar_form(str(kind or "any value"), schema)


_KINDS = {"string": "text", "boolean": "true or false", "number": "number", "integer": "integer"}
_LIMITS = (
    ("minimum", "≥ {}"),
    ("exclusiveMinimum", "> {}"),
    ("maximum", "≤ {}"),
    ("exclusiveMaximum", "< {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("pattern", "of the form `{}`"),
)


def _scalar_form(kind: str, schema: dict[str, Any]) -> str:
    limits = [told.format(schema[name]) for name, told in _LIMITS if name in schema]
    return " ".join([_KINDS.get(kind, kind), ", ".join(limits)]).strip()


def _map_form(schema: dict[str, Any]) -> str:
    values = [*schema.get("patternProperties", {}).values()]
    if isinstance(schema.get("additionalProperties"), dict):
        values.append(schema["additionalProperties"])
    told = [form(value) for value in values if value]
    return f"map to {told[0]}" if told else "map"
