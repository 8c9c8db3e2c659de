"""Extracts the type facts of Go files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from runtime.codebase.language_parts.facts_walker import FactsWalker, Handler, line_of, text_of
from runtime.codebase.language_parts.type_facts import NOTHING, TO_THE_END, FileFacts

if TYPE_CHECKING:
    from tree_sitter import Node

_VERSION = re.compile(r"^v\d+$")
_LITERALS = {
    "int_literal": "int",
    "float_literal": "float64",
    "rune_literal": "rune",
    "interpreted_string_literal": "string",
    "raw_string_literal": "string",
    "true": "bool",
    "false": "bool",
    "nil": "nil",
}


def go_facts(root: Node) -> FileFacts:
    """Return the type facts of a Go syntax tree."""
    return _GoWalker().walk(root)


class _GoWalker(FactsWalker):
    def block(self, node: Node, scope: int) -> int:
        return super().block(node, self.add_scope("block", "", scope, node))

    def package(self, node: Node, _scope: int) -> int:
        self.facts.package = text_of(node.named_children[0]) if node.named_children else ""
        return NOTHING

    def import_(self, node: Node, scope: int) -> int:
        path, alias = text_of(node.child_by_field_name("path")).strip('"`'), node.child_by_field_name("name")
        if alias is not None and alias.type == "dot":
            self.facts.stars.append(self.add_import(path, "*", node))
        elif alias is None or alias.type != "blank_identifier":
            parts = path.split("/")
            last = parts[-2] if len(parts) > 1 and _VERSION.match(parts[-1]) else parts[-1]
            # The name of a package may leave out what its path says of the language.
            plain = last.partition(".v")[0].removesuffix(".go")
            names = (
                [text_of(alias)] if alias is not None else [plain, plain.removeprefix("go-"), plain.removesuffix("-go")]
            )
            for bound in dict.fromkeys(names):
                self.bind_import(scope, bound, path, "", node)
        return NOTHING

    # Definitions

    def function(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        inner = self._function(node, scope, name)
        if text_of(name) not in ("init", "_"):
            self.bind(scope, text_of(name), "scope", node, inner)
        return NOTHING

    def method(self, node: Node, scope: int) -> int:
        name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
        held = receiver.named_children[0] if receiver is not None and receiver.named_children else None
        kind = held.child_by_field_name("type") if held is not None else None
        while kind is not None and kind.type in ("pointer_type", "parenthesized_type", "generic_type"):
            kind = kind.child_by_field_name("type") or (kind.named_children[0] if kind.named_children else None)
        holder = self.add_scope("extension", text_of(kind), scope, node)
        self.facts.scopes[holder].bases.append(self.name(kind) if kind is not None else NOTHING)
        inner = self._function(node, holder, name)
        self.bind(holder, text_of(name), "scope", node, inner)
        own = held.child_by_field_name("name") if held is not None else None
        if held is not None and own is not None:
            self.bind(inner, text_of(own), "self", held)
        return NOTHING

    def _function(self, node: Node, scope: int, name: Node | None, *marks: str) -> int:
        inner = self.add_scope("function", text_of(name), scope, node, name)
        made = self.facts.scopes[inner]
        made.marks += marks
        outer, self.until = self.until, TO_THE_END
        generic = node.child_by_field_name("type_parameters")
        for child in generic.named_children if generic is not None else ():
            for one in child.children_by_field_name("name"):
                self.bind(inner, text_of(one), "unknown", child)
        self._parameters(node.child_by_field_name("parameters"), inner)
        made.returns = self._results(node.child_by_field_name("result"), inner)
        body = node.child_by_field_name("body")
        if body is not None:
            super().block(body, inner)
        self.until = outer
        return inner

    def _parameters(self, node: Node | None, scope: int) -> list[int]:
        kinds = []
        for child in node.named_children if node is not None else ():
            kind = self._type(child.child_by_field_name("type"), scope)
            if child.type == "variadic_parameter_declaration":
                kind = self._list_of(kind)
            names = child.children_by_field_name("name")
            for name in names:
                self.bind(scope, text_of(name), "type", child, kind)
            kinds += [kind] * max(1, len(names))
        return kinds

    def _list_of(self, element: int) -> int:
        known = element if element != NOTHING else self.express("literal", "?")
        return self.express("apply", self.express("name", "[]", 0), known)

    def _results(self, node: Node | None, scope: int) -> int:
        if node is None:
            return self.express("literal", "nil")
        if node.type != "parameter_list":
            return self._type(node, scope)
        kinds = self._parameters(node, scope)
        if len(kinds) == 1:
            return kinds[0]
        unknown = self.express("literal", "?")
        given = [unknown if kind == NOTHING else kind for kind in kinds]
        return self.express("apply", self.express("name", "tuple", 0), *given)

    def type_spec(self, node: Node, scope: int) -> int:
        name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
        if kind is None:
            return NOTHING
        inner = self.add_scope("class", text_of(name), scope, node, name)
        made = self.facts.scopes[inner]
        self.bind(scope, text_of(name), "scope", node, inner)
        generic = node.child_by_field_name("type_parameters")
        within = scope
        if generic is not None:
            within = self.add_scope("block", "", scope, node)
            made.parent = within
            for child in generic.named_children:
                for one in child.children_by_field_name("name"):
                    self.bind(within, text_of(one), "unknown", child)
        if kind.type == "struct_type":
            for fields in kind.named_children:
                for field in fields.named_children:
                    self._field(field, inner, within)
        elif kind.type == "interface_type":
            made.marks.append("interface")
            for child in kind.named_children:
                self._interface_part(child, inner, within)
        else:
            made.returns = self._type(kind, within)
        return NOTHING

    def _field(self, node: Node, inner: int, scope: int) -> None:
        if node.type != "field_declaration":
            return
        kind_node = node.child_by_field_name("type")
        kind = self._type(kind_node, scope)
        names = node.children_by_field_name("name")
        for name in names:
            self.bind(inner, text_of(name), "type", node, kind)
        if not names:
            self.facts.scopes[inner].bases.append(kind)
            self.bind(inner, text_of(kind_node).strip("*").rpartition(".")[2].partition("[")[0], "type", node, kind)

    def _interface_part(self, node: Node, inner: int, scope: int) -> None:
        if node.type == "method_elem":
            name = node.child_by_field_name("name")
            self.bind(inner, text_of(name), "scope", node, self._function(node, inner, name, "stub"))
        elif node.type == "type_elem" and len(node.named_children) == 1:
            self.facts.scopes[inner].bases.append(self._type(node.named_children[0], scope))

    def type_alias(self, node: Node, scope: int) -> int:
        kind = self._type(node.child_by_field_name("type"), scope)
        self.bind(scope, text_of(node.child_by_field_name("name")), "value", node, kind)
        return NOTHING

    def literal_function(self, node: Node, scope: int) -> int:
        return self.express("scope", self._function(node, scope, None))

    # Variables

    def short_variables(self, node: Node, scope: int) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        names = left.named_children if left is not None else []
        values: list[Node | None] = [right]
        if right is not None and right.type == "expression_list":
            values = list(right.named_children)
        self._bind_all(names, [self.visit(value, scope) for value in values], values, scope, node)
        return NOTHING

    def _bind_all(
        self, names: list[Node], given: list[int], values: list[Node | None], scope: int, statement: Node
    ) -> None:
        if len(given) == 1 and len(names) > 1:
            one = values[0]
            is_call = one is not None and one.type == "call_expression"
            parts = [self.wrapped("item", given[0], place) for place in range(len(names))]
            given = parts if is_call else [given[0], *[NOTHING] * (len(names) - 1)]
        for name, value in zip(names, given, strict=False):
            if name.type == "identifier" and text_of(name) != "_":
                self.bind(scope, text_of(name), "value", statement, value)

    def variables(self, node: Node, scope: int) -> int:
        names = node.children_by_field_name("name")
        values = node.child_by_field_name("value")
        parts: list[Node | None] = list(values.named_children) if values is not None else []
        given = [self.visit(value, scope) for value in parts]
        declared = node.child_by_field_name("type")
        if declared is not None:
            kind = self._type(declared, scope)
            for name in names:
                self.bind(scope, text_of(name), "type", node, kind)
        elif given:
            self._bind_all(names, given, parts, scope, node)
        else:
            for name in names:
                self.bind(scope, text_of(name), "unknown", node)
        return NOTHING

    def range_(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("right"), scope)
        left = node.child_by_field_name("left")
        names = left.named_children if left is not None else []
        for place, name in enumerate(names):
            if name.type == "identifier" and any(child.type == ":=" for child in node.children):
                # The first is a key, an index, or what a channel gives.
                self.bind(scope, text_of(name), "value", node, self.wrapped("index", value) if place else NOTHING)
        return NOTHING

    def scoped(self, node: Node, scope: int) -> int:
        return super().block(node, self.add_scope("block", "", scope, node))

    def type_switch(self, node: Node, scope: int) -> int:
        outer = self.add_scope("block", "", scope, node)
        self.visit(node.child_by_field_name("initializer"), outer)
        value = self.visit(node.child_by_field_name("value"), outer)
        aliases = node.child_by_field_name("alias")
        alias = aliases.named_children[0] if aliases is not None and aliases.named_children else None
        for child in node.named_children:
            if child.type not in ("type_case", "default_case"):
                continue
            inner = self.add_scope("block", "", outer, child)
            kinds = child.children_by_field_name("type")
            if alias is not None:
                kind = self._type(kinds[0], outer) if len(kinds) == 1 else NOTHING
                if len(kinds) == 1:
                    self.bind(inner, text_of(alias), "type", alias, kind)
                else:
                    self.bind(inner, text_of(alias), "value", alias, value)
            for part in child.named_children:
                if part not in kinds:
                    self.visit(part, inner)
        return NOTHING

    def receive(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("right"), scope)
        left = node.child_by_field_name("left")
        if left is not None and left.named_children and any(child.type == ":=" for child in node.children):
            self.bind(scope, text_of(left.named_children[0]), "value", node, value)
        return NOTHING

    # Expressions

    def identifier(self, node: Node, _scope: int) -> int:
        return self.name(node)

    def selector(self, node: Node, scope: int) -> int:
        owner = self.visit(node.child_by_field_name("operand"), scope)
        return self.attribute(owner, text_of(node.child_by_field_name("field")))

    def call_(self, node: Node, scope: int) -> int:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        parts = arguments.named_children if arguments is not None else []
        if function is None:
            return NOTHING
        if function.type == "identifier" and text_of(function) in ("make", "new") and parts:
            self.call(function, scope, self.name(function), len(parts))
            for part in parts[1:]:
                self.visit(part, scope)
            return self.wrapped("typed", self._type(parts[0], scope))
        callee = self.visit(function, scope)
        for part in parts:
            if part.child_count:
                self.visit(part, scope)
        called = function
        if called.type == "type_instantiation_expression" and called.named_children:
            called = called.named_children[0]
        name = called.child_by_field_name("field") if called.type == "selector_expression" else None
        if called.type == "identifier":
            return self.call(called, scope, callee, len(parts))
        if name is not None:
            return self.call(name, scope, callee, len(parts))
        return self.wrapped("call", callee, line_of(node), len(parts))

    def instantiation(self, node: Node, scope: int) -> int:
        return self.visit(node.named_children[0], scope) if node.named_children else NOTHING

    def composite(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("body"), scope)
        return self.wrapped("typed", self._type(node.child_by_field_name("type"), scope))

    def keyed(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("value"), scope)
        return NOTHING

    def unary(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("operand"), scope)
        operator = text_of(node.child_by_field_name("operator"))
        if operator == "<-":
            return self.wrapped("element", value)
        return value if operator in ("&", "*") else NOTHING

    def index(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("operand"), scope)
        self.visit(node.child_by_field_name("index"), scope)
        return self.wrapped("index", value)

    def slice_(self, node: Node, scope: int) -> int:
        values = [self.visit(child, scope) for child in node.named_children]
        return values[0] if values else NOTHING

    def assertion(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("operand"), scope)
        return self.wrapped("typed", self._type(node.child_by_field_name("type"), scope))

    def inner(self, node: Node, scope: int) -> int:
        return self.visit(node.named_children[0], scope) if len(node.named_children) == 1 else NOTHING

    def literal(self, node: Node, _scope: int) -> int:
        return self.express("literal", _LITERALS[node.type])

    # Types

    def _type(self, node: Node | None, scope: int) -> int:
        """Return the expression of a type; a pointer stands for what it points to."""
        while node is not None and node.type in ("pointer_type", "parenthesized_type", "type_elem"):
            node = node.named_children[0] if len(node.named_children) == 1 else None
        if node is None:
            return NOTHING
        kind = node.type
        if kind == "type_identifier":
            return self.name(node)
        if kind == "qualified_type":
            package = node.child_by_field_name("package")
            owner = self.name(package) if package is not None else NOTHING
            return self.attribute(owner, text_of(node.child_by_field_name("name")))
        if kind in ("slice_type", "array_type", "implicit_length_array_type"):
            return self._list_of(self._type(node.child_by_field_name("element"), scope))
        if kind == "generic_type":
            return self._type(node.child_by_field_name("type"), scope)
        unknown = self.express("literal", "?")
        if kind == "map_type":
            key = self._type(node.child_by_field_name("key"), scope)
            value = self._type(node.child_by_field_name("value"), scope)
            given = [unknown if one == NOTHING else one for one in (key, value)]
            return self.express("apply", self.express("name", "map", 0), *given)
        if kind == "channel_type":
            value = self._type(node.child_by_field_name("value"), scope)
            return self.express("apply", self.express("name", "chan", 0), unknown if value == NOTHING else value)
        return NOTHING

    handlers: ClassVar[dict[str, Handler]] = {
        "package_clause": package,
        "import_spec": import_,
        "function_declaration": function,
        "method_declaration": method,
        "type_spec": type_spec,
        "type_alias": type_alias,
        "func_literal": literal_function,
        "short_var_declaration": short_variables,
        "var_spec": variables,
        "const_spec": variables,
        "range_clause": range_,
        **dict.fromkeys(("if_statement", "for_statement", "expression_switch_statement"), scoped),
        **dict.fromkeys(("expression_case", "default_case", "communication_case"), scoped),
        "type_switch_statement": type_switch,
        "receive_statement": receive,
        "identifier": identifier,
        "selector_expression": selector,
        "call_expression": call_,
        "type_instantiation_expression": instantiation,
        "composite_literal": composite,
        "keyed_element": keyed,
        "unary_expression": unary,
        "index_expression": index,
        "slice_expression": slice_,
        "type_assertion_expression": assertion,
        "parenthesized_expression": inner,
        "comment": lambda _self, _node, _scope: NOTHING,
        **dict.fromkeys(_LITERALS, literal),
    }
    blocks: ClassVar[frozenset[str]] = frozenset({"block"})
