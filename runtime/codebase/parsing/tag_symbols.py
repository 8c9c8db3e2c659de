"""Extracts symbols, references and imports by tags queries (Python excepted).

The grammar's own tags query finds the ordinary definitions and calls, the language's record adds what it leaves out;
this module derives nesting, full extents, signatures, doc comments and owners from the matches. Captures:

`@name` with `@definition.KIND` or `@reference.call`, `@reference.class`, `@reference.base`; `@owner` names what a
definition belongs to when nesting does not tell (a Go receiver, a C++ qualifier); `@scope` with `@scope.name` is a
block that gives its members a parent without being a symbol (a Rust `impl`); `@import` is the text of what is imported.
Where a definition is matched twice the later pattern wins, so those of the record refine the kinds of the bundled ones.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.codebase.files.source_text import split_lines
from runtime.codebase.language_parts.facts_walker import text_of, texts_from
from runtime.codebase.language_parts.language import Language
from runtime.codebase.language_registry import load_grammar, tags_query
from runtime.codebase.parsing.broken_trees import require_queryable
from runtime.codebase.parsing.definition_heads import doc_comment, signature_of, whole_definition
from runtime.codebase.parsing.lost_types import unparsed_types
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, LimitedTree, ParseLimit
from runtime.codebase.parsing.syntax import (
    CONTAINER_KINDS,
    SOME_OBJECT,
    FileSyntax,
    Import,
    Reference,
    ReferenceKind,
    Symbol,
)

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Node, Query


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
_LONGEST_QUALIFIER = 64
_PLAIN_QUALIFIER = re.compile(r"[\w.:>$@-]{1,60}(?:\(\))?")


@functools.cache
def _grammar(language: Language) -> tuple[Grammar, Query]:
    import tree_sitter

    grammar = load_grammar(language.name)
    return grammar, tree_sitter.Query(grammar, tags_query(language))


def extract_tags(source: bytes, language: Language, limit: ParseLimit = PARSE_LIMIT) -> FileSyntax:
    """Return the symbols, references and imports of one file of a language with a grammar."""
    grammar, query = _grammar(language)
    parsed = language.before_parsing(source) if language.before_parsing else source
    tree = limit.parse_once(grammar, parsed)
    require_queryable(tree.root)
    with texts_from(parsed):
        return _read(source, tree, query, language)


def _read(source: bytes, tree: LimitedTree, query: Query, language: Language) -> FileSyntax:
    root, found = tree.root, _Found()
    for pattern, captures in tree.matches(query):
        found.add(pattern, captures)
    lines = split_lines(source.decode("utf-8", "replace"))
    symbols, starts, ends = _nested_symbols(found, source, lines, language.comment_marks)
    references = _references(found, source, symbols, starts, ends)
    facts = language.types.extract(root) if language.types is not None else None
    if not root.has_error:
        return FileSyntax(symbols, references, _imports(found), [], status="parsed", note="", facts=facts)
    symbols = [*symbols, *unparsed_types(lines, symbols, language.comment_marks)]
    note = "syntax errors, read as far as possible"
    return FileSyntax(symbols, references, _imports(found), [], status="parsed", note=note, facts=facts)


@dataclass(slots=True)
class _Definition:
    pattern: int
    kind: str
    node: Node
    name: str
    name_node: Node
    owner: str


class _Found:
    """Sorts the matches of one file into definitions, scopes, references and imports."""

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
            self.scopes.append((captures["scope"][0], text_of(captures["scope.name"][0])))
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
        owner_text = text_of(owner[0]).removesuffix(".prototype") if owner else ""
        if owner_text in _NO_OWNER:
            owner_text = ""
        self.definitions[name.start_byte] = _Definition(
            pattern, kind, whole_definition(node), text_of(name), name, owner_text
        )


def _nested_symbols(
    found: _Found, source: bytes, lines: list[str], comment_marks: str
) -> tuple[list[Symbol], list[int], list[int]]:
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
    # Blocks around the current one: end byte, position of the symbol (None for a scope), qualified name, kind.
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
        symbol = _symbol(item, prefix, holder_kind, parent, source)
        symbol = symbol._replace(docstring=doc_comment(lines, symbol.start_line, comment_marks))
        open_blocks.append((end, len(symbols), symbol.qualified_name, symbol.kind))
        symbols.append(symbol)
        starts.append(start)
        ends.append(end)
    return symbols, starts, ends


def _is_same_function(outer: Symbol, item: _Definition) -> bool:
    """Return True for `app.use = function use() {}`, where one function is named twice."""
    same_place = outer.name == item.name and outer.name_line == _line(item.name_node)
    return same_place and outer.kind not in CONTAINER_KINDS


def _symbol(item: _Definition, prefix: str, holder_kind: str, parent: int | None, source: bytes) -> Symbol:
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
        parent=parent,
    )


def _references(
    found: _Found, source: bytes, symbols: list[Symbol], starts: list[int], ends: list[int]
) -> list[Reference]:
    kept: dict[tuple[int, str], Reference] = {}
    for node, kind in found.references:
        if node.start_byte in found.definitions:
            continue
        name, line = text_of(node), _line(node)
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
    imports = (Import(_BLANKS.sub("", text_of(node).strip("\"'`<>")), "", "", _line(node)) for node in found.imports)
    return sorted(dict.fromkeys(imports), key=lambda item: item.line)


def _line(node: Node) -> int:
    return int(node.start_point[0]) + 1
