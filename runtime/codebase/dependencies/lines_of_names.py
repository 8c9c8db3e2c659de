"""Finds the line of a metadata file that declares a name, within the table or object that holds it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from runtime.codebase.dependencies.requirement import Group

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]{1,200}?)\s*\]\]?\s*(?:#.*)?$")
_QUOTES = re.compile(r"[\"'\s]")


def beginning(
    lines: Sequence[str], wanted: Iterable[tuple[str, Group]], within: Collection[int] | None = None
) -> Iterator[tuple[str, int, Group]]:
    """Yield each name with the first line, counted from 1, that begins with it or has it behind a quotation mark.

    `within`: the numbers of the lines to look at; by default all. A name without a line is left out.
    """
    at: dict[str, list[int]] = {}
    for number, line in enumerate(lines, 1):
        if within is not None and number not in within:
            continue
        for name in _first_names(line):
            at.setdefault(name, []).append(number)
    for name, group in wanted:
        found = at.get(name.lower())
        if found:
            yield name, found[0], group


_NAME = r"(@?[A-Za-z0-9][\w./@-]*)"
_FIRST = re.compile(rf"\s*[\"']?{_NAME}")
_QUOTED = re.compile(rf"[\"']{_NAME}")


def _first_names(line: str) -> Iterator[str]:
    """Yield what a line begins with, and what stands right behind each quotation mark, in lower case."""
    if line.lstrip().startswith(("#", "//")):
        return
    first = _FIRST.match(line)
    if first is not None:
        yield first.group(1).lower()
    for found in _QUOTED.finditer(line):
        yield found.group(1).lower()


def of_tables(lines: Sequence[str]) -> dict[str, set[int]]:
    """Map the dotted name of each TOML table to the numbers of its lines; the name is as written, without quotes."""
    tables: dict[str, set[int]] = {}
    current = ""
    for number, line in enumerate(lines, 1):
        header = _HEADER.match(line)
        # An array of arrays within a table has no letter ahead of its bracket either, but a comma or quotes inside.
        if header is not None and "," not in header.group(1) and "=" not in line.split("#")[0]:
            current = _QUOTES.sub("", header.group(1))
        tables.setdefault(current, set()).add(number)
    return tables


def of_object(lines: Sequence[str], key: str) -> set[int]:
    """Return the numbers of the lines of the JSON object that stands behind a key; empty where there is none.

    The file is taken to have its closing bracket at the end of a line, or all on one line.
    """
    opening = re.compile(rf"\s*{{?\s*\"{re.escape(key)}\"\s*:\s*\{{")
    start = next((number for number, line in enumerate(lines, 1) if opening.match(line)), None)
    if start is None:
        return set()
    depth = 0
    for number in range(start, len(lines) + 1):
        text = lines[number - 1]
        depth += text.count("{") - text.count("}")
        if depth <= 0:
            return set(range(start, number + 1))
    return set(range(start, len(lines) + 1))
