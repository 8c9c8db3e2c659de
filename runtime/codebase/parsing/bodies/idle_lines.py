"""Finds statements without an effect in functions that do something.

They compute values that are lost, or variables that nobody reads.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.parsing.bodies.pure_expressions import only_computes
from runtime.codebase.parsing.tree_walk import Within, body_of, takes, text_in

_STATEMENTS = frozenset({"expression_statement", "assignment_statement", "let_declaration"})
# Blocks whose statements are expressions without a mark around them.
_BARE_BLOCKS = frozenset({"body_statement", "statements"})
# Types whose objects do nothing by being made, in languages where others may.
_PLAIN_TYPES = frozenset({"primitive_type", "sized_type_specifier"})
_FUNCTION = re.compile(r"function|func_|method|constructor|lambda|accessor|closure")
_SAME = re.compile(r"(?P<self>[$@]*\w+)\s*=\s*(?P=self)")
_LOST = re.compile(r"\(void\)\s*\w+|void\s+\w+|(?:let\s+|var\s+)?_(?:\s*,\s*_)*\s*:?=\s*&?\w+")
_DROPS = re.compile(r"_(?:\s*,\s*_)*\s*=(?!=)")
# What stands alone may be asked for by reading it: a property, an element, a macro.
_ASKS = kinds.MEMBERS | frozenset(
    {
        *("subscript", "subscript_expression", "index_expression", "element_access_expression", "array_access"),
        *("field_access", "field_expression", "selector_expression", "element_reference"),
    }
)
_NAMES = ("name", "declarator", "pattern")
_DECLARATORS = frozenset({"variable_declarator", "init_declarator"})


def idle_lines(nodes: Iterable[Within], shown: bytes, syntax: IdleSyntax) -> Iterator[tuple[int, int]]:
    """Yield the bytes of statements of functions that compute at most, for nothing that is read.

    What stands within a `try` is left alone, since that it fails may be all that is asked there, and so is the last
    statement of a block that may be what it gives.
    """
    for each in nodes:
        node = each.node
        function = _function_around(each) if node.is_named and not node.has_error and _is_statement(each) else None
        if function is None or not text_in(shown, node).strip():
            continue
        if _does_nothing(node, function, shown, syntax) or _is_unread(node, function, shown, syntax):
            yield node.start_byte, node.end_byte


def _is_statement(each: Within) -> bool:
    node, around = each
    if node.type in _STATEMENTS | kinds.LOCALS:
        return around is not None and around.node.type not in {"for_statement", "for_clause", "if_statement"}
    if around is None or around.node.type not in _BARE_BLOCKS:
        return False
    return node != around.node.named_children[-1]


def _function_around(each: Within) -> tree_sitter.Node | None:
    """Return the function that a statement stands in; None outside of all, and within a `try`."""
    around = each.around
    while around is not None and not _FUNCTION.search(around.node.type):
        if around.node.type in kinds.TRIES | kinds.HANDLERS | {"begin"}:
            return None
        around = around.around
    return None if around is None or body_of(around.node) is None else around.node


def _does_nothing(node: tree_sitter.Node, function: tree_sitter.Node, shown: bytes, syntax: IdleSyntax) -> bool:
    said = _said(node, shown)
    if _SAME.fullmatch(said) or _LOST.fullmatch(said):
        return True
    value = node.named_children[0] if node.type == "expression_statement" and node.named_child_count == 1 else node
    if node.type == "assignment_statement" and _DROPS.match(said):
        right = node.child_by_field_name("right")
        return right is not None and _computes(right, function, shown, syntax)
    if node.type in kinds.LOCALS | {"assignment_statement"} or value.type in _ASKS | kinds.UPDATES | kinds.ASSIGNMENTS:
        return False
    if node.type == "expression_statement" and syntax.value_bodies and not text_in(shown, node).rstrip().endswith(";"):
        return False
    if re.fullmatch(r"[\w$]+", said) and not takes(function, said):
        return False
    return _computes(value, function, shown, syntax)


def _is_unread(node: tree_sitter.Node, function: tree_sitter.Node, shown: bytes, syntax: IdleSyntax) -> bool:
    """Return whether a statement gives variables computed values, and their function never names them again."""
    if node.type not in kinds.LOCALS or syntax.assigns_locals:
        return False
    kind = node.child_by_field_name("type")
    if node.type == "declaration" and (kind is None or kind.type not in _PLAIN_TYPES):
        return False
    is_let = node.type == "let_declaration"
    parts = [node] if is_let else [each for each in node.named_children if each.type in _DECLARATORS]
    values = [part.child_by_field_name("value") for part in parts]
    names = [_name_of(part) for part in parts]
    # Heads of functions that are values, with the names that they get, are not shown.
    whole = _text(function)
    return bool(parts) and all(
        value is not None
        and name is not None
        and _computes(value, function, shown, syntax)
        and len(re.findall(rf"(?<!\w){re.escape(_text(name))}(?!\w)", whole)) == 1
        for name, value in zip(names, values, strict=True)
    )


def _name_of(part: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the one name that a declaration makes; None where it makes several, or none that is plain."""
    found = next((name for field in _NAMES if (name := part.child_by_field_name(field)) is not None), None)
    return found if found is not None and found.type == "identifier" else None


def _computes(value: tree_sitter.Node, function: tree_sitter.Node, shown: bytes, syntax: IdleSyntax) -> bool:
    return only_computes(
        value, syntax, functools.partial(_said, shown=shown), functools.partial(takes, function), results_count=False
    )


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _said(node: tree_sitter.Node, shown: bytes) -> str:
    return text_in(shown, node).strip().rstrip(";").strip()
