"""Tells on which lines a file in TOML or JSON states its keys, which its parser does not tell.

A file is given here only after its parser has read it, so that quotation marks and brackets are known to be in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

# A path of keys, as `("tool", "poetry", "dependencies")` → the first and the last line of what stands behind it.
Places = Mapping[tuple[str, ...], tuple[int, int]]

# Deeper keys declare nothing.
MAX_DEPTH = 8
_PART = r"(?:[\w-]++|\"[^\"]*+\"|'[^']*+')"
_KEYS = re.compile(rf"\s*+({_PART}(?:\s*+\.\s*+{_PART})*+)")
_EACH_PART = re.compile(_PART)
_HEADER = re.compile(r"\s*+\[\[?+")
_MARK = re.compile(r"\"\"\"|'''|\"(?:[^\"\\]|\\.)*+(?:\"|\\?$)|'[^']*+(?:'|$)|#|[\[\]{}]")
_ENDS = {'"""': re.compile(r"(?:[^\"\\]|\\.|\"(?!\"\"))*+\"\"\""), "'''": re.compile(r"(?:[^']|'(?!''))*+'''")}


class StatedKeys:
    """Finds the lines of a file that state a key, or a text among those behind a key."""

    def __init__(self, lines: Sequence[str], places: Places) -> None:
        self._lines = lines
        self._places = places
        self._words: dict[tuple[re.Pattern[str], int, int], dict[str, int]] = {}

    def line_of_key(self, path: tuple[str, ...]) -> int | None:
        """Return the line that states a key; of one within braces, the first behind what holds it with such a word."""
        place = self._places.get(path)
        return place[0] if place is not None else self._line_with(_WORD, path[:-1], path[-1])

    def line_of_text(self, path: tuple[str, ...], name: str) -> int | None:
        """Return the first line behind a key with a text that begins with a name; the text may be of several lines."""
        return self._line_with(_QUOTED_WORD, path, name) or self._line_with(_FIRST_WORD, path, name)

    def _line_with(self, word: re.Pattern[str], path: tuple[str, ...], name: str) -> int | None:
        above = (path[:length] for length in range(min(len(path), MAX_DEPTH), 0, -1))
        first, last = next((self._places[each] for each in above if each in self._places), (1, 0))
        # The words of a place are read once, however many names are looked for there.
        words = self._words.get((word, first, last))
        if words is None:
            words = self._words[word, first, last] = {}
            for number in range(first, last + 1):
                line = self._lines[number - 1]
                for found in word.findall("" if line.lstrip().startswith("#") else line):
                    words.setdefault(found, number)
        return words.get(name)


_WORD = re.compile(r"(?<![\w.-])[A-Za-z0-9][\w.-]*+")
_FIRST_WORD = re.compile(r"^\s*+([A-Za-z0-9][\w.-]*+)")
_QUOTED_WORD = re.compile(r"[\"']\s*+([A-Za-z0-9][\w.-]*+)")


def stated_in_toml(lines: Sequence[str]) -> StatedKeys:
    """Return the places of the keys of a TOML file; a table's own place is the line of its header."""
    starts: list[tuple[int, tuple[str, ...]]] = []
    table: tuple[str, ...] = ()
    for number in _beginnings(lines):
        line = lines[number - 1]
        header = _HEADER.match(line)
        found = _KEYS.match(line, header.end() if header is not None else 0)
        path = tuple(part.strip("\"'") for part in _EACH_PART.findall(found.group(1))) if found is not None else ()
        if header is not None:
            table = path
        starts.append((number, path if header is not None else (*table, *path)))
    places: dict[tuple[str, ...], tuple[int, int]] = {}
    for place, (number, path) in enumerate(starts):
        last = starts[place + 1][0] - 1 if place + 1 < len(starts) else len(lines)
        for length in range(1, len(path) + 1) if len(path) <= MAX_DEPTH else ():
            places.setdefault(path[:length], (number, last))
    return StatedKeys(lines, places)


def _beginnings(lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines that begin a header or a key, outside of texts and lists of several lines."""
    quote, depth = "", 0
    for number, line in enumerate(lines, 1):
        if not quote and depth == 0 and line.strip() and not line.lstrip().startswith("#"):
            yield number
        at = 0
        while at < len(line):
            if quote:
                closed = _ENDS[quote].match(line, at)
                if closed is None:
                    break
                quote, at = "", closed.end()
                continue
            mark = _MARK.search(line, at)
            if mark is None or mark.group() == "#":
                break
            at = mark.end()
            quote = mark.group() if mark.group() in _ENDS else ""
            depth += (mark.group() in "[{") - (mark.group() in "]}")


_TOKEN = re.compile(r"(?P<text>\"(?:[^\"\\]|\\.)*+\")(?P<is_key>\s*+:)?|[{}\[\]]|\n")


def stated_in_json(lines: Sequence[str]) -> StatedKeys:
    """Return the places of the keys of a JSON object, and of those of the objects behind them."""
    places: dict[tuple[str, ...], tuple[int, int]] = {}
    depth, number, key = 0, 1, ""
    for token in _TOKEN.finditer("\n".join(lines)):
        text = token["text"]
        if text is None:
            number += token.group() == "\n"
            depth += (token.group() in "[{") - (token.group() in "]}")
        elif token["is_key"]:
            if depth == 1:
                key = text[1:-1]
            elif depth == 2:
                places.setdefault((key, text[1:-1]), (number, number))
            number += token["is_key"].count("\n")
    return StatedKeys(lines, places)
