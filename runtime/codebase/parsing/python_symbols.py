"""Extracts symbols (with signatures and docstrings), references and imports of Python source.

One query captures everything of interest; nesting is derived from byte ranges, so the tree is never walked node by
node. Files with syntax errors are read as far as the grammar recovers.
"""

from __future__ import annotations

import functools
import inspect
import re
from bisect import bisect_right
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from runtime.codebase.language_facts.python_facts import python_facts
from runtime.codebase.language_parts.facts_walker import text_of, texts_from
from runtime.codebase.language_registry import load_grammar
from runtime.codebase.languages.python import PYTHON
from runtime.codebase.parsing.broken_trees import require_queryable
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.parsing.syntax import SOME_OBJECT, FileSyntax, Import, Reference, Symbol

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

MAX_SIGNATURE_CHARS = 300
MAX_DOCSTRING_CHARS = 400

_QUERY = """
(class_definition) @definition
(function_definition) @definition
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(class_definition superclasses: (argument_list (identifier) @base))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @base)))
(class_definition superclasses: (argument_list (keyword_argument value: (identifier) @base)))
(class_definition superclasses: (argument_list (subscript value: (identifier) @base)))
(decorator [(identifier) @decorator
            (attribute attribute: (identifier) @decorator)
            (call function: (identifier) @decorator)
            (call function: (attribute attribute: (identifier) @decorator))])
(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
(expression_statement (assignment left: (identifier) @assigned))
(expression_statement (assignment left: (attribute object: (identifier) attribute: (identifier) @given)))
(type_alias_statement left: (type (identifier) @assigned))
(expression_statement . (string) @string .)
"""

_BLANKS = re.compile(r"\s+")
_PLAIN_QUALIFIER = re.compile(r"[\w.]{1,60}(?:\(\))?")
_STRING_PREFIX = re.compile(r"^[rRbBuUfF]*(\"\"\"|'''|\"|')")
_DEFINITION_PARENT = "decorated_definition"


@functools.cache
def _grammar() -> tuple[Language, Query]:
    import tree_sitter

    language = load_grammar(PYTHON.name)
    return language, tree_sitter.Query(language, _QUERY)


def extract_python(source: bytes, path: str, limit: ParseLimit = PARSE_LIMIT) -> FileSyntax:
    """Return the symbols, references and imports of one Python file; `path` gives the module symbol its name."""
    grammar, query = _grammar()
    tree = limit.parse_once(grammar, source)
    require_queryable(tree.root)
    with texts_from(source):
        return _read(source, path, tree.root, tree.captures(query))


def _read(source: bytes, path: str, root: Node, captures: dict[str, list[Node]]) -> FileSyntax:
    reader = _FileReader(source, path, root, captures)
    note = "syntax errors, read as far as possible" if root.has_error else ""
    return FileSyntax(
        *(reader.symbols, reader.references(), reader.imports(), reader.doc_ranges()),
        status="parsed",
        note=note,
        facts=python_facts(root),
    )


# A backslash behind the opening quotes joins the next line to it.
_CONTINUED = re.compile(r"\A\\\r?\n")


def first_paragraph(docstring: str) -> str:
    """Return the first paragraph of a docstring on one line, cut to 400 characters."""
    paragraph = inspect.cleandoc(_CONTINUED.sub("", docstring)).split("\n\n", 1)[0]
    return _BLANKS.sub(" ", paragraph).strip()[:MAX_DOCSTRING_CHARS]


class _FileReader:
    """Turns the captures of one file into records; symbol 0 is the module."""

    def __init__(self, source: bytes, path: str, root: Node, captures: dict[str, list[Node]]) -> None:
        self._source = source
        self._captures = captures
        self._strings = {node.start_byte: node for node in captures.get("string", ())}
        pure = PurePosixPath(path)
        name = pure.parent.name if pure.stem == "__init__" and pure.parent.name else pure.stem
        lines = source.count(b"\n") + (0 if source.endswith(b"\n") or not source else 1)
        docstring = self._docstring_of(root, skip_comments=True)
        self.symbols = [Symbol(name, name, "module", 1, max(lines, 1), 1, "", docstring)]
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._owners: list[int] = []
        self._add_definitions()
        self._add_assignments()
        self._add_instance_attributes()

    def _add_definitions(self) -> None:
        nodes = sorted(self._captures.get("definition", ()), key=lambda node: node.start_byte)
        open_symbols: list[tuple[int, int]] = []
        for node in nodes:
            name_node = node.child_by_field_name("name")
            if name_node is None:
                continue
            while open_symbols and open_symbols[-1][0] <= node.start_byte:
                open_symbols.pop()
            parent = open_symbols[-1][1] if open_symbols else 0
            outer = node.parent if node.parent is not None and node.parent.type == _DEFINITION_PARENT else node
            index = len(self.symbols)
            self.symbols.append(self._definition(node, outer, name_node, parent))
            open_symbols.append((node.end_byte, index))
            self._starts.append(outer.start_byte)
            self._ends.append(node.end_byte)
            self._owners.append(index)

    def _definition(self, node: Node, outer: Node, name_node: Node, parent: int) -> Symbol:
        name = text_of(name_node)
        body = node.child_by_field_name("body")
        signature_end = body.start_byte if body is not None else node.end_byte
        signature = _one_line(self._source[node.start_byte : signature_end]).removesuffix(":")
        holder = self.symbols[parent]
        callable_kind = "method" if holder.kind == "class" else "function"
        kind = "class" if node.type == "class_definition" else callable_kind
        return Symbol(
            name,
            f"{holder.qualified_name}.{name}" if parent else name,
            kind,
            outer.start_point[0] + 1,
            node.end_point[0] + 1,
            name_node.start_point[0] + 1,
            signature[:MAX_SIGNATURE_CHARS],
            self._docstring_of(body, skip_comments=False) if body is not None else "",
            parent,
        )

    def _add_assignments(self) -> None:
        seen: set[tuple[int, str]] = set()
        for node in sorted(self._captures.get("assigned", ()), key=lambda node: node.start_byte):
            owner = self._enclosing(node.start_byte)
            holder = self.symbols[owner]
            if holder.kind not in ("module", "class"):
                continue
            name = text_of(node)
            if (owner, name) in seen or name == "__slots__":
                continue
            seen.add((owner, name))
            self.symbols.append(self._assignment(node, name, owner, holder))

    def _add_instance_attributes(self) -> None:
        """Add attributes that methods assign to `self`: the first assignment of each, unless the class defines it."""
        known = {(symbol.parent, symbol.name) for symbol in self.symbols}
        for node in sorted(self._captures.get("given", ()), key=lambda node: node.start_byte):
            target = node.parent
            receiver = None if target is None else target.child_by_field_name("object")
            if target is None or receiver is None or text_of(receiver) != "self":
                continue
            name, owner = text_of(node), self._class_around(node.start_byte)
            if owner is None or (owner, name) in known or name.endswith("__"):
                continue
            known.add((owner, name))
            self.symbols.append(self._assignment(target, name, owner, self.symbols[owner]))

    def _class_around(self, byte: int) -> int | None:
        """Return the position of the class whose method a byte belongs to; None outside of methods."""
        inside: int | None = self._enclosing(byte)
        while inside and self.symbols[inside].kind == "function":
            inside = self.symbols[inside].parent
        return self.symbols[inside].parent if inside and self.symbols[inside].kind == "method" else None

    def _assignment(self, node: Node, name: str, owner: int, holder: Symbol) -> Symbol:
        statement = node.parent if node.parent is not None else node
        plain_kind = "attribute" if holder.kind == "class" else "variable"
        kind = "constant" if name.strip("_").isupper() else plain_kind
        line = node.start_point[0] + 1
        end = min(statement.end_byte, statement.start_byte + 4 * MAX_SIGNATURE_CHARS)
        return Symbol(
            name,
            f"{holder.qualified_name}.{name}" if owner else name,
            kind,
            line,
            statement.end_point[0] + 1,
            line,
            _one_line(self._source[statement.start_byte : end])[:MAX_SIGNATURE_CHARS].rstrip(),
            "",
            owner,
        )

    def _enclosing(self, byte: int) -> int:
        """Return the position of the innermost definition around a byte; 0, the module, if there is none."""
        place = bisect_right(self._starts, byte) - 1
        index = self._owners[place] if place >= 0 else 0
        while index and self._ends[index - 1] <= byte:
            index = self.symbols[index].parent or 0
        return index

    def references(self) -> list[Reference]:
        found: dict[tuple[int, str], Reference] = {}
        for kind in ("base", "decorator", "call"):
            for node in sorted(self._captures.get(kind, ()), key=lambda node: node.start_byte):
                line, name = node.start_point[0] + 1, text_of(node)
                if (line, name) not in found:
                    enclosing = self._enclosing(node.start_byte) or None
                    found[line, name] = Reference(name, line, kind, self._qualifier(node), enclosing)
        return sorted(found.values(), key=lambda reference: reference.line)

    def _qualifier(self, node: Node) -> str:
        parent = node.parent
        if parent is None or parent.type != "attribute":
            return ""
        start, end = parent.start_byte, node.start_byte
        if end - start > 64:
            return SOME_OBJECT
        qualifier = self._source[start:end].decode("utf-8", "replace").rstrip(". \t\n\\")
        return qualifier if _PLAIN_QUALIFIER.fullmatch(qualifier) else SOME_OBJECT

    def imports(self) -> list[Import]:
        found: list[Import] = []
        for node in sorted(self._captures.get("import", ()), key=lambda node: node.start_byte):
            found.extend(_imports_of(node))
        found.sort(key=lambda item: item.line)
        return found

    def doc_ranges(self) -> list[tuple[int, int]]:
        return sorted((node.start_point[0] + 1, node.end_point[0] + 1) for node in self._strings.values())

    def _docstring_of(self, body: Node, *, skip_comments: bool) -> str:
        for child in body.named_children[:12]:
            if skip_comments and child.type == "comment":
                continue
            string = self._strings.get(child.start_byte)
            if child.type != "expression_statement" or string is None:
                break
            return first_paragraph(_string_content(text_of(string)))
        return ""


def _imports_of(node: Node) -> list[Import]:
    line = node.start_point[0] + 1
    if node.type == "import_statement":
        return [_imported(child, line, None) for child in node.children_by_field_name("name")]
    if node.type == "future_import_statement":
        return [_imported(child, line, "__future__") for child in node.children_by_field_name("name")]
    module_node = node.child_by_field_name("module_name")
    module = text_of(module_node) if module_node is not None else ""
    names = node.children_by_field_name("name")
    if not names:
        return [Import(module, "*", "", line)]
    return [_imported(child, child.start_point[0] + 1, module) for child in names]


def _imported(node: Node, line: int, module: str | None) -> Import:
    alias = ""
    if node.type == "aliased_import":
        alias_node, name_node = node.child_by_field_name("alias"), node.child_by_field_name("name")
        alias = text_of(alias_node) if alias_node is not None else ""
        node = name_node if name_node is not None else node
    name = text_of(node)
    return Import(name, "", alias, line) if module is None else Import(module, name, alias, line)


def _one_line(data: bytes) -> str:
    return _BLANKS.sub(" ", data.decode("utf-8", "replace")).strip()


def _string_content(literal: str) -> str:
    opened = _STRING_PREFIX.match(literal)
    if opened is None:
        return literal
    return literal[opened.end() :].removesuffix(opened.group(1))
