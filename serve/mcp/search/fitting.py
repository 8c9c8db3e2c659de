"""Fits what a tool found into a token budget, as text for a model and as JSON.

Both forms show the same rows. Where not all fit, each list keeps its first rows, and `cut` says how many of how many.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from serve.mcp.search.plain_text import as_text

# Tokenizers of code models make a token of three bytes or more of source text.
BYTES_PER_TOKEN = 3
MAX_CELL_CHARS = 400
MIN_BLOCK_CHARS = 200
MIN_CELL_CHARS = 40

# Key of what was cut inside rows.
DETAILS = "details"

# Key of a tool's lists that have more rows than the tool looked for.
HAS_MORE = "has_more"

# Shares that are tried: of the rows within rows, then of the rows themselves, down to the first of each list.
_MEMBERS = (0.5, 0.25, 0.1, 0.0)
_SHARES = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.22, 0.16, 0.11, 0.08, 0.05, 0.03, 0.01, 0.0)

# Fields that number the evidence inside a tool's result or explain its ranking to us.
_INTERNAL = frozenset({"citation", "docstring_citation", "source", "ranker", "score", "meaning", "tokens", "left_out"})

Render = Callable[[Mapping[str, Any]], str]


def size_tokens(text: str) -> int:
    """Estimate the tokens of a text from its bytes, rather too many than too few."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def compact(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a tool without empty values and fields that only this program uses; proofs become lines."""
    told = {key: _compact(key, value) for key, value in data.items() if key not in _INTERNAL and _is_told(value)}
    file = told.get("file")
    # Rows of one file need not name it again.
    return {key: _without_file(value, file) if isinstance(value, list) else value for key, value in told.items()}


def fitted(data: Mapping[str, Any], max_tokens: int, render: Render = as_text) -> tuple[str, dict[str, Any]]:
    """Return text and JSON data that together take at most `max_tokens`; `cut` in the data names what was left out."""
    text, shown = "", dict(data)
    for less in _ever_less(data, max_tokens * BYTES_PER_TOKEN):
        shown = _with_cut(data, less)
        text = render(shown)
        if size_tokens(text) + size_tokens(json.dumps(shown, ensure_ascii=False)) <= max_tokens:
            break
    return text, shown


def _ever_less(data: Mapping[str, Any], room_bytes: int) -> Iterator[dict[str, Any]]:
    """Yield less and less: without documentation, with fewer members, without signatures, fewer rows, a few words."""
    yield _shrunk(data, 1.0, 1.0, room_bytes)
    less = {**_without("docstring", data), DETAILS: "documentation left out"}
    yield _shrunk(less, 1.0, 1.0, room_bytes)
    for members in _MEMBERS:
        yield _shrunk({**less, DETAILS: "documentation and members left out"}, 1.0, members, room_bytes)
    less = {**_without("signature", less), DETAILS: "documentation, members and signatures left out"}
    for share in _SHARES:
        yield (shown := _shrunk(less, share, 0.0, int(room_bytes * share / 3)))
    for key in reversed(list(data)):
        shown = {**shown, key: _emptied(shown[key])}
        yield shown


def _without(field: str, value: Any) -> Any:
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, list):
        return [_without(field, each) for each in value]
    if isinstance(value, Mapping):
        return {key: _without(field, each) for key, each in value.items() if key != field}
    return value


def _emptied(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MIN_CELL_CHARS]
    if isinstance(value, Mapping):
        return {key: _emptied(each) for key, each in value.items()}
    return [] if isinstance(value, list) else value


def _compact(key: str, value: Any) -> Any:
    if key == "proof" and isinstance(value, list):
        return [f"{step['kind']} {step['file']}:{step['line']}" for step in value]
    if key == "excerpt" and isinstance(value, Mapping):
        return {"start_line": value["shown_start"], "end_line": value["shown_end"], "text": value["text"]}
    if isinstance(value, Mapping):
        return compact(value)
    if isinstance(value, list | tuple):
        return [_compact("", each) for each in value]
    return value


def _without_file(rows: list[Any], file: Any) -> list[Any]:
    return [
        {key: value for key, value in row.items() if key != "file"}
        if file is not None and isinstance(row, Mapping) and row.get("file") == file
        else row
        for row in rows
    ]


def _is_told(value: Any) -> bool:
    return value is not None and value is not False and value != "" and value != [] and value != {}


def _shrunk(value: Any, share: float, members: float, room_chars: int) -> Any:
    """Return a value with a share of its rows, and another of the rows within its rows; the first of each stays.

    Texts of several lines are cut to `room_chars`.
    """
    # Texts and numbers first: they are most, and to see that they are no mappings takes longest.
    if isinstance(value, str):
        room = max(MIN_BLOCK_CHARS, room_chars) if "\n" in value else MAX_CELL_CHARS
        return value if len(value) <= room else f"{value[:room]}…"
    if isinstance(value, int | float):
        return value
    if isinstance(value, list):
        kept = value[: max(1, math.ceil(len(value) * share))]
        return [_shrunk(each, members, members, room_chars) for each in kept]
    if isinstance(value, Mapping):
        return {key: _shrunk(each, share, members, room_chars) for key, each in value.items()}
    return value


def _with_cut(data: Mapping[str, Any], less: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: value for key, value in less.items() if key != DETAILS}
    endless = data.get(HAS_MORE, ())
    cut = {
        key: f"{len(shown[key])} of {'more than ' if key in endless else ''}{len(data[key])}"
        for key in _lists(data)
        if key != HAS_MORE and (key in endless or len(shown[key]) < len(data[key]))
    }
    cut |= {key: "beginning only" for key, each in data.items() if isinstance(each, str) and shown[key] != each}
    if DETAILS in less and shown != data:
        cut[DETAILS] = str(less[DETAILS])
    shown.pop(HAS_MORE, None)
    return {**shown, "cut": cut} if cut else shown


def _lists(data: Mapping[str, Any]) -> list[str]:
    return [key for key, value in data.items() if isinstance(value, list)]
