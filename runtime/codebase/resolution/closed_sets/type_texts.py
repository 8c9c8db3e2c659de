"""Reads the literal texts of a type, and the type around a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from runtime.codebase.parsing.tree_walk import Within
from runtime.codebase.resolution.closed_sets.written_values import COMMENTS, MAX_CHILDREN, is_text, raw
from runtime.codebase.resolution.default_values.word_sets import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES = words(
    """
    class_definition class_declaration class interface_declaration struct_item impl_item trait_item object_declaration
    module struct_declaration class_specifier struct_specifier trait_declaration record_declaration
    type_alias_declaration
    """
)


def owner_of(within: Within | None) -> str:
    """Return the name of the innermost type around a node."""
    while within is not None:
        if within.node.type in _TYPES:
            return raw(within.node.child_by_field_name("name") or within.node.child_by_field_name("type"))[:80]
        within = within.around
    return ""


def texts_of_union(union: Node) -> tuple[list[Node], bool]:
    """Return the literals of a union of TypeScript in order, and whether it has other parts."""
    found: list[Node] = []
    waiting, is_open = [union], False
    while waiting and len(found) < MAX_CHILDREN:
        one = waiting.pop()
        if one.type == "union_type":
            waiting += reversed(one.named_children)
        elif one.type == "literal_type" and one.named_child_count:
            inner = one.named_children[0]
            found += [inner] if is_text(inner) else []
            is_open = is_open or inner.type not in {"string", "null", "undefined"}
        elif one.type not in COMMENTS:
            is_open = True
    return found, is_open


def texts_of_literal(declared: Node) -> Iterator[Node]:
    """Yield the texts in a type of Python, in order."""
    waiting, steps = [declared], 0
    while waiting and steps < MAX_CHILDREN:
        one, steps = waiting.pop(), steps + 1
        if is_text(one):
            yield one
        else:
            waiting += reversed(one.named_children)
