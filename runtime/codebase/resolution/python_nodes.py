"""Classifies nodes of a Python syntax tree by scope and name binding."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPREHENSIONS = frozenset(
    {"list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"}
)
_FUNCTIONS = frozenset({"function_definition", "lambda"})
SCOPES = _FUNCTIONS | _COMPREHENSIONS | {"class_definition", "module"}
LITERALS = {
    "string": "str",
    "concatenated_string": "str",
    "list": "list",
    "list_comprehension": "list",
    "dictionary": "dict",
    "dictionary_comprehension": "dict",
    "set": "set",
    "set_comprehension": "set",
    "tuple": "tuple",
    "integer": "int",
    "float": "float",
    "none": "None",
}
BINDING_PARENTS = frozenset({"import_statement", "import_from_statement", "aliased_import"})

_PATTERNS = frozenset(
    {"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "dictionary_splat_pattern"}
)
_ASSIGNING = {
    "assignment": "left",
    "augmented_assignment": "left",
    "for_statement": "left",
    "for_in_clause": "left",
    "named_expression": "name",
}
_PARAMETERS = frozenset({"parameters", "lambda_parameters"})
_STATIC_MARK = "@staticmethod"


def text_of(node: Node | None) -> str:
    """Return the source of a node; empty for None."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def scope_of(node: Node) -> Node:
    """Return the innermost scope that a node belongs to: a function, lambda, comprehension, class, or the module.

    The name, decorators, defaults, annotations and bases of a definition belong to the scope around it.
    """
    child, at = node, node.parent
    while at is not None and at.type != "module":
        if at.type in _COMPREHENSIONS:
            return at
        if at.type in _FUNCTIONS or at.type == "class_definition":
            in_body = at.child_by_field_name("body") == child
            named = at.child_by_field_name("parameters") == child and _is_parameter(node)
            if in_body or (at.type in _FUNCTIONS and named):
                return at
        child, at = at, at.parent
    return at if at is not None else child


def binding_of(node: Node) -> Node | None:
    """Return the scope in which an identifier binds its name; None for one that only uses it."""
    parent = node.parent
    if parent is None:
        return None
    if parent.type in ("function_definition", "class_definition") and parent.child_by_field_name("name") == node:
        return scope_of(parent)
    if _is_parameter(node):
        return scope_of(node)
    if parent.type in ("dotted_name", "aliased_import"):
        return _imported(node, parent)
    child, at = node, parent
    while at.type in _PATTERNS and at.parent is not None:
        child, at = at, at.parent
    field = _ASSIGNING.get(at.type)
    if field is not None and at.child_by_field_name(field) == child:
        return _statement_scope(at, is_walrus=at.type == "named_expression")
    if at.type == "as_pattern_target" or (at.type == "case_pattern" and child.type == "dotted_name"):
        return scope_of(at)
    return None


def _statement_scope(node: Node, *, is_walrus: bool) -> Node:
    scope = scope_of(node)
    while is_walrus and scope.type in _COMPREHENSIONS:
        scope = scope_of(scope)
    return scope


def _imported(node: Node, parent: Node) -> Node | None:
    """Return the scope of an import's bound name: `a` of `import a.b`, `b` of `from a import b`, or the `as` name."""
    if parent.type == "aliased_import":
        return scope_of(parent) if parent.child_by_field_name("alias") == node else None
    statement = parent.parent
    if statement is None:
        return None
    if statement.type == "case_pattern":
        return scope_of(statement) if len(parent.named_children) == 1 else None
    if statement.type == "import_statement":
        return scope_of(statement) if parent.named_children[0] == node else None
    if statement.type == "import_from_statement":
        is_module = statement.child_by_field_name("module_name") == parent
        return None if is_module else scope_of(statement)
    return None


def _is_parameter(node: Node) -> bool:
    """Return True for the name of a parameter, not for its default or its annotation."""
    child, at = node, node.parent
    while at is not None and at.type in ("list_splat_pattern", "dictionary_splat_pattern", "tuple_pattern"):
        child, at = at, at.parent
    if at is None:
        return False
    if at.type in ("default_parameter", "typed_default_parameter"):
        return at.child_by_field_name("name") == child
    if at.type == "typed_parameter":
        return at.named_children[0] == child
    return at.type in _PARAMETERS


def is_keyword(node: Node) -> bool:
    """Return True for the name of a keyword argument, which refers to a parameter of the callee."""
    parent = node.parent
    return parent is not None and parent.type == "keyword_argument" and parent.child_by_field_name("name") == node


def self_name(function: Node) -> str:
    """Return the name of a method's first parameter, its object or class. Empty for a static method."""
    outer = function.parent
    # Elsewhere there are marks only where the grammar has lost its way; to look there takes a while in a long class.
    may_be_marked = outer is not None and (outer.type == "decorated_definition" or outer.has_error)
    if outer is not None and may_be_marked and any(_is_static_mark(child) for child in outer.named_children):
        return ""
    parameters = function.child_by_field_name("parameters")
    first = parameters.named_children[0] if parameters is not None and parameters.named_children else None
    if first is not None and first.type == "typed_parameter":
        first = first.named_children[0]
    return text_of(first) if first is not None and first.type == "identifier" else ""


def _is_static_mark(node: Node) -> bool:
    # The length first: the text of a node is a copy, here of whole methods.
    return node.end_byte - node.start_byte == len(_STATIC_MARK) and text_of(node) == _STATIC_MARK


def declared_global(scope: Node, name: str) -> bool:
    """Return True if a function declares `global name`."""
    body = scope.child_by_field_name("body") if scope.type == "function_definition" else None
    if body is None:
        return False
    statements = (child for child in body.named_children if child.type == "global_statement")
    return any(text_of(child) == name for statement in statements for child in statement.named_children)
