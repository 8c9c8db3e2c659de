"""Extracts the type facts of C files: functions, macros, and the local names that hide them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runtime.codebase.language_parts.facts_walker import FactsWalker, Handler, line_of, text_of
from runtime.codebase.language_parts.type_facts import NOTHING, TO_THE_END, FileFacts

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DECLARATORS = 20
_DECLARATORS = frozenset(
    {"pointer_declarator", "array_declarator", "init_declarator", "parenthesized_declarator", "attributed_declarator"}
)


def c_facts(root: Node) -> FileFacts:
    """Return the type facts of a C syntax tree."""
    return _CWalker().walk(root)


class _CWalker(FactsWalker):
    def block(self, node: Node, scope: int) -> int:
        inner = self.add_scope("block", "", scope, node) if scope else scope
        return super().block(node, inner)

    def include(self, node: Node, _scope: int) -> int:
        path = text_of(node.child_by_field_name("path")).strip('"<>')
        self.facts.stars.append(self.add_import(path, "*", node))
        return NOTHING

    def macro(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        inner = self.add_scope("function", text_of(name), scope, node, name)
        self.facts.scopes[inner].marks.append("macro")
        self.bind(0, text_of(name), "scope", node, inner)
        return NOTHING

    def constant(self, node: Node, _scope: int) -> int:
        # Another name for something that is not told.
        self.bind(0, text_of(node.child_by_field_name("name")), "unknown", node)
        return NOTHING

    def function(self, node: Node, scope: int) -> int:
        declarator = _function_declarator(node.child_by_field_name("declarator"))
        name = declarator.child_by_field_name("declarator") if declarator is not None else None
        if declarator is None or name is None or name.type != "identifier":
            self.visit(node.child_by_field_name("body"), scope)
            return NOTHING
        inner = self.add_scope("function", text_of(name), scope, node, name)
        made = self.facts.scopes[inner]
        kinds = [text_of(child) for child in node.named_children if child.type == "storage_class_specifier"]
        if "static" in kinds:
            made.marks.append("static")
        self.bind(scope, text_of(name), "scope", node, inner)
        outer, self.until = self.until, TO_THE_END
        parameters = declarator.child_by_field_name("parameters")
        for child in parameters.named_children if parameters is not None else ():
            self._hide(child.child_by_field_name("declarator"), inner, child)
        body = node.child_by_field_name("body")
        if body is not None:
            super().block(body, inner)
        self.until = outer
        return NOTHING

    def declaration(self, node: Node, scope: int) -> int:
        for child in node.children_by_field_name("declarator"):
            if scope:
                self._hide(child, scope, node)
            self.visit(child.child_by_field_name("value"), scope)
        return NOTHING

    def _hide(self, declarator: Node | None, scope: int, node: Node) -> None:
        """Bind a variable, whose name hides a function's; a prototype hides nothing."""
        for _ in range(MAX_DECLARATORS):
            if declarator is None:
                return
            if declarator.type == "identifier":
                self.bind(scope, text_of(declarator), "unknown", node)
                return
            if declarator.type == "function_declarator":
                inner = declarator.child_by_field_name("declarator")
                if inner is not None and inner.type == "identifier":
                    return
                declarator = inner
            elif declarator.type in _DECLARATORS:
                inner = declarator.child_by_field_name("declarator")
                declarator = inner or (declarator.named_children[-1] if declarator.named_children else None)
            else:
                return

    def call_(self, node: Node, scope: int) -> int:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        given = arguments.named_children if arguments is not None else []
        for child in given:
            self.visit(child, scope)
        if function is None:
            return NOTHING
        if function.type == "identifier":
            self.call(function, scope, self.express("name", text_of(function), line_of(function)))
        elif function.type == "field_expression":
            self.visit(function.child_by_field_name("argument"), scope)
            name = function.child_by_field_name("field")
            if name is not None:
                self.call(name, scope, NOTHING)
        else:
            self.visit(function, scope)
        return NOTHING

    handlers: ClassVar[dict[str, Handler]] = {
        "preproc_include": include,
        "preproc_function_def": macro,
        "preproc_def": constant,
        "function_definition": function,
        "declaration": declaration,
        "call_expression": call_,
        **dict.fromkeys(
            ("comment", "struct_specifier", "enum_specifier", "union_specifier", "type_definition"),
            lambda _self, _node, _scope: NOTHING,
        ),
    }
    blocks: ClassVar[frozenset[str]] = frozenset({"compound_statement", "for_statement"})


def _function_declarator(node: Node | None) -> Node | None:
    for _ in range(MAX_DECLARATORS):
        if node is None or node.type == "function_declarator":
            return node
        node = node.child_by_field_name("declarator") or (node.named_children[-1] if node.named_children else None)
    return None
