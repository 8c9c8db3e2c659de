"""Renders what a tool found as plain text: a line per row, that begins with its place.

A row with a file becomes `file:start-end symbol (kind) signature — first line of its documentation`; fields that have
no place in that line follow as `name=value`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Fields of a row that have a place of their own in its line.
_PLACED = frozenset(
    {
        "file",
        "line",
        "start_line",
        "end_line",
        "symbol",
        "name",
        "kind",
        "signature",
        "docstring",
        "text",
        "symbols",
        "excerpt",
    }
)
_SHORT_HASH = 12


def as_text(data: Mapping[str, Any]) -> str:
    """Return the text of a tool's data: first its single values in one line, then each list under its name."""
    lines: list[str] = []
    single = {key: value for key, value in data.items() if not isinstance(value, list | dict) and key != "cut"}
    inline = {key: value for key, value in single.items() if "\n" not in str(value)}
    if inline:
        lines.append(" · ".join(f"{key}: {_value(key, value)}" for key, value in inline.items()))
    for key, value in data.items():
        if key == "cut":
            continue
        if isinstance(value, list):
            count = data.get("cut", {}).get(key, len(value))
            lines += ["", f"{key} ({count}):", *(line for row in value for line in _row_lines(row))]
        elif isinstance(value, Mapping):
            lines += [f"{key}: {_row_lines(value)[0].strip()}"]
        elif key not in inline:
            lines += ["", f"{key}:", str(value)]
    return "\n".join(lines).strip("\n")


def numbered(text: str, start_line: int) -> str:
    """Return lines with their numbers before them."""
    return "\n".join(f"{number:>5}  {line}" for number, line in enumerate(text.split("\n"), start_line))


def place_of(row: Mapping[str, Any]) -> str:
    """Return `file:line`, `file:start-end` or `file` of a row; its lines alone where it names no file."""
    file = row.get("file")
    first, last = lines_of(row)
    lines = "" if not first else str(first) if last == first else f"{first}-{last}"
    return ":".join(part for part in (file if isinstance(file, str) else "", lines) if part)


def lines_of(row: Mapping[str, Any]) -> tuple[int, int]:
    """Return the first and last line of a row in its file, zeros for one without.

    A call inside another file has a `line` too: that of the call, where `start_line` is that of the definition.
    """
    first = row.get("start_line") or row.get("line") or 0
    return first, (row.get("end_line") or first) if "start_line" in row else first


def _row_lines(row: Any) -> list[str]:
    if not isinstance(row, Mapping):
        return [_one_line(str(row))]
    kind = row.get("kind")
    named = row.get("symbol") or row.get("name")
    head = [place_of(row), str(named) if named else "", f"({kind})" if kind else "", str(row.get("signature") or "")]
    line = " ".join(part for part in head if part)
    if text := str(row.get("text") or "").strip():
        line += f" | {_first_line(text)}"
    if told := str(row.get("docstring") or "").strip():
        line += f" — {_first_line(told)}"
    if "line" in row and "start_line" in row:
        line += f" called at line {row['line']}"
    rest = [f"{key}={_value(key, value)}" for key, value in row.items() if key not in _PLACED]
    whole = " ".join(part for part in (line, *rest) if part)
    return [_one_line(whole), *_excerpt(row.get("excerpt")), *_nested(row.get("symbols"))]


def _excerpt(shown: Any) -> list[str]:
    if not isinstance(shown, Mapping):
        return []
    return [f"  {line}" for line in numbered(str(shown["text"]), shown["start_line"]).split("\n")]


def _nested(rows: Any) -> list[str]:
    return [f"  {line}" for row in rows for line in _row_lines(row)] if isinstance(rows, list) else []


def _value(key: str, value: Any) -> str:
    if key == "hash":
        return str(value)[:_SHORT_HASH]
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_value(name, each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value("", each) for each in value) + "]"
    return str(value)


def _one_line(text: str) -> str:
    """Return a row as one line: names of files may hold line breaks, and what follows would pass for words of ours."""
    return text.replace("\n", "\\n")


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]
