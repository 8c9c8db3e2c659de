"""Says which places of a file lie in comments: by its syntax tree, else by its quotes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.language_registry import language_named, load_grammar
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.processes.call_scope import check_called_off

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES = "\"'`"
# A grammar has no comments in what it cannot read, in macros of C, or in what surrounds the code of PHP.
_UNREAD = ("ERROR", "text")
_MACRO = "preproc"


class Place(NamedTuple):
    """Names a place by its line, from 0, and its column in characters, from 0."""

    line: int
    column: int


def in_comments(
    source: SourceText, language: str | None, places: Sequence[Place], limit: ParseLimit = PARSE_LIMIT
) -> set[Place]:
    """Return those places that lie in comments. `places` are given in order."""
    if not places:
        return set()
    if language_named(language).grammar is None:
        return _outside_quotes(source, places)
    data = source.text.encode("utf-8", "replace")
    try:
        root = limit.parse(load_grammar(str(language)), data).root
    except (ImportError, AttributeError, ValueError):
        # ValueError: it takes too long to parse, or the grammar is incompatible, as for the index.
        return _outside_quotes(source, places)
    at = dict(zip(_offsets(source, data, places), places, strict=True))
    found: set[Place] = set()
    unread: list[Place] = []
    for offset, is_comment in _judged(root, list(at)):
        if is_comment:
            found.add(at[offset])
        else:
            unread.append(at[offset])
    return found | _outside_quotes(source, sorted(unread))


def _offsets(source: SourceText, data: bytes, places: Iterable[Place]) -> Iterator[int]:
    """Yield where places are in the bytes of a file."""
    at = line = column = 0
    for place in places:
        while line < place.line:
            at = data.index(b"\n", at) + 1
            line, column = line + 1, 0
        at += len(source.lines[line][column : place.column].encode("utf-8", "replace"))
        column = place.column
        yield at


def _judged(root: Node, offsets: Sequence[int]) -> Iterator[tuple[int, bool]]:
    """Yield the offsets that lie in comments, with True, and those of which the grammar cannot tell, with False."""
    pending: list[tuple[Node, Sequence[int], bool]] = [(root, offsets, False)]
    while pending:
        check_called_off()
        node, inside, is_unread = pending.pop()
        if "comment" in node.type:
            yield from ((offset, True) for offset in inside)
            continue
        is_unread = _is_unread(node.type, is_unread)
        left = 0
        for child in node.children:
            first = bisect_left(inside, child.start_byte, left)
            after = bisect_left(inside, child.end_byte, first)
            if is_unread:
                yield from ((offset, False) for offset in inside[left:first])
            if first < after:
                pending.append((child, inside[first:after], is_unread))
            left = after
            if left == len(inside):
                break
        if is_unread:
            yield from ((offset, False) for offset in inside[left:])


def _is_unread(kind: str, is_unread: bool) -> bool:
    return (is_unread or kind in _UNREAD or kind.startswith(_MACRO)) and "string" not in kind


def _outside_quotes(source: SourceText, places: Iterable[Place]) -> set[Place]:
    by_line: dict[int, list[int]] = {}
    for place in places:
        by_line.setdefault(place.line, []).append(place.column)
    return {
        Place(line, column)
        for line, columns in by_line.items()
        for column, quote in _open_quotes(source.lines[line], columns).items()
        if not quote or source.lines[line].rfind(quote) < column
    }


def _open_quotes(line: str, columns: Sequence[int]) -> Mapping[int, str]:
    """Return which quote is open at each column of a line, empty where none is."""
    wanted, found, quote, is_escaped = set(columns), {}, "", False
    for column, character in enumerate(line):
        if column in wanted:
            found[column] = quote
        if is_escaped:
            is_escaped = False
        elif character == "\\":
            is_escaped = True
        elif character == quote:
            quote = ""
        elif not quote and character in _QUOTES:
            quote = character
    return found
