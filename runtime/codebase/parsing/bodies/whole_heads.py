"""Knows definitions whose heads do all there is to do, and types that hold nothing of their own."""

from __future__ import annotations

import re
from typing import NamedTuple

import tree_sitter

from runtime.codebase.parsing.tree_walk import body_of

# A class for errors is whole with no more than a head; so are constructors whose head sets what they take.
_ERROR_CLASS = re.compile(
    r"(?:class|struct|object|impl|interface)\b.*\b\w*(?:[Ee]rror|[Ee]xception|Warning|Interrupt|SystemExit|StopIteration"
    r"|StopAsyncIteration|Throwable)\b",
    re.DOTALL,
)
_SETTING_HEADS = frozenset({"field_initializer_list", "accessibility_modifier", "property_promotion_parameter"})
_TYPE = re.compile(r"class|struct|interface|object|impl|trait")
# What names the types that another one is made of.
_BASES = re.compile(
    r"superclass|superclasses|class_heritage|extends\w*|implements\w*|super_interfaces|base_class_clause|base_list"
    r"|base_clause|class_interface_clause|trait_bounds|delegation_specifiers"
)
# A decorator that is given something, above a class that holds nothing; one of Python makes none of it by itself.
_DECORATED = re.compile(r"\s*(?:@[\w.]+\s*(?:\([^()]*\)\s*)?)*@[\w.]+\s*\(\s*[^\s)]")
# Bases that say how a class is made, and give it nothing to do.
_FORMS = re.compile(
    r"\W*(?:(?:[\w.]+\.)?(?:object|Object|ABC|Protocol|Generic|NamedTuple|TypedDict|Any)(?:\[[^\]]*\])?\W*)*", re.DOTALL
)
_KEYWORD = re.compile(r"\b\w+\s*=(?!=)[^,)]*")
# What stands in the body of a type that holds nothing.
_FILLS = frozenset({"pass_statement", "comment", "line_comment", "block_comment", "ellipsis", "string"})


class BareType(NamedTuple):
    """Names a type without anything of its own; `derives`: it is made of another, `fails`: it is an error."""

    name: str
    derives: bool
    fails: bool


def head_is_work(node: tree_sitter.Node, body: tree_sitter.Node, head: str) -> bool:
    """Return whether the head of a definition does all there is to do.

    So it does where it sets members, hands what it took to another constructor, names an error, derives a type that
    adds nothing from another one, or gives a decorator what the type is for.
    """
    if _TYPE.search(node.type) and (_ERROR_CLASS.match(head) or (_holds_nothing(body) and _is_made(node, head))):
        return True
    if any(each.type == "constructor_initializer" and _hands_on(each) for each in node.children):
        return True
    waiting = [child for child in node.children if child.start_byte < body.start_byte]
    while waiting:
        each = waiting.pop()
        if each.type in _SETTING_HEADS and each.parent != node:
            return True
        if each.type.endswith(("parameters", "parameter")) or each.type == "field_initializer_list":
            waiting += each.children
            if each.type == "field_initializer_list":
                return True
    return False


def bare_type(node: tree_sitter.Node, head: str) -> BareType | None:
    """Return the type that a node defines without anything of its own; None for any other node."""
    body = body_of(node)
    if not _TYPE.search(node.type) or not node.is_named or (body is not None and not _holds_nothing(body)):
        return None
    named = node.child_by_field_name("name") or node.child_by_field_name("type")
    if named is None:
        return None
    name = (named.text or b"").decode("utf-8", "replace")
    return BareType(name, _derives(node), _ERROR_CLASS.match(head) is not None)


def _holds_nothing(body: tree_sitter.Node) -> bool:
    return all(
        each.type in _FILLS
        or (
            each.type == "expression_statement"
            and each.named_child_count == 1
            and each.named_children[0].type in _FILLS
        )
        for each in body.named_children
    )


def _hands_on(initializer: tree_sitter.Node) -> bool:
    return any(each.type == "argument_list" and each.named_children for each in initializer.children)


def _is_made(node: tree_sitter.Node, head: str) -> bool:
    """Return whether a type without anything of its own is made of another one, or by a decorator."""
    return _derives(node) or (node.type != "class_definition" and _DECORATED.match(head) is not None)


def _derives(node: tree_sitter.Node) -> bool:
    """Return whether a type is made of another one that may give it something to do."""
    if node.type == "impl_item":
        return node.child_by_field_name("trait") is not None
    bases = [each for each in node.named_children if _BASES.fullmatch(each.type)]
    named = node.child_by_field_name("superclasses")
    texts = [(each.text or b"").decode("utf-8", "replace") for each in (*bases, *([named] if named else ()))]
    return any(not _FORMS.fullmatch(_KEYWORD.sub("", re.sub(r"^(?:extends|implements)\b", "", text))) for text in texts)
