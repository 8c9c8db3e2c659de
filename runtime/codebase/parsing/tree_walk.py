"""Walks a syntax tree, and finds the bodies of its definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import tree_sitter

DEFINITION = re.compile(
    r"function|func_|method|constructor|class|struct|impl|trait|interface|object|module|namespace|lambda"
)
BLOCK = re.compile(r"^(?:block|statements|statement_list|compound_statement|body_statement)$")

_STRING = frozenset(
    {"string", "string_literal", "template_string", "concatenated_string", "interpreted_string_literal"}
)
_STATEMENT = frozenset({"expression_statement", "statement"})
_CONTINUED = re.compile(r"\\\r?(?:\n|\Z)")


class Within(NamedTuple):
    """Links a node to those around it: to ask a node for its parent costs as much as the tree is deep."""

    node: tree_sitter.Node
    around: Within | None


def walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    return (each.node for each in walk_within(node))


def walk_within(node: tree_sitter.Node) -> Iterator[Within]:
    waiting = [Within(node, None)]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += [Within(child, each) for child in reversed(each.node.children)]


def body_of(node: tree_sitter.Node) -> tree_sitter.Node | None:
    named = node.child_by_field_name("body")
    return named or next((child for child in node.children if child.type == "function_body"), None)


def is_bare_string(node: tree_sitter.Node) -> bool:
    """Return whether a node is a statement of a text alone, as documentation is."""
    return node.type in _STATEMENT and node.named_child_count == 1 and node.named_children[0].type in _STRING


def text_in(shown: bytes, node: tree_sitter.Node) -> str:
    """Return the text of a node, its lines joined that a backslash continues."""
    return unbroken(shown[node.start_byte : node.end_byte].decode("utf-8", "replace"))


def unbroken(text: str) -> str:
    """Return a text without the backslashes at the ends of its lines, which join them."""
    return _CONTINUED.sub(" ", text) if "\\" in text else text


def takes(definition: tree_sitter.Node, name: str) -> bool:
    """Return whether a name is one of a definition's parameters, its own object aside."""
    taken = definition.child_by_field_name("parameters") or next(
        (child for child in definition.children if child.type.endswith("parameters")), None
    )
    if taken is None and (declared := definition.child_by_field_name("declarator")) is not None:
        taken = declared.child_by_field_name("parameters")
    text = (taken.text or b"").decode("utf-8", "replace") if taken is not None else ""
    return name not in {"self", "this", "cls"} and re.search(rf"(?<![\w.$]){re.escape(name)}(?!\w)", text) is not None
