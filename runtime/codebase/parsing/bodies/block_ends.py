"""Tells where control leaves a block, and which parts of a statement are run otherwise."""

from __future__ import annotations

import re

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds

_ALTERNATIVE = re.compile(r"(?:else|elif|elsif)(?:_|$)")


def leaves(node: tree_sitter.Node) -> bool:
    """Return whether nothing behind a statement is reached."""
    if node.type in kinds.SEQUENCES and node.named_child_count == 1:
        return leaves(node.named_children[0])
    return node.type in kinds.RETURNS | kinds.EXITS or node.type.startswith(("throw", "raise"))


def always_leaves(body: tree_sitter.Node) -> bool:
    """Return whether a block has a statement behind which nothing is reached."""
    return any(leaves(each) for each in body.named_children)


def is_alternative(node: tree_sitter.Node, child: tree_sitter.Node) -> bool:
    """Return whether a part of a branch or loop is what runs otherwise."""
    at = next(n for n, each in enumerate(node.named_children) if each == child)
    return node.field_name_for_named_child(at) == "alternative" or _ALTERNATIVE.match(child.type) is not None
