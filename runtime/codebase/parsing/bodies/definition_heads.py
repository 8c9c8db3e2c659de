"""Tells heads from bodies of definitions: what stands before a body, and what it is the value of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import tree_sitter

from runtime.codebase.language_parts.idle_statements import FAILS_BY_NAME, IdleSyntax
from runtime.codebase.parsing.bodies.whole_heads import head_is_work
from runtime.codebase.parsing.tree_walk import Within, body_of

_AROUND = re.compile(
    r"(?!(?!expression)\w*(?:declarations|_list)$)"
    r"(?:declarat|export|decorated|assignment|var_spec|expression_list|^expression_statement$)"
)


def head_of(each: Within, body: tree_sitter.Node) -> str:
    """Return the text of a definition, and of what it is the value of, up to its body."""
    whole = statement_of(each)
    return (whole.text or b"")[: body.start_byte - whole.start_byte].decode("utf-8", "replace")


def head_text(each: Within) -> str:
    """Return the text of a definition up to its body; all of it where it has none."""
    body = body_of(each.node)
    return head_of(each, body) if body is not None else (each.node.text or b"").decode("utf-8", "replace")


def is_told_to_fail(definition: tree_sitter.Node, head: str, syntax: IdleSyntax) -> bool:
    """Return whether a function says that it fails: by its name, or by a result that never comes."""
    if re.search(syntax.never_returns, head):
        return True
    return FAILS_BY_NAME.fullmatch(name_in(definition, head)) is not None


def name_in(definition: tree_sitter.Node, head: str) -> str:
    """Return the name of a function, or of what it is the value of; empty where there is none."""
    called = re.search(r"(\w+)\s*(?:\(|=|$)", head)
    named = definition.child_by_field_name("name")
    return (named.text or b"").decode("utf-8", "replace") if named is not None else called.group(1) if called else ""


def statement_of(each: Within) -> tree_sitter.Node:
    """Return the declaration, export or decorated definition that a definition is the value of."""
    node, around = each
    while around is not None and _AROUND.search(around.node.type) and around.node.end_byte - node.end_byte <= 1:
        node, around = around
    return node


def body_of_head(definitions: Iterable[Within], first: int, last: int) -> tree_sitter.Node | None:
    """Return the body of the definition whose head is all that the rows hold; None where they hold more or none.

    None also where the head does all there is to do.
    """
    found: tree_sitter.Node | None = None
    for each in definitions:
        node = each.node
        if not first <= node.start_point.row <= last:
            continue
        body = body_of(node)
        if body is not None and body.end_point.row > last and _is_outside(body, last):
            found = None if head_is_work(each.node, body, head_of(each, body)) else body
    return found


def decorated_body(decorated: Iterable[tree_sitter.Node], first: int, last: int) -> tree_sitter.Node | None:
    """Return the body of the definition of whose decorators the rows are; None where they hold anything else."""
    for node in decorated:
        definition = node.child_by_field_name("definition")
        if definition is not None and node.start_point.row <= first and last < definition.start_point.row:
            return body_of(definition)
    return None


def _is_outside(body: tree_sitter.Node, last: int) -> bool:
    """Return whether a body's own statements all lie behind a row; its opening brace may stand before."""
    statements: Sequence[tree_sitter.Node] = body.named_children
    return all(child.start_point.row > last for child in statements)
