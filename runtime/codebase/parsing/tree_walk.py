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


def text_in(shown: bytes, node: tree_sitter.Node) -> str:
    return shown[node.start_byte : node.end_byte].decode("utf-8", "replace")
