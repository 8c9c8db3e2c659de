"""Extracts the type facts of Rust files.

References, pointers and what `dyn` and `impl` stand before are told as the type that they lead to.
It is longer than other modules: one method for each form of the language, which call each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runtime.codebase.language_parts.facts_walker import FactsWalker, Handler, line_of, text_of
from runtime.codebase.language_parts.type_facts import NOTHING, TO_THE_END, FileFacts

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS = {
    "integer_literal": "i32",
    "float_literal": "f64",
    "string_literal": "str",
    "raw_string_literal": "str",
    "char_literal": "char",
    "boolean_literal": "bool",
}
_ROOTS = frozenset({"crate", "self", "super"})
MAX_NESTED_USES = 20
_HOLDING = frozenset({"Some", "Ok"})


def rust_facts(root: Node) -> FileFacts:
    """Return the type facts of a Rust syntax tree."""
    return _RustWalker().walk(root)


class _RustWalker(FactsWalker):
    def __init__(self) -> None:
        super().__init__()
        self._inline = 0

    def block(self, node: Node, scope: int) -> int:
        inner = self.add_scope("block", "", scope, node)
        outer, self.until = self.until, node.end_point[0] + 1
        last = NOTHING
        for child in node.named_children:
            last = self.visit(child, inner)
        self.until = outer
        return last

    # Modules and imports

    def module(self, node: Node, scope: int) -> int:
        name, body = text_of(node.child_by_field_name("name")), node.child_by_field_name("body")
        if body is None:
            self.bind_import(scope, name, f"self::{name}", "", node)
            return NOTHING
        inner = self.add_scope("block", name, scope, node)
        self.bind(scope, name, "unknown", node)
        self._inline += 1
        outer, self.until = self.until, TO_THE_END
        self.children(body, inner)
        self.until = outer
        self._inline -= 1
        return NOTHING

    def use(self, node: Node, scope: int) -> int:
        argument = node.child_by_field_name("argument")
        if argument is not None:
            self._use(argument, [], scope, node, 0)
        return NOTHING

    def _use(self, node: Node, prefix: list[str], scope: int, statement: Node, depth: int) -> None:
        if depth > MAX_NESTED_USES:
            return
        kind = node.type
        path_node = node.child_by_field_name("path")
        if kind == "scoped_use_list":
            listed = node.child_by_field_name("list")
            if listed is not None:
                self._use(listed, [*prefix, *_parts(path_node)], scope, statement, depth + 1)
        elif kind == "use_list":
            for child in node.named_children:
                self._use(child, prefix, scope, statement, depth + 1)
        elif kind == "use_as_clause":
            alias = text_of(node.child_by_field_name("alias"))
            self._import(scope, alias, [*prefix, *_parts(path_node)], statement)
        elif kind == "use_wildcard":
            whole = self._outward([*prefix, *_parts(node.named_children[0] if node.named_children else None)])
            if whole:
                self.facts.stars.append(self.add_import("::".join(whole), "*", statement))
        elif kind == "self" and prefix:
            self._import(scope, prefix[-1], prefix, statement)
        else:
            whole = [*prefix, *_parts(node)]
            self._import(scope, whole[-1] if whole else "", whole, statement)

    def _outward(self, path: list[str]) -> list[str]:
        """Return a path as it reads in the module of the file: an inline module sees what is around it anyway."""
        for _ in range(self._inline):
            if path[:1] == ["super"]:
                path = path[1:]
        return path

    def _import(self, scope: int, bound: str, path: list[str], statement: Node) -> None:
        told = self._outward([part for part in path if part])
        if not told or bound == "_":
            return
        if len(told) != len(path) and told[0] not in _ROOTS:
            told = ["self", *told]
        self.bind_import(scope, bound, "::".join(told[:-1]) or told[-1], told[-1] if len(told) > 1 else "", statement)

    # Definitions

    def struct(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        within = self._generic(node, scope)
        inner = self.add_scope("class", text_of(name), within, node, name)
        self.bind(scope, text_of(name), "scope", node, inner)
        body = node.child_by_field_name("body")
        if body is not None and body.type == "ordered_field_declaration_list":
            for place, part in enumerate(body.children_by_field_name("type")):
                self.bind(inner, str(place), "type", part, self._type(part, within))
        for child in body.named_children if body is not None else ():
            if child.type == "field_declaration":
                kind = self._type(child.child_by_field_name("type"), within)
                self.bind(inner, text_of(child.child_by_field_name("name")), "type", child, kind)
            elif child.type == "enum_variant":
                made = self.express("new", self.express("scope", inner))
                self.bind(inner, text_of(child.child_by_field_name("name")), "value", child, made)
        return NOTHING

    def _generic(self, node: Node, scope: int) -> int:
        """Return a scope that binds the type parameters of a definition to their bounds; the outer one without any."""
        parameters = node.child_by_field_name("type_parameters")
        if parameters is None:
            return scope
        inner = self.add_scope("block", "", scope, node)
        self._bounds(parameters, inner)
        where = next((child for child in node.named_children if child.type == "where_clause"), None)
        for child in where.named_children if where is not None else ():
            left, bounds = child.child_by_field_name("left"), child.child_by_field_name("bounds")
            if left is not None and left.type == "type_identifier" and bounds is not None:
                self._bind_bound(text_of(left), bounds, inner, child)
        return inner

    def _bounds(self, parameters: Node, scope: int) -> None:
        for child in parameters.named_children:
            name, bounds = child.child_by_field_name("name"), child.child_by_field_name("bounds")
            if child.type == "lifetime_parameter" or name is None:
                continue
            if bounds is None:
                self.facts.scopes[scope].bindings.setdefault(text_of(name), [])
            else:
                self._bind_bound(text_of(name), bounds, scope, child)

    def _bind_bound(self, name: str, bounds: Node, scope: int, node: Node) -> None:
        kinds = [child for child in bounds.named_children if child.type not in ("lifetime", "removed_trait_bound")]
        kind = self._type(kinds[0], scope) if len(kinds) == 1 else NOTHING
        self.bind(scope, name, "value", node, kind)

    def trait(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        within = self._generic(node, scope)
        inner = self.add_scope("class", text_of(name), within, node, name)
        made = self.facts.scopes[inner]
        made.marks.append("interface")
        self.bind(scope, text_of(name), "scope", node, inner)
        self.bind(inner, "Self", "scope", node, inner)
        bounds = node.child_by_field_name("bounds")
        for child in bounds.named_children if bounds is not None else ():
            if child.type != "lifetime":
                made.bases.append(self._type(child, within))
        self._body(node, inner)
        return NOTHING

    def impl(self, node: Node, scope: int) -> int:
        kind_node = node.child_by_field_name("type")
        within = self._generic(node, scope)
        if within == scope:
            within = self.add_scope("block", "", scope, node)
        kind = self._type(kind_node, within)
        self.bind(within, "Self", "value", kind_node or node, kind)
        inner = self.add_scope("extension", _plain_name(kind_node), within, node)
        self.facts.scopes[inner].bases.append(kind)
        if node.child_by_field_name("trait") is not None:
            self.facts.scopes[inner].marks.append("trait")
        self._body(node, inner)
        return NOTHING

    def _body(self, node: Node, scope: int) -> None:
        body = node.child_by_field_name("body")
        outer, self.until = self.until, TO_THE_END
        if body is not None:
            self.children(body, scope)
        self.until = outer

    def function(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        inner = self.add_scope("function", text_of(name), scope, node, name)
        made = self.facts.scopes[inner]
        self.bind(scope, text_of(name), "scope", node, inner)
        if any(child.type == "function_modifiers" and "async" in text_of(child).split() for child in node.children):
            made.marks.append("async")
        outer, self.until = self.until, TO_THE_END
        parameters = node.child_by_field_name("type_parameters")
        if parameters is not None:
            self._bounds(parameters, inner)
            where = next((child for child in node.named_children if child.type == "where_clause"), None)
            for child in where.named_children if where is not None else ():
                left, bounds = child.child_by_field_name("left"), child.child_by_field_name("bounds")
                if left is not None and left.type == "type_identifier" and bounds is not None:
                    self._bind_bound(text_of(left), bounds, inner, child)
        self._parameters(node.child_by_field_name("parameters"), inner)
        declared = node.child_by_field_name("return_type")
        made.returns = self._type(declared, inner) if declared is not None else self.express("literal", "nil")
        body = node.child_by_field_name("body")
        if body is not None:
            self.block(body, inner)
        self.until = outer
        return NOTHING

    def _parameters(self, node: Node | None, scope: int) -> None:
        for child in node.named_children if node is not None else ():
            if child.type == "self_parameter":
                self.bind(scope, "self", "self", child)
            elif child.type == "parameter":
                self._bind_typed(child, scope)
            elif child.type not in ("line_comment", "block_comment", "attribute_item"):
                self._pattern(child, scope, NOTHING)

    def _bind_typed(self, node: Node, scope: int) -> None:
        pattern, kind = node.child_by_field_name("pattern"), node.child_by_field_name("type")
        if pattern is None:
            return
        if text_of(pattern).removeprefix("mut ") == "self":
            self.bind(scope, "self", "self", node)
            return
        self._pattern(pattern, scope, self.wrapped("typed", self._type(kind, scope)))

    def closure(self, node: Node, scope: int) -> int:
        inner = self.add_scope("function", "<closure>", scope, node)
        self._parameters(node.child_by_field_name("parameters"), inner)
        self.visit(node.child_by_field_name("body"), inner)
        return NOTHING

    def alias(self, node: Node, scope: int) -> int:
        if self.facts.scopes[scope].kind not in ("extension", "class"):
            within = self._generic(node, scope)
            kind = self._type(node.child_by_field_name("type"), within)
            self.bind(scope, text_of(node.child_by_field_name("name")), "value", node, kind)
        return NOTHING

    def constant(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("value"), scope)
        kind = self._type(node.child_by_field_name("type"), scope)
        self.bind(scope, text_of(node.child_by_field_name("name")), "type", node, kind)
        return NOTHING

    # Variables and patterns

    def let(self, node: Node, scope: int) -> int:
        pattern, declared = node.child_by_field_name("pattern"), node.child_by_field_name("type")
        value = self.visit(node.child_by_field_name("value"), scope)
        self.visit(node.child_by_field_name("alternative"), scope)
        kind = self.wrapped("typed", self._type(declared, scope))
        if pattern is not None:
            self._pattern(pattern, scope, kind if kind != NOTHING else value, node)
        return NOTHING

    def _pattern(self, node: Node, scope: int, value: int, statement: Node | None = None) -> None:
        """Bind the names of a pattern to the parts of a value."""
        kind, parts = node.type, node.named_children
        if kind in ("identifier", "shorthand_field_identifier"):
            # A capitalised name is a constant or a variant that is compared with.
            if not text_of(node)[:1].isupper():
                self.bind(scope, text_of(node), "value", statement if statement is not None else node, value)
        elif kind in ("mut_pattern", "reference_pattern", "ref_pattern", "match_pattern"):
            inner = next((part for part in parts if part.type != "mutable_specifier"), None)
            if inner is not None:
                self._pattern(inner, scope, value, statement)
        elif kind == "captured_pattern":
            for part in parts:
                self._pattern(part, scope, value, statement)
        elif kind == "tuple_pattern":
            for number, part in enumerate(parts):
                self._pattern(part, scope, self.wrapped("item", value, number), statement)
        elif kind not in ("scoped_identifier", "generic_type", "type_identifier", "field_identifier"):
            holder = node.child_by_field_name("type")
            is_held = kind == "tuple_struct_pattern" and text_of(holder) in _HOLDING
            for part in parts:
                if part != holder:
                    self._pattern(part, scope, self.wrapped("element", value) if is_held else NOTHING, statement)

    def scoped(self, node: Node, scope: int) -> int:
        inner = self.add_scope("block", "", scope, node)
        outer, self.until = self.until, node.end_point[0] + 1
        self.children(node, inner)
        self.until = outer
        return NOTHING

    def condition(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("value"), scope)
        pattern = node.child_by_field_name("pattern")
        if pattern is not None:
            self._pattern(pattern, scope, value)
        return NOTHING

    def match(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("value"), scope)
        body = node.child_by_field_name("body")
        for arm in body.named_children if body is not None else ():
            inner = self.add_scope("block", "", scope, arm)
            pattern = arm.child_by_field_name("pattern")
            if pattern is not None:
                inside = pattern.named_children
                if inside:
                    self._pattern(inside[0], inner, value)
                for guard in inside[1:]:
                    self.visit(guard, inner)
            self.visit(arm.child_by_field_name("value"), inner)
        return NOTHING

    def for_(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("value"), scope)
        inner = self.add_scope("block", "", scope, node)
        pattern = node.child_by_field_name("pattern")
        if pattern is not None:
            self._pattern(pattern, inner, self.wrapped("element", value))
        self.visit(node.child_by_field_name("body"), inner)
        return NOTHING

    # Expressions

    def identifier(self, node: Node, _scope: int) -> int:
        return self.name(node)

    def root(self, node: Node, _scope: int) -> int:
        if node.type == "self":
            return self.express("name", "self", line_of(node))
        return self._root_module(text_of(node), node)

    def _root_module(self, path: str, node: Node) -> int:
        if path == "super" and self._inline:
            path = "self"
        return self.express("module", self.add_import(path, "", node))

    def scoped_name(self, node: Node, scope: int) -> int:
        path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
        if path is None:
            return NOTHING
        owner = self._root_module(path.type, path) if path.type in _ROOTS else self._path(path, scope)
        return self.attribute(owner, text_of(name))

    def _path(self, node: Node, scope: int) -> int:
        return self._type(node, scope) if node.type in ("generic_type", "bracketed_type") else self.visit(node, scope)

    def field(self, node: Node, scope: int) -> int:
        owner = self.visit(node.child_by_field_name("value"), scope)
        return self.attribute(owner, text_of(node.child_by_field_name("field")))

    def call_(self, node: Node, scope: int) -> int:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        callee = self.visit(function, scope)
        given = arguments.named_children if arguments is not None else []
        for child in given:
            self.visit(child, scope)
        if function is not None and function.type == "generic_function":
            function = function.child_by_field_name("function")
        if function is None:
            return NOTHING
        names = {"identifier": function, "field_expression": function.child_by_field_name("field")}
        names["scoped_identifier"] = function.child_by_field_name("name")
        name = names.get(function.type)
        if name is not None:
            return self.call(name, scope, callee)
        return self.wrapped("call", callee, line_of(node), NOTHING)

    def generic_function(self, node: Node, scope: int) -> int:
        return self.visit(node.child_by_field_name("function"), scope)

    def struct_value(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        kind = self._type(name, scope)
        self.visit(node.child_by_field_name("body"), scope)
        inner = name
        while inner is not None and inner.type in ("generic_type", "scoped_type_identifier"):
            inner = inner.child_by_field_name("type" if inner.type == "generic_type" else "name")
        if inner is not None:
            self.call(inner, scope, kind)
        return self.wrapped("typed", kind)

    def field_value(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("value"), scope)
        return NOTHING

    def try_(self, node: Node, scope: int) -> int:
        return self.wrapped("element", self.visit(node.named_children[0], scope)) if node.named_children else NOTHING

    def await_(self, node: Node, scope: int) -> int:
        return self.wrapped("await", self.visit(node.named_children[0], scope)) if node.named_children else NOTHING

    def index(self, node: Node, scope: int) -> int:
        values = [self.visit(child, scope) for child in node.named_children]
        return self.wrapped("index", values[0]) if values else NOTHING

    def cast(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("value"), scope)
        return self.wrapped("typed", self._type(node.child_by_field_name("type"), scope))

    def reference(self, node: Node, scope: int) -> int:
        return self.visit(node.child_by_field_name("value"), scope)

    def inner(self, node: Node, scope: int) -> int:
        return self.visit(node.named_children[0], scope) if len(node.named_children) == 1 else NOTHING

    def unary(self, node: Node, scope: int) -> int:
        value = self.inner(node, scope)
        return value if text_of(node).startswith("*") else NOTHING

    def literal(self, node: Node, _scope: int) -> int:
        return self.express("literal", _LITERALS[node.type])

    # Types

    def _type(self, node: Node | None, scope: int) -> int:
        """Return the expression of a type."""
        while node is not None and node.type in _PREFIXED:
            node = (
                node.child_by_field_name("type")
                or node.child_by_field_name("trait")
                or (node.named_children[-1] if node.named_children else None)
            )
        if node is None:
            return NOTHING
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return self.name(node)
        if kind in ("scoped_type_identifier", "scoped_identifier"):
            return self.scoped_name(node, scope)
        unknown = self.express("literal", "?")
        if kind in ("generic_type", "generic_type_with_turbofish"):
            base = self._type(node.child_by_field_name("type"), scope)
            listed = node.child_by_field_name("type_arguments")
            given = [child for child in listed.named_children if child.type != "lifetime"] if listed is not None else []
            kinds = [self._type(child, scope) for child in given]
            if base == NOTHING:
                return NOTHING
            return self.express("apply", base, *(unknown if one == NOTHING else one for one in kinds))
        if kind == "tuple_type":
            kinds = [self._type(child, scope) for child in node.named_children]
            return self.express(
                "apply", self.express("name", "tuple", 0), *(unknown if one == NOTHING else one for one in kinds)
            )
        if kind in ("array_type", "slice_type"):
            element = self._type(node.child_by_field_name("element") or node.named_children[0], scope)
            return self.express("apply", self.express("name", "Vec", 0), unknown if element == NOTHING else element)
        if kind == "unit_type":
            return self.express("literal", "nil")
        return self.express("literal", text_of(node)) if kind == "primitive_type" else NOTHING

    handlers: ClassVar[dict[str, Handler]] = {
        "mod_item": module,
        "use_declaration": use,
        **dict.fromkeys(("struct_item", "enum_item", "union_item"), struct),
        "trait_item": trait,
        "impl_item": impl,
        **dict.fromkeys(("function_item", "function_signature_item"), function),
        "closure_expression": closure,
        "type_item": alias,
        **dict.fromkeys(("const_item", "static_item"), constant),
        "let_declaration": let,
        **dict.fromkeys(("if_expression", "while_expression"), scoped),
        "let_condition": condition,
        "match_expression": match,
        "for_expression": for_,
        **dict.fromkeys(("identifier", "type_identifier"), identifier),
        **dict.fromkeys(("self", "crate", "super"), root),
        "scoped_identifier": scoped_name,
        "field_expression": field,
        "call_expression": call_,
        "generic_function": generic_function,
        "struct_expression": struct_value,
        "field_initializer": field_value,
        "try_expression": try_,
        "await_expression": await_,
        "index_expression": index,
        "type_cast_expression": cast,
        "reference_expression": reference,
        "parenthesized_expression": inner,
        "unary_expression": unary,
        **dict.fromkeys(_LITERALS, literal),
        **dict.fromkeys(
            ("line_comment", "block_comment", "macro_invocation", "macro_definition", "attribute_item"),
            lambda _self, _node, _scope: NOTHING,
        ),
    }
    blocks: ClassVar[frozenset[str]] = frozenset({"block"})


def _parts(node: Node | None) -> list[str]:
    return text_of(node).split("::") if node is not None else []


_PREFIXED = frozenset({"reference_type", "dynamic_type", "abstract_type", "pointer_type", "bracketed_type"})


def _plain_name(node: Node | None) -> str:
    """Return the name of a type without its path and arguments."""
    while node is not None and node.type in ("generic_type", "scoped_type_identifier", "reference_type"):
        node = node.child_by_field_name("name" if node.type == "scoped_type_identifier" else "type")
    return text_of(node)
