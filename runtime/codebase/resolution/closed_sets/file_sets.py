"""Parses one file for its closed sets, within bounds on its size, its tree and the number of sets."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runtime.codebase.files.source_text import split_lines
from runtime.codebase.language_registry import language_named, load_grammar
from runtime.codebase.parsing.broken_trees import BrokenTreeError
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.parsing.tree_walk import Within
from runtime.codebase.resolution.closed_sets.declared_sets import FUNCTIONS, DeclaredSets
from runtime.codebase.resolution.closed_sets.member_lines import MemberLines
from runtime.codebase.resolution.closed_sets.option_choices import MAY_LIST, OptionChoices
from runtime.codebase.resolution.closed_sets.records import ClosedSet
from runtime.codebase.resolution.closed_sets.typed_names import TypedNames

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_FILE_CHARS = 400_000
MAX_NODES = 300_000
MAX_DEPTH = 200
MAX_SETS = 400
MAX_LOOK_UPS = 20
_LOOKED_UP = (
    r"(?<![\w.]){name}\s{{0,2}}(?:\[|\.(?:get|has|fetch|include\?|includes|contains|key\?)\()\s{{0,2}}([\w.]{{1,60}})"
)


@functools.cache
def _grammar(language: str) -> Language:
    return load_grammar(language)


def sets_in(file: str, text: str, language: str | None, limit: ParseLimit = PARSE_LIMIT) -> list[ClosedSet]:
    """Return the closed sets that a file declares, by line.

    None of a file without a grammar, of one that is larger than 400,000 characters, or that takes too long to parse.
    """
    known = language_named(language)
    if known.grammar is None or len(text) > MAX_FILE_CHARS:
        return []
    data = text.encode("utf-8", "replace")
    try:
        tree = limit.parse(_grammar(known.name), known.before_parsing(data) if known.before_parsing else data)
    except (BrokenTreeError, ImportError, AttributeError, ValueError):
        # As `parse` does: a file that cannot be parsed declares nothing that could be proven.
        return []
    lines = MemberLines(split_lines(text), known.comment_marks)
    declared, options, typed = DeclaredSets(file, lines), OptionChoices(file, text, lines), TypedNames(file, lines)
    found: list[ClosedSet] = []
    for within, is_inner in _nodes(tree.root, inner=MAY_LIST.search(text) is not None):
        own = () if is_inner else declared.of(within)
        found += [*own, *options.of(within), *typed.of(within)]
        if len(found) >= MAX_SETS:
            break
    merged = [_with_type(one, text, lines) for one in _joined(found[:MAX_SETS])]
    return [one._replace(used_for=_used_for(one, text)) for one in sorted(merged, key=lambda one: one.start_line)]


def _nodes(root: Node, *, inner: bool) -> Iterator[tuple[Within, bool]]:
    """Yield the nodes of a tree, and whether each is in a function; those that are only with `inner`."""
    waiting, seen = [(Within(root, None), 0, False)], 0
    while waiting and seen < MAX_NODES:
        within, depth, is_inner = waiting.pop()
        seen += 1
        yield within, is_inner
        is_inner = is_inner or within.node.type in FUNCTIONS
        if depth < MAX_DEPTH and (inner or not is_inner):
            waiting += [(Within(child, within), depth + 1, is_inner) for child in reversed(within.node.named_children)]


def _joined(found: list[ClosedSet]) -> list[ClosedSet]:
    """Return the sets, those of constants with one type as one: they may be declared in several groups.

    What is a value of a member of an enumeration is no set of its own.
    """
    kept: dict[tuple[str, ...], ClosedSet] = {}
    enums = [one for one in found if one.kind == "enum"]
    for number, one in enumerate(found):
        if one.kind in {"keys", "list"} and any(
            e.start_line < one.line <= e.end_line and e.owner != one.owner for e in enums
        ):
            continue
        key = (one.name, one.owner) if one.kind == "constants" else (one.name, one.owner, str(number))
        first = kept.get(key)
        kept[key] = one if first is None else _both(first, one)
    return list(kept.values())


def _with_type(one: ClosedSet, text: str, lines: MemberLines) -> ClosedSet:
    """Return constants of one type with what is said of the type, which their file may declare."""
    declared = re.search(rf"^type {re.escape(one.name)}\b", text, re.MULTILINE) if one.kind == "constants" else None
    if declared is None:
        return one
    said = lines.above(text.count("\n", 0, declared.start()) + 1)
    return one._replace(docstring=f"{said} {one.docstring}".strip())


def _both(first: ClosedSet, other: ClosedSet) -> ClosedSet:
    members = (*first.members, *other.members)
    said = first.docstring or other.docstring
    return first._replace(members=members, total=first.total + other.total, docstring=said)


def _used_for(one: ClosedSet, text: str) -> str:
    """Return what a mapping or a list is looked up by in its file, as code names it."""
    if one.kind not in {"keys", "list"}:
        return ""
    pattern = re.compile(_LOOKED_UP.format(name=re.escape(one.name)))
    found = [match[1] for match, _ in zip(pattern.finditer(text), range(MAX_LOOK_UPS), strict=False)]
    return " ".join(dict.fromkeys(found))
