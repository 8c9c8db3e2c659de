"""Finds code that control never reaches: behind what always leaves its block, or never compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter

from runtime.codebase.parsing.bodies.fixed_conditions import holds

_BLOCK = re.compile(r"(?:statement_)?block|statements|statement_list|compound_statement|body_statement")
_LEAVES = re.compile(r"(?:return|raise|throw|break|continue)(?:_statement|_expression)?|jump_expression")
_BRANCH = re.compile(r"if(?:_statement|_expression)?")
_STATEMENT = frozenset({"expression_statement", "statement"})
# Definitions hold wherever they stand.
_DEFINITION = re.compile(
    r"function|method|constructor|class|struct|impl|trait|interface|object|module|namespace|lambda"
)
# Control may come here from elsewhere.
_TARGET = re.compile(r"label|case|preproc")


def unreached(root: tree_sitter.Node) -> Iterator[tuple[int, int]]:
    """Yield the bytes of statements that stand in a block after one that always leaves it, definitions aside.

    What stands below `#if 0` is among them.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if _BLOCK.fullmatch(node.type):
            yield from _after_leaving(node)
        elif node.type == "preproc_if" and holds(_condition(node)) is False:
            yield _before_alternative(node)


def _after_leaving(block: tree_sitter.Node) -> Iterator[tuple[int, int]]:
    has_left = is_attributed = False
    for child in block.named_children:
        if _TARGET.search(child.type):
            return
        if has_left and not _DEFINITION.search(child.type):
            yield child.start_byte, child.end_byte
        # One under an attribute may be compiled for some systems alone.
        has_left = has_left or (_leaves(child) and not is_attributed)
        is_attributed = "attribute" in child.type


def _condition(node: tree_sitter.Node) -> str:
    condition = node.child_by_field_name("condition")
    return (condition.text or b"").decode("utf-8", "replace") if condition is not None else ""


def _before_alternative(node: tree_sitter.Node) -> tuple[int, int]:
    """Return the bytes of a part that no compiler is given: up to the alternative, or to the end without one."""
    alternative = node.child_by_field_name("alternative")
    return node.start_byte, node.end_byte if alternative is None else alternative.start_byte


def _leaves(node: tree_sitter.Node) -> bool:
    if node.type in _STATEMENT and node.named_child_count == 1:
        node = node.named_children[0]
    if _BRANCH.fullmatch(node.type) and holds(_condition(node)):
        then = node.child_by_field_name("consequence")
        if then is not None and then.named_child_count == 1 and _BLOCK.fullmatch(then.named_children[0].type):
            then = then.named_children[0]
        return then is not None and (_leaves(then) or any(_leaves(each) for each in then.named_children))
    return _LEAVES.fullmatch(node.type) is not None
