"""Finds the fields and parameters whose type lists the texts that they may be.

They are `mode: "fast" | "slow"` of TypeScript and `mode: Literal["fast", "slow"]` of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runtime.codebase.parsing.tree_walk import Within
from runtime.codebase.resolution.closed_sets.member_lines import MemberLines
from runtime.codebase.resolution.closed_sets.records import ClosedSet
from runtime.codebase.resolution.closed_sets.type_texts import owner_of, texts_of_literal, texts_of_union
from runtime.codebase.resolution.closed_sets.written_values import raw, text_value
from runtime.codebase.resolution.default_values.word_sets import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPED = words(
    """
    property_signature public_field_definition required_parameter optional_parameter typed_parameter
    typed_default_parameter assignment
    """
)
# The type of a name is all of it, but for `None` and what wraps it.
_LITERAL = re.compile(r"(?:(?:typing|t|te)\.|(?:Optional|Final|ClassVar)\[){0,3}Literal\[")


class TypedNames:
    """Finds those of one file."""

    def __init__(self, file: str, lines: MemberLines) -> None:
        self._file = file
        self._lines = lines

    def of(self, within: Within) -> Iterator[ClosedSet]:
        """Yield the set that the type of a name is."""
        node = within.node
        declared = node.child_by_field_name("type") if node.type in _TYPED else None
        named = _name_of(node) if declared is not None else None
        if declared is None or named is None:
            return
        texts, is_open = _texts(declared)
        members = [self._lines.member(name, text) for text in texts if (name := text_value(text))]
        if len(members) < 2:
            return
        start, end, line = node.start_point[0] + 1, node.end_point[0] + 1, named.start_point[0] + 1
        owner, said = owner_of(within.around), self._lines.above(start)
        name = raw(named)[:80]
        yield ClosedSet(name, "typed", self._file, line, start, end, tuple(members), len(members), is_open, owner, said)


def _name_of(node: Node) -> Node | None:
    """Return the name that is typed; None for a pattern."""
    named = next(
        (found for f in ("name", "pattern", "left") if (found := node.child_by_field_name(f)) is not None), None
    )
    if named is None and node.type == "typed_parameter" and node.named_child_count:
        named = node.named_children[0]
    return named if named is not None and named.type.endswith("identifier") else None


def _texts(declared: Node) -> tuple[list[Node], bool]:
    inner = declared.named_children[0] if declared.named_child_count == 1 else declared
    if inner.type == "union_type" and declared.type == "type_annotation":
        return texts_of_union(inner)
    return (list(texts_of_literal(declared)), False) if _LITERAL.match(raw(declared)[:80]) else ([], False)
