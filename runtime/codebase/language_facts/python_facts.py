"""Extracts the type facts of Python files.

It is longer than other modules: one method for each form of the language, which call each other.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from runtime.codebase.language_parts.facts_walker import FactsWalker, Handler, line_of, text_of
from runtime.codebase.language_parts.type_facts import NOTHING, TO_THE_END, FileFacts

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_QUOTED_TYPE_CHARS = 200

_LITERALS = {
    "string": "str",
    "concatenated_string": "str",
    "integer": "int",
    "float": "float",
    "none": "None",
    "true": "bool",
    "false": "bool",
    "dictionary": "dict",
    "set": "set",
    "list": "list",
    "tuple": "tuple",
}
# Decorators that leave a function what it is, or whose effect is known; any other makes its result unknown.
_KEEPING = frozenset(
    {
        *("staticmethod", "classmethod", "abstractmethod", "overload", "override", "final", "wraps", "lru_cache"),
        *("cache", "contextmanager", "asynccontextmanager", "deprecated", "no_type_check", "typing_extensions"),
    }
)
_PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "setter", "getter", "deleter"})
_PATTERNS = frozenset({"pattern_list", "tuple_pattern", "list_pattern", "parenthesized_expression", "tuple", "list"})
_CLASS_METHODS = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})


def python_facts(root: Node) -> FileFacts:
    """Return the type facts of a Python syntax tree."""
    return _PythonWalker().walk(root)


class _PythonWalker(FactsWalker):
    def __init__(self) -> None:
        super().__init__()
        self._elsewhere: dict[tuple[int, str], int] = {}

    def _bind_name(self, target: Node, scope: int, statement: Node, ref: int, *, declared: bool = False) -> None:
        """Bind the target of an assignment: a name, an attribute of the object, or names in a pattern."""
        kind = target.type
        if kind == "identifier":
            name = text_of(target)
            holder = self._elsewhere.get((scope, name), scope)
            self.bind(holder, name, "type" if declared else "value", statement, ref)
        elif kind == "attribute":
            self._bind_attribute(target, scope, statement, ref, declared)
        elif kind in _PATTERNS:
            for place, child in enumerate(target.named_children):
                self._bind_name(child, scope, statement, self.wrapped("item", ref, place))
        elif kind in ("list_splat_pattern", "dictionary_splat_pattern", "list_splat"):
            for child in target.named_children:
                self._bind_name(child, scope, statement, NOTHING)
        else:
            self.visit(target, scope)

    def _bind_attribute(self, target: Node, scope: int, statement: Node, ref: int, declared: bool) -> None:
        owner, name = target.child_by_field_name("object"), text_of(target.child_by_field_name("attribute"))
        self.visit(owner, scope)
        if owner is None or owner.type != "identifier":
            return
        function = self.scope_above(scope, "function")
        while function > 0:
            held = self.facts.scopes[function].bindings.get(text_of(owner))
            if held is not None:
                if held[0].kind in ("self", "class"):
                    holder = self.facts.scopes[function].parent
                    self.bind(holder, name, "type" if declared else "value", statement, ref, field=True)
                return
            function = self.scope_above(self.facts.scopes[function].parent, "function")

    def assignment(self, node: Node, scope: int) -> int:
        right = node.child_by_field_name("right")
        value = self.visit(right, scope)
        left, declared = node.child_by_field_name("left"), node.child_by_field_name("type")
        if left is None:
            return NOTHING
        if declared is not None:
            kind = self._type(declared, scope)
            is_alias = text_of(declared).endswith("TypeAlias")
            self._bind_name(left, scope, node, value if is_alias else kind, declared=not is_alias)
        else:
            self._bind_name(left, scope, node, value)
        return value

    def augmented(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("right"), scope)
        left = node.child_by_field_name("left")
        if left is not None and left.type != "identifier":
            self.visit(left, scope)
        return NOTHING

    def named_expression(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("value"), scope)
        name = node.child_by_field_name("name")
        if name is not None:
            holder = scope
            while self.facts.scopes[holder].kind == "block":
                holder = self.facts.scopes[holder].parent
            self._bind_name(name, holder, node, value)
        return value

    def global_statement(self, node: Node, scope: int) -> int:
        for child in node.named_children:
            name = text_of(child)
            holder = 0
            if node.type == "nonlocal_statement":
                holder = self.facts.scopes[scope].parent
                while holder > 0 and name not in self.facts.scopes[holder].bindings:
                    holder = self.facts.scopes[holder].parent
            self._elsewhere[scope, name] = max(holder, 0)
        return NOTHING

    def for_statement(self, node: Node, scope: int) -> int:
        value = self.wrapped("element", self.visit(node.child_by_field_name("right"), scope))
        left, body = node.child_by_field_name("left"), node.child_by_field_name("body")
        if left is not None:
            is_async = any(child.type == "async" for child in node.children)
            outer, self.until = self.until, node.end_point[0] + 1
            self._bind_name(left, scope, left, NOTHING if is_async else value)
            self.until = outer
        self.visit(body, scope)
        self.visit(node.child_by_field_name("alternative"), scope)
        return NOTHING

    def comprehension(self, node: Node, scope: int) -> int:
        inner = self.add_scope("block", "", scope, node)
        self.facts.scopes[inner].line = 0
        body = None
        for child in node.named_children:
            if child.type == "for_in_clause":
                value = self.wrapped("element", self.visit(child.child_by_field_name("right"), inner))
                left = child.child_by_field_name("left")
                if left is not None:
                    self._bind_name(left, inner, left, value)
            elif body is None:
                body = child
            else:
                self.visit(child, inner)
        element = self.visit(body, inner)
        if node.type == "dictionary_comprehension" or element == NOTHING:
            return self.express("literal", "dict" if node.type == "dictionary_comprehension" else "list")
        return self.express("apply", self.express("literal", "list"), element)

    def lambda_(self, node: Node, scope: int) -> int:
        inner = self.add_scope("function", "<lambda>", scope, node)
        self._parameters(node.child_by_field_name("parameters"), inner, scope, "")
        result = self.visit(node.child_by_field_name("body"), inner)
        self.facts.scopes[inner].results.append((inner, result))
        return self.express("scope", inner)

    def with_item(self, node: Node, scope: int) -> int:
        value = node.child_by_field_name("value")
        if value is not None and value.type == "as_pattern":
            made = self.wrapped("enter", self.visit(value.named_children[0], scope))
            target = value.child_by_field_name("alias")
            if target is not None and target.named_children:
                self._bind_name(target.named_children[0], scope, node, made)
            return NOTHING
        return self.visit(value, scope)

    def except_clause(self, node: Node, scope: int) -> int:
        outer, self.until = self.until, node.end_point[0] + 1
        for child in node.named_children:
            if child.type == "as_pattern" and child.named_children:
                kind = self._type(child.named_children[0], scope)
                target = child.child_by_field_name("alias")
                if target is not None:
                    self.bind(scope, text_of(target), "type", child, kind)
            else:
                self.visit(child, scope)
        self.until = outer
        return NOTHING

    def case_clause(self, node: Node, scope: int) -> int:
        waiting = [child for child in node.named_children if child.type == "case_pattern"]
        while waiting:
            pattern = waiting.pop()
            if (pattern.type == "dotted_name" and len(pattern.named_children) == 1) or pattern.type == "identifier":
                self.bind(scope, text_of(pattern), "unknown", pattern)
            waiting.extend(
                child
                for child in pattern.named_children
                if pattern.type != "dotted_name"
                and not (pattern.type == "class_pattern" and child.type == "dotted_name")
            )
        for child in node.named_children:
            if child.type != "case_pattern":
                self.visit(child, scope)
        return NOTHING

    # Definitions

    def decorated(self, node: Node, scope: int) -> int:
        names: list[str] = []
        for child in node.named_children:
            if child.type == "decorator":
                inner = child.named_children[0] if child.named_children else None
                value = self.visit(inner, scope)
                name = inner.child_by_field_name("attribute") if inner is not None else None
                called = inner if inner is not None and inner.type == "identifier" else name
                if called is not None:
                    self.call(called, scope, value, 1)
                if inner is not None and inner.type == "call":
                    inner = inner.child_by_field_name("function")
                names.append(text_of(inner).rpartition(".")[2])
        definition = node.child_by_field_name("definition")
        if definition is None:
            return NOTHING
        if definition.type == "class_definition":
            return self.class_(definition, scope)
        return self._function(definition, scope, names)

    def function(self, node: Node, scope: int) -> int:
        return self._function(node, scope, [])

    def _function(self, node: Node, scope: int, decorators: list[str]) -> int:
        name_node = node.child_by_field_name("name")
        name = text_of(name_node)
        inner = self.add_scope("function", name, scope, node, name_node)
        made = self.facts.scopes[inner]
        if any(child.type == "async" for child in node.children):
            made.marks.append("async")
        made.marks += [mark for mark in ("overload", "contextmanager", "asynccontextmanager") if mark in decorators]
        if _PROPERTIES & {*decorators}:
            made.marks.append("property")
        if not {*decorators} <= _KEEPING | _PROPERTIES:
            made.marks.append("changed")
        holder = self.facts.scopes[scope]
        first = ""
        if holder.kind == "class":
            is_class = "classmethod" in decorators or name in _CLASS_METHODS
            first = "class" if is_class else "" if "staticmethod" in decorators else "self"
            made.marks += [{"class": "class", "self": "self", "": "static"}[first]]
        self.bind(self._elsewhere.get((scope, name), scope), name, "scope", node, inner)
        outer, self.until = self.until, TO_THE_END
        self._parameters(node.child_by_field_name("parameters"), inner, scope, first)
        made.returns = self._type(node.child_by_field_name("return_type"), scope)
        self.visit(node.child_by_field_name("body"), inner)
        self.until = outer
        return NOTHING

    def _parameters(self, node: Node | None, scope: int, outside: int, first: str) -> None:
        for child in node.named_children if node is not None else ():
            kind = child.type
            declared = child.child_by_field_name("type")
            target = child.child_by_field_name("name")
            default = child.child_by_field_name("value")
            if default is not None:
                self.visit(default, outside)
            if kind == "identifier":
                target = child
            elif kind == "typed_parameter":
                target = child.named_children[0]
            if target is None or target.type != "identifier":
                splat = target if target is not None else child
                for name in splat.named_children if kind != "comment" else ():
                    if name.type == "identifier":
                        self.bind(scope, text_of(name), "unknown", child)
                first = "" if kind not in ("comment", "positional_separator") else first
                continue
            if first:
                self.bind(scope, text_of(target), "self" if first == "self" else "class", child)
                first = ""
                continue
            self.bind(scope, text_of(target), "type", child, self._type(declared, outside))

    def class_(self, node: Node, scope: int) -> int:
        name_node = node.child_by_field_name("name")
        inner = self.add_scope("class", text_of(name_node), scope, node, name_node)
        self.bind(scope, text_of(name_node), "scope", node, inner)
        bases = node.child_by_field_name("superclasses")
        for base in bases.named_children if bases is not None else ():
            if base.type == "keyword_argument":
                self.visit(base, scope)
            elif base.type != "comment":
                self.facts.scopes[inner].bases.append(self.visit(base, scope))
        outer, self.until = self.until, TO_THE_END
        self.visit(node.child_by_field_name("body"), inner)
        self.until = outer
        return NOTHING

    def return_(self, node: Node, scope: int) -> int:
        value = self.visit(node.named_children[0], scope) if node.named_children else NOTHING
        if node.named_children:
            function = self.scope_above(scope, "function")
            if function:
                self.facts.scopes[function].results.append((scope, value))
        return NOTHING

    def yield_(self, node: Node, scope: int) -> int:
        function = self.scope_above(scope, "function")
        marks = self.facts.scopes[function].marks
        value = self.visit(node.named_children[-1], scope) if node.named_children else NOTHING
        if "generator" not in marks:
            marks.append("generator")
        self.facts.scopes[function].results.append((scope, value))
        return NOTHING

    # Imports

    def import_(self, node: Node, scope: int) -> int:
        for child in node.named_children:
            if child.type == "aliased_import":
                module = text_of(child.child_by_field_name("name"))
                self.bind_import(scope, text_of(child.child_by_field_name("alias")), module, "", node)
            elif child.type == "dotted_name":
                top = text_of(child.named_children[0])
                self.bind_import(scope, top, top, "", node)
        return NOTHING

    def import_from(self, node: Node, scope: int) -> int:
        module_node = node.child_by_field_name("module_name")
        module = text_of(module_node)
        for child in node.named_children:
            if child == module_node:
                continue
            if child.type == "wildcard_import":
                self.facts.stars.append(self.add_import(module, "*", node))
            elif child.type == "aliased_import":
                name = text_of(child.child_by_field_name("name"))
                self.bind_import(scope, text_of(child.child_by_field_name("alias")), module, name, node)
            elif child.type == "dotted_name":
                self.bind_import(scope, text_of(child), module, text_of(child), node)
        return NOTHING

    # Expressions

    def identifier(self, node: Node, _scope: int) -> int:
        return self.name(node)

    def attribute_(self, node: Node, scope: int) -> int:
        owner = self.visit(node.child_by_field_name("object"), scope)
        return self.attribute(owner, text_of(node.child_by_field_name("attribute")))

    def call_(self, node: Node, scope: int) -> int:
        function = node.child_by_field_name("function")
        callee = self.visit(function, scope)
        arguments = node.child_by_field_name("arguments")
        given = [self.visit(child, scope) for child in arguments.named_children] if arguments is not None else []
        if function is None:
            return NOTHING
        if function.type == "identifier":
            name = text_of(function)
            if name == "super":
                return self.express("super", line_of(node)) if not given else NOTHING
            if name in ("cast", "isinstance") and len(given) == 2 and arguments is not None:
                self.call(function, scope, callee, 2)
                kind = self._type(arguments.named_children[0], scope)
                return self.wrapped("typed", kind) if name == "cast" else NOTHING
            return self.call(function, scope, callee, len(given))
        if function.type == "attribute":
            name_node = function.child_by_field_name("attribute")
            if name_node is not None:
                return self.call(name_node, scope, callee, len(given))
        return self.wrapped("call", callee, line_of(node), len(given))

    def keyword_argument(self, node: Node, scope: int) -> int:
        return self.visit(node.child_by_field_name("value"), scope)

    def subscript(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("value"), scope)
        given = [self.visit(child, scope) for child in node.children_by_field_name("subscript")]
        indexed = self.wrapped("index", value)
        # `Box[int]` may be a type as well as an element: which one is told by the value.
        return indexed if NOTHING in given or value == NOTHING else self.express("apply", value, *given)

    def await_(self, node: Node, scope: int) -> int:
        return self.wrapped("await", self.visit(node.named_children[0], scope)) if node.named_children else NOTHING

    def inner(self, node: Node, scope: int) -> int:
        found = [child for child in node.named_children if child.type != "comment"]
        values = [self.visit(child, scope) for child in found]
        return values[0] if len(values) == 1 else NOTHING

    def conditional(self, node: Node, scope: int) -> int:
        values = [self.visit(child, scope) for child in node.named_children]
        return self.union((values[0], values[2])) if len(values) == 3 else NOTHING

    def boolean(self, node: Node, scope: int) -> int:
        values = [self.visit(child, scope) for child in node.named_children]
        operator = node.child_by_field_name("operator")
        if operator is not None and operator.type == "and":
            return NOTHING
        return self.union(values) if len(values) == 2 else NOTHING

    def literal(self, node: Node, scope: int) -> int:
        kind = _LITERALS[node.type]
        given = [self.visit(child, scope) for child in node.named_children]
        made = self.express("literal", kind)
        if kind in ("list", "set", "tuple") and given and NOTHING not in given and len(given) <= 20:
            return self.express("apply", made, *given) if kind == "tuple" else self.wrapped_list(made, given)
        return made

    def wrapped_list(self, made: int, given: list[int]) -> int:
        element = self.union(given)
        return made if element == NOTHING else self.express("apply", made, element)

    # Types

    def _type(self, node: Node | None, scope: int) -> int:
        """Return the expression of an annotation."""
        while node is not None and node.type == "type" and node.named_children:
            node = node.named_children[0]
        if node is None:
            return NOTHING
        if node.type == "string":
            return self._quoted(text_of(node), line_of(node))
        if node.type == "generic_type":
            base = self._type(node.named_children[0], scope)
            rest = node.named_children[1].named_children if len(node.named_children) > 1 else []
            return self._applied(base, [self._type(child, scope) for child in rest])
        if node.type == "subscript":
            base = self._type(node.child_by_field_name("value"), scope)
            given = [self._type(child, scope) for child in node.children_by_field_name("subscript")]
            return self._applied(base, given)
        if node.type == "binary_operator":
            return self.union([self._type(child, scope) for child in node.named_children])
        if node.type == "union_type":
            return self.union([self._type(child, scope) for child in node.named_children])
        if node.type in ("identifier", "attribute", "none"):
            return self.visit(node, scope)
        return NOTHING

    def _applied(self, base: int, given: list[int]) -> int:
        if base == NOTHING:
            return NOTHING
        form = self.facts.expressions[base]
        last = str(form[1]) if form[0] == "name" else str(form[2]) if form[0] == "attribute" else ""
        if last == "Optional":
            return given[0] if given else NOTHING
        if last == "Union":
            return self.union(given)
        if last in ("Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly"):
            return given[0] if given else NOTHING
        unknown = self.express("literal", "?")
        return self.express("apply", base, *(unknown if one == NOTHING else one for one in given))

    def _quoted(self, text: str, line: int) -> int:
        inside = text.strip("rRuUbBfF").strip("'\"")
        if len(inside) > MAX_QUOTED_TYPE_CHARS:
            return NOTHING
        try:
            parsed = ast.parse(inside, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return NOTHING
        return self._parsed(parsed, line, 0)

    def _parsed(self, node: ast.expr, line: int, depth: int) -> int:
        if depth > 20:
            return NOTHING
        if isinstance(node, ast.Name):
            return self.express("name", node.id, line)
        if isinstance(node, ast.Attribute):
            return self.attribute(self._parsed(node.value, line, depth + 1), node.attr)
        if isinstance(node, ast.Constant):
            return self.express("literal", "None") if node.value is None else NOTHING
        if isinstance(node, ast.BinOp):
            return self.union([self._parsed(one, line, depth + 1) for one in (node.left, node.right)])
        if isinstance(node, ast.Subscript):
            given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            base = self._parsed(node.value, line, depth + 1)
            return self._applied(base, [self._parsed(one, line, depth + 1) for one in given])
        return NOTHING

    handlers: ClassVar[dict[str, Handler]] = {
        "assignment": assignment,
        "augmented_assignment": augmented,
        "named_expression": named_expression,
        "global_statement": global_statement,
        "nonlocal_statement": global_statement,
        "for_statement": for_statement,
        "list_comprehension": comprehension,
        "set_comprehension": comprehension,
        "generator_expression": comprehension,
        "dictionary_comprehension": comprehension,
        "lambda": lambda_,
        "with_item": with_item,
        "except_clause": except_clause,
        "case_clause": case_clause,
        "decorated_definition": decorated,
        "function_definition": function,
        "class_definition": class_,
        "return_statement": return_,
        "yield": yield_,
        "import_statement": import_,
        "import_from_statement": import_from,
        "future_import_statement": lambda _self, _node, _scope: NOTHING,
        "identifier": identifier,
        "attribute": attribute_,
        "call": call_,
        "keyword_argument": keyword_argument,
        "subscript": subscript,
        "await": await_,
        "parenthesized_expression": inner,
        "conditional_expression": conditional,
        "boolean_operator": boolean,
        "comment": lambda _self, _node, _scope: NOTHING,
        **dict.fromkeys(_LITERALS, literal),
    }
    blocks: ClassVar[frozenset[str]] = frozenset({"block"})
