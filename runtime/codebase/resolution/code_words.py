"""Finds the lines on which a name stands in code: not in comments, strings or regular expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.language_registry import language_at, load_grammar
from runtime.codebase.parsing.broken_trees import BrokenTreeError
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.primitives.sized_cache import SizedCache

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_PARSED_BYTES = 1_000_000
# The trees of some 100 files: 40 MB.
MAX_CACHED_CHARS = 1_500_000
_NO_CODE = re.compile(r"comment|string|regex|char_literal|heredoc|jsx_text|preproc_arg")
# What is computed within a string is code again.
_CODE_AGAIN = re.compile(r"substitution|interpolation|embedded|formatted_placeholder")
MAX_NODES_UP = 40


def lines_in_code(
    source: SourceText, path: str, name: str, lines: list[int], limit: ParseLimit = PARSE_LIMIT
) -> list[int]:
    """Return those of some lines on which a whole name stands in code; all of them where it cannot be parsed."""
    language = language_at(path)
    if not lines or language.grammar is None or len(source.text) > MAX_PARSED_BYTES:
        return lines
    tree = _tree(source, language.name, limit)
    if tree is None:
        return lines
    word = re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")
    kept = []
    for line in lines:
        text = source.lines[line - 1].encode("utf-8", "replace")
        places = [(line - 1, found.start()) for found in word.finditer(text)]
        if any(_is_code(tree.root_node, place, len(name.encode())) for place in places):
            kept.append(line)
    return kept


_trees: SizedCache[tuple[str, str], Tree] = SizedCache(MAX_CACHED_CHARS)


def _tree(source: SourceText, language: str, limit: ParseLimit) -> Tree | None:
    key = (source.sha256, language)
    made = _trees.get(key)
    if made is None:
        try:
            grammar = load_grammar(language)
        except (ImportError, AttributeError, ValueError):
            return None
        try:
            made = limit.parse(grammar, source.text.encode("utf-8", "replace")).tree
        except BrokenTreeError:
            return None
        _trees.put(key, made, len(source.text))
    return made


def _is_code(root: Node, place: tuple[int, int], length: int) -> bool:
    node = root.descendant_for_point_range(place, (place[0], place[1] + length))
    for _ in range(MAX_NODES_UP):
        if node is None or _CODE_AGAIN.search(node.type):
            return True
        if _NO_CODE.search(node.type):
            return False
        node = node.parent
    return True
