"""Extracts the type facts of Java files.

Methods are bound under their name with brackets, since a field may have the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runtime.codebase.language_parts.facts_walker import FactsWalker, Handler, line_of, text_of
from runtime.codebase.language_parts.type_facts import NOTHING, TO_THE_END, FileFacts

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS = {
    "string_literal": "String",
    "character_literal": "char",
    "decimal_integer_literal": "int",
    "hex_integer_literal": "int",
    "decimal_floating_point_literal": "double",
    "true": "boolean",
    "false": "boolean",
    "null_literal": "null",
    "class_literal": "Class",
}
_PRIMITIVES = frozenset({"integral_type", "floating_point_type", "boolean_type"})
_TYPES = frozenset(
    {
        *("class_declaration", "interface_declaration", "enum_declaration", "record_declaration"),
        "annotation_type_declaration",
    }
)
CONSTRUCTOR = "<init>"


def java_facts(root: Node) -> FileFacts:
    """Return the type facts of a Java syntax tree."""
    return _JavaWalker().walk(root)


class _JavaWalker(FactsWalker):
    def block(self, node: Node, scope: int) -> int:
        return super().block(node, self.add_scope("block", "", scope, node))

    def package(self, node: Node, _scope: int) -> int:
        self.facts.package = text_of(node.named_children[-1]) if node.named_children else ""
        return NOTHING

    def import_(self, node: Node, scope: int) -> int:
        kinds = {child.type for child in node.children}
        path = next((text_of(child) for child in node.named_children if child.type != "asterisk"), "")
        if "asterisk" in kinds:
            self.facts.stars.append(self.add_import(path, "*", node))
        elif "static" in kinds:
            owner, _, name = path.rpartition(".")
            # A static member may be a method as well as a field or a class.
            self.bind_import(scope, name + "()", owner, name + "()", node)
            self.bind_import(scope, name, owner, name, node)
        else:
            self.bind_import(scope, path.rpartition(".")[2], path, "", node)
        return NOTHING

    # Definitions

    def type_(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        inner = self.add_scope("class", text_of(name), scope, node, name)
        made = self.facts.scopes[inner]
        if "interface" in node.type:
            made.marks.append("interface")
        self.bind(scope, text_of(name), "scope", node, inner)
        self._type_parameters(node, inner)
        for child in node.named_children:
            if child.type in ("superclass", "super_interfaces", "extends_interfaces"):
                for one in child.named_children:
                    listed = one.named_children if one.type == "type_list" else [one]
                    made.bases += [self._type(kind, scope) for kind in listed]
        if node.type == "record_declaration":
            self._parameters(node, inner)
        outer, self.until = self.until, TO_THE_END
        body = node.child_by_field_name("body")
        if body is not None:
            self.children(body, inner)
        self.until = outer
        return NOTHING

    def _type_parameters(self, node: Node, scope: int) -> None:
        parameters = node.child_by_field_name("type_parameters")
        for child in parameters.named_children if parameters is not None else ():
            first = next((one for one in child.named_children if one.type == "type_identifier"), None)
            bound = next((one for one in child.named_children if one.type == "type_bound"), None)
            kind = NOTHING
            if bound is not None and len(bound.named_children) == 1:
                kind = self._type(bound.named_children[0], scope)
            # A value of a bounded type variable has the members of its bound.
            self.bind(scope, text_of(first), "value", child, kind)

    def enum_constant(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        self.bind(scope, text_of(name), "value", node, self.express("new", self.express("scope", scope)))
        body = node.child_by_field_name("body")
        if body is not None:
            inner = self.add_scope("class", "", scope, node)
            self.facts.scopes[inner].bases.append(self.express("scope", scope))
            self.children(body, inner)
        self.visit(node.child_by_field_name("arguments"), scope)
        return NOTHING

    def field(self, node: Node, scope: int) -> int:
        kind = self._type(node.child_by_field_name("type"), scope)
        for child in node.children_by_field_name("declarator"):
            self.visit(child.child_by_field_name("value"), scope)
            self.bind(scope, text_of(child.child_by_field_name("name")), "type", node, kind)
        return NOTHING

    def method(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        inner = self._function(node, scope, name)
        self.bind(scope, text_of(name) + "()", "scope", node, inner)
        return NOTHING

    def constructor(self, node: Node, scope: int) -> int:
        inner = self._function(node, scope, node.child_by_field_name("name"), "constructor")
        self.bind(scope, CONSTRUCTOR, "scope", node, inner)
        return NOTHING

    def _function(self, node: Node, scope: int, name: Node | None, *marks: str) -> int:
        inner = self.add_scope("function", text_of(name), scope, node, name)
        made = self.facts.scopes[inner]
        made.marks += marks
        modifiers = next((child for child in node.children if child.type == "modifiers"), None)
        if modifiers is not None and any(child.type == "static" for child in modifiers.children):
            made.marks.append("static")
        outer, self.until = self.until, TO_THE_END
        self._type_parameters(node, inner)
        self._parameters(node, inner)
        made.returns = self._type(node.child_by_field_name("type"), inner)
        body = node.child_by_field_name("body")
        if body is not None:
            super().block(body, inner)
        elif "constructor" not in marks:
            made.marks.append("abstract")
        self.until = outer
        return inner

    def _parameters(self, node: Node, scope: int) -> None:
        parameters = node.child_by_field_name("parameters")
        count, most = 0, 0
        for child in parameters.named_children if parameters is not None else ():
            if child.type == "formal_parameter":
                kind = self._type(child.child_by_field_name("type"), scope)
                self.bind(scope, text_of(child.child_by_field_name("name")), "type", child, kind)
                count, most = count + 1, most + 1
                self.facts.scopes[scope].parameters.append(kind)
            elif child.type == "spread_parameter":
                parts = [one for one in child.named_children if one.type != "modifiers"]
                name = parts[-1].child_by_field_name("name") if parts else None
                self.bind(scope, text_of(name), "type", child, self._array(self._type(parts[0], scope)))
                most = TO_THE_END
            elif child.type == "identifier":
                self.bind(scope, text_of(child), "unknown", child)
        self.facts.scopes[scope].arity = (count, most)

    def _array(self, element: int) -> int:
        known = element if element != NOTHING else self.express("literal", "?")
        return self.express("apply", self.express("literal", "[]"), known)

    def lambda_(self, node: Node, scope: int) -> int:
        inner = self.add_scope("function", "<lambda>", scope, node)
        parameters = node.child_by_field_name("parameters")
        if parameters is not None and parameters.type == "identifier":
            self.bind(inner, text_of(parameters), "unknown", parameters)
        elif parameters is not None and parameters.type == "formal_parameters":
            self._parameters(node, inner)
        else:
            for child in parameters.named_children if parameters is not None else ():
                self.bind(inner, text_of(child), "unknown", child)
        self.visit(node.child_by_field_name("body"), inner)
        return NOTHING

    # Variables

    def local(self, node: Node, scope: int) -> int:
        declared = node.child_by_field_name("type")
        is_inferred = text_of(declared) == "var"
        kind = NOTHING if is_inferred else self._type(declared, scope)
        for child in node.children_by_field_name("declarator"):
            value = self.visit(child.child_by_field_name("value"), scope)
            name = text_of(child.child_by_field_name("name"))
            if is_inferred:
                self.bind(scope, name, "value", node, value)
            else:
                self.bind(scope, name, "type", node, kind)
        return NOTHING

    def for_each(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("value"), scope)
        inner = self.add_scope("block", "", scope, node)
        declared, name = node.child_by_field_name("type"), node.child_by_field_name("name")
        if name is not None and text_of(declared) == "var":
            self.bind(inner, text_of(name), "value", name, self.wrapped("element", value))
        elif name is not None:
            self.bind(inner, text_of(name), "type", name, self._type(declared, scope))
        self.visit(node.child_by_field_name("body"), inner)
        return NOTHING

    def scoped(self, node: Node, scope: int) -> int:
        return super().block(node, self.add_scope("block", "", scope, node))

    def resource(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("value"), scope)
        name, declared = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is not None and text_of(declared) == "var":
            self.bind(scope, text_of(name), "value", node, value)
        elif name is not None:
            self.bind(scope, text_of(name), "type", node, self._type(declared, scope))
        elif value == NOTHING:
            self.children(node, scope)
        return NOTHING

    def catch_parameter(self, node: Node, scope: int) -> int:
        kinds = [kind for child in node.named_children if child.type == "catch_type" for kind in child.named_children]
        kind = self._type(kinds[0], scope) if len(kinds) == 1 else NOTHING
        self.bind(scope, text_of(node.child_by_field_name("name")), "type", node, kind)
        return NOTHING

    def instance_of(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("left"), scope)
        name = node.child_by_field_name("name")
        if name is not None:
            # It is bound where the test held; a name of its own in most code.
            self.bind(scope, text_of(name), "type", node, self._type(node.child_by_field_name("right"), scope))
        return NOTHING

    # Expressions

    def identifier(self, node: Node, _scope: int) -> int:
        return self.name(node)

    def this(self, node: Node, _scope: int) -> int:
        return self.express("self", line_of(node))

    def super_(self, node: Node, _scope: int) -> int:
        return self.express("super", line_of(node))

    def field_access(self, node: Node, scope: int) -> int:
        owner, name = node.child_by_field_name("object"), node.child_by_field_name("field")
        if name is not None and name.type == "this" and owner is not None:
            return self.wrapped("new", self.visit(owner, scope))
        return self.attribute(self.visit(owner, scope), text_of(name))

    def invocation(self, node: Node, scope: int) -> int:
        owner, name = node.child_by_field_name("object"), node.child_by_field_name("name")
        arguments = node.child_by_field_name("arguments")
        if name is None:
            return NOTHING
        bound = text_of(name) + "()"
        if owner is None:
            callee = self.express("name", bound, line_of(name))
        else:
            is_super = any(child.type == "super" for child in node.named_children) and owner.type != "super"
            callee = NOTHING if is_super else self.attribute(self.visit(owner, scope), bound)
        given = self._arguments(arguments, scope)
        return self.call(name, scope, callee, len(given), given)

    def _arguments(self, node: Node | None, scope: int) -> list[int]:
        given = [child for child in node.named_children if "comment" not in child.type] if node is not None else []
        return [self.visit(child, scope) for child in given]

    def creation(self, node: Node, scope: int) -> int:
        kind_node = node.child_by_field_name("type")
        kind = self._type(kind_node, scope)
        name = kind_node
        while name is not None and name.type in ("generic_type", "scoped_type_identifier"):
            name = name.named_children[0] if name.type == "generic_type" else name.named_children[-1]
        given = self._arguments(node.child_by_field_name("arguments"), scope)
        body = next((child for child in node.named_children if child.type == "class_body"), None)
        if name is not None:
            self.call(name, scope, kind, len(given), given)
        if body is not None:
            inner = self.add_scope("class", "", scope, node)
            self.facts.scopes[inner].bases.append(kind)
            outer, self.until = self.until, TO_THE_END
            self.children(body, inner)
            self.until = outer
            return self.express("new", self.express("scope", inner))
        return self.wrapped("new", kind)

    def array_access(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("array"), scope)
        self.visit(node.child_by_field_name("index"), scope)
        return self.wrapped("index", value)

    def cast(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("value"), scope)
        return self.wrapped("typed", self._type(node.child_by_field_name("type"), scope))

    def inner(self, node: Node, scope: int) -> int:
        return self.visit(node.named_children[0], scope) if len(node.named_children) == 1 else NOTHING

    def ternary(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("condition"), scope)
        return self.union([self.visit(node.child_by_field_name(one), scope) for one in ("consequence", "alternative")])

    def reference(self, node: Node, scope: int) -> int:
        if node.named_children:
            self.visit(node.named_children[0], scope)
        return NOTHING

    def binary(self, node: Node, scope: int) -> int:
        operator = node.child_by_field_name("operator")
        self.children(node, scope)
        parts = [node.child_by_field_name(one) for one in ("left", "right")]
        is_text = any(part is not None and part.type == "string_literal" for part in parts)
        is_sum = operator is not None and operator.type == "+"
        return self.express("literal", "String") if is_sum and is_text else NOTHING

    def literal(self, node: Node, _scope: int) -> int:
        return self.express("literal", _LITERALS[node.type])

    # Types

    def _type(self, node: Node | None, scope: int) -> int:
        """Return the expression of a type."""
        while node is not None and node.type == "annotated_type":
            node = node.named_children[-1] if node.named_children else None
        if node is None:
            return NOTHING
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return self.name(node)
        if kind == "scoped_type_identifier":
            owner = self._type(node.named_children[0], scope)
            return self.attribute(owner, text_of(node.named_children[-1]))
        if kind == "generic_type":
            base = self._type(node.named_children[0], scope)
            given = [self._type(child, scope) for child in node.named_children[-1].named_children]
            unknown = self.express("literal", "?")
            if base == NOTHING:
                return NOTHING
            return self.express("apply", base, *(unknown if one == NOTHING else one for one in given))
        if kind == "array_type":
            return self._array(self._type(node.child_by_field_name("element"), scope))
        if kind == "wildcard":
            is_upper = any(child.type == "extends" for child in node.children)
            return self._type(node.named_children[-1], scope) if is_upper and node.named_children else NOTHING
        if kind == "void_type":
            return self.express("literal", "void")
        return self.express("literal", text_of(node)) if kind in _PRIMITIVES else NOTHING

    handlers: ClassVar[dict[str, Handler]] = {
        "package_declaration": package,
        "import_declaration": import_,
        **dict.fromkeys(_TYPES, type_),
        "enum_constant": enum_constant,
        **dict.fromkeys(("field_declaration", "constant_declaration"), field),
        "method_declaration": method,
        **dict.fromkeys(("constructor_declaration", "compact_constructor_declaration"), constructor),
        "lambda_expression": lambda_,
        "local_variable_declaration": local,
        "enhanced_for_statement": for_each,
        **dict.fromkeys(("for_statement", "try_with_resources_statement", "catch_clause"), scoped),
        "resource": resource,
        "catch_formal_parameter": catch_parameter,
        "instanceof_expression": instance_of,
        "identifier": identifier,
        "this": this,
        "super": super_,
        "field_access": field_access,
        "method_invocation": invocation,
        "object_creation_expression": creation,
        "array_access": array_access,
        "cast_expression": cast,
        "parenthesized_expression": inner,
        "ternary_expression": ternary,
        "method_reference": reference,
        "binary_expression": binary,
        **dict.fromkeys(_LITERALS, literal),
        **dict.fromkeys(("line_comment", "block_comment"), lambda _self, _node, _scope: NOTHING),
    }
    blocks: ClassVar[frozenset[str]] = frozenset({"block", "switch_block_statement_group", "switch_rule"})
