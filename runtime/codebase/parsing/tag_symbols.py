"""Symbols, references and imports of every language with a grammar, Python excepted, by tags queries.

The grammar's own tags query finds the ordinary definitions and calls, `tag_queries` adds what it leaves out; this
module works out nesting, full extents, signatures, doc comments and owners from what matched.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.codebase.files.languages import bundled_tags_query, load_grammar
from runtime.codebase.files.source_text import split_lines
from runtime.codebase.parsing.definition_heads import doc_comment, signature_of, whole_definition
from runtime.codebase.parsing.lost_types import unparsed_types
from runtime.codebase.parsing.syntax import (
    CONTAINER_KINDS,
    SOME_OBJECT,
    FileSyntax,
    Import,
    Reference,
    ReferenceKind,
    Symbol,
)
from runtime.codebase.parsing.tag_queries import EXTRA_QUERIES

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query


_REFERENCE_KINDS: dict[str, ReferenceKind] = {
    "reference.call": "call",
    "reference.class": "call",
    "reference.base": "base",
    "reference.implementation": "base",
    "reference.type": "reference",
}
_NO_OWNER: frozenset[str] = frozenset({"exports", "module.exports", "this", "self", "window", "globalThis"})

_NAMESPACES = frozenset({"namespace_definition", "namespace_declaration"})
_BLANKS = re.compile(r"\s+")
_EXPORT_MACRO = re.compile(
    rb"(\b(?:class|struct|enum)[ \t]+)([A-Z][A-Z0-9_]*_(?:API|EXPORT|PUBLIC|VISIBLE|DLL|INTERFACE)\b)(?=[ \t]+\w)"
)
_LONGEST_QUALIFIER = 64
_PLAIN_QUALIFIER = re.compile(r"[\w.:>$@-]{1,60}(?:\(\))?")


@functools.cache
def _parser(language: str) -> tuple[Parser, Query]:
    import tree_sitter

    grammar = load_grammar(language)
    return tree_sitter.Parser(grammar), tree_sitter.Query(
        grammar, bundled_tags_query(language) + EXTRA_QUERIES[language]
    )


def extract_tags(source: bytes, language: str) -> FileSyntax:
    """Everything found in one file of a language in `EXTRA_QUERIES`."""
    import tree_sitter

    parser, query = _parser(language)
    root = parser.parse(_without_export_macros(source) if language in {"c", "cpp"} else source).root_node
    found = _Found()
    for pattern, captures in tree_sitter.QueryCursor(query).matches(root):
        found.add(pattern, captures)
    lines = split_lines(source.decode("utf-8", "replace"))
    symbols, starts, ends = _nested_symbols(found, source, lines)
    references = _references(found, source, symbols, starts, ends)
    if not root.has_error:
        return FileSyntax(symbols, references, _imports(found), [], status="parsed", note="")
    symbols = [*symbols, *unparsed_types(lines, symbols)]
    note = "syntax errors, read as far as possible"
    return FileSyntax(symbols, references, _imports(found), [], status="parsed", note=note)


def _without_export_macros(source: bytes) -> bytes:
    """The source with blanks in place of macros like `SHOP_API` behind `class`, which grammars take for its name."""
    return _EXPORT_MACRO.sub(lambda found: found.group(1) + b" " * len(found.group(2)), source)


@dataclass(slots=True)
class _Definition:
    pattern: int
    kind: str
    node: Node
    name: str
    name_node: Node
    owner: str


class _Found:
    """Matches of one file, sorted into definitions, scopes, references and imports."""

    def __init__(self) -> None:
        self.definitions: dict[int, _Definition] = {}
        self.scopes: list[tuple[Node, str]] = []
        self.references: list[tuple[Node, ReferenceKind]] = []
        self.imports: list[Node] = []

    def add(self, pattern: int, captures: dict[str, list[Node]]) -> None:
        if "import" in captures:
            self.imports.extend(captures["import"])
            return
        if "scope" in captures:
            self.scopes.append((captures["scope"][0], _text(captures["scope.name"][0])))
            return
        names = captures.get("name")
        if not names:
            return
        for capture, nodes in captures.items():
            if capture.startswith("definition."):
                self._define(pattern, capture.removeprefix("definition."), nodes[0], names[0], captures.get("owner"))
            elif capture in _REFERENCE_KINDS and not (nodes[0] == names[0] and names[0].type == "identifier"):
                self.references.append((names[0], _REFERENCE_KINDS[capture]))

    def _define(self, pattern: int, kind: str, node: Node, name: Node, owner: list[Node] | None) -> None:
        earlier = self.definitions.get(name.start_byte)
        if earlier is not None and earlier.pattern > pattern:
            return
        owner_text = _text(owner[0]).removesuffix(".prototype") if owner else ""
        if owner_text in _NO_OWNER:
            owner_text = ""
        self.definitions[name.start_byte] = _Definition(
            pattern, kind, whole_definition(node), _text(name), name, owner_text
        )


def _nested_symbols(found: _Found, source: bytes, lines: list[str]) -> tuple[list[Symbol], list[int], list[int]]:
    blocks: list[tuple[int, int, _Definition | None, str, str]] = [
        (item.node.start_byte, item.node.end_byte, item, item.name, "") for item in found.definitions.values()
    ]
    blocks += [
        (node.start_byte, node.end_byte, None, name, "namespace" if node.type in _NAMESPACES else "impl")
        for node, name in found.scopes
    ]
    blocks.sort(key=lambda block: (block[0], -block[1], block[2].name_node.start_byte if block[2] else -1))
    symbols: list[Symbol] = []
    starts: list[int] = []
    ends: list[int] = []
    # What encloses the place reached: end byte, position of the symbol (None for a scope), its qualified name.
    open_blocks: list[tuple[int, int | None, str, str]] = []
    for start, end, item, name, scope_kind in blocks:
        while open_blocks and open_blocks[-1][0] <= start:
            open_blocks.pop()
        parent, prefix, holder_kind = None, "", ""
        if open_blocks:
            _, parent, prefix, holder_kind = open_blocks[-1]
        if item is None:
            open_blocks.append((end, parent, f"{prefix}.{name}" if prefix else name, scope_kind))
            continue
        if parent is not None and _is_same_function(symbols[parent], item):
            continue
        symbol = _symbol(item, prefix, holder_kind, parent, source, lines)
        open_blocks.append((end, len(symbols), symbol.qualified_name, symbol.kind))
        symbols.append(symbol)
        starts.append(start)
        ends.append(end)
    return symbols, starts, ends


def _is_same_function(outer: Symbol, item: _Definition) -> bool:
    """True for `app.use = function use() {}`, where one function is named twice."""
    same_place = outer.name == item.name and outer.name_line == _line(item.name_node)
    return same_place and outer.kind not in CONTAINER_KINDS


def _symbol(
    item: _Definition, prefix: str, holder_kind: str, parent: int | None, source: bytes, lines: list[str]
) -> Symbol:
    prefix = item.owner.replace("::", ".") or prefix
    in_container = bool(item.owner) or holder_kind in CONTAINER_KINDS
    kind = "method" if item.kind == "function" and in_container and holder_kind != "namespace" else item.kind
    if kind == "function" and item.node.type == "declaration":
        kind = "prototype"
    start_line = item.node.start_point[0] + 1
    end = item.node.end_point
    end_line = max(start_line, end[0] + (1 if end[1] else 0))
    return Symbol(
        item.name,
        f"{prefix}.{item.name}" if prefix else item.name,
        kind,
        start_line,
        end_line,
        _line(item.name_node),
        signature_of(item.node, source),
        doc_comment(lines, start_line),
        parent,
    )


def _references(
    found: _Found, source: bytes, symbols: list[Symbol], starts: list[int], ends: list[int]
) -> list[Reference]:
    kept: dict[tuple[int, str], Reference] = {}
    for node, kind in found.references:
        if node.start_byte in found.definitions:
            continue
        name, line = _text(node), _line(node)
        if (line, name) in kept and kind != "base":
            continue
        place: int | None = bisect_right(starts, node.start_byte) - 1
        if place is not None and place < 0:
            place = None
        while place is not None and ends[place] <= node.start_byte:
            place = symbols[place].parent
        kept[line, name] = Reference(name, line, kind, _qualifier(node, source), place)
    return sorted(kept.values(), key=lambda reference: reference.line)


def _qualifier(node: Node, source: bytes) -> str:
    parent = node.parent
    if parent is None:
        return ""
    begins = max(parent.start_byte, node.start_byte - _LONGEST_QUALIFIER)
    before = source[begins : node.start_byte].decode("utf-8", "replace").rstrip()
    if not before.endswith((".", "::", "->")):
        return ""
    qualifier = before.rstrip(".:->?!")
    is_whole = begins == parent.start_byte
    return qualifier if is_whole and _PLAIN_QUALIFIER.fullmatch(qualifier) else SOME_OBJECT


def _imports(found: _Found) -> list[Import]:
    imports = (Import(_BLANKS.sub("", _text(node).strip("\"'`<>")), "", "", _line(node)) for node in found.imports)
    return sorted(dict.fromkeys(imports), key=lambda item: item.line)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _line(node: Node) -> int:
    return int(node.start_point[0]) + 1
