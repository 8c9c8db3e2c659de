"""Detects syntax trees that are too broken to query.

tree-sitter puts what it cannot parse flat below one node, and a query takes time quadratic in the children of such a
node: 300,000 opening brackets parse in a fifth of a second and are queried for minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_FLAT_CHILDREN = 20_000


class BrokenTreeError(ValueError):
    """Reports a tree with more syntax errors than can be queried in reasonable time."""


def require_queryable(root: Node) -> None:
    """Raise BrokenTreeError if the nodes with errors have too many children, their squares added up."""
    left = MAX_FLAT_CHILDREN**2
    pending = [root] if root.has_error else []
    while pending:
        node = pending.pop()
        left -= node.child_count**2
        if left < 0:
            raise BrokenTreeError("too many syntax errors to read it as code")
        pending.extend(child for child in node.children if child.has_error)
