"""Finds calls that are made for nothing, or that only check what they are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.parsing.tree_walk import walk


class LostCall(NamedTuple):
    """Names the arguments of a call without an effect; `checks`: it may fail by what they are."""

    given: tree_sitter.Node
    checks: bool


def named_function(node: tree_sitter.Node) -> str | None:
    """Return the name that a statement gives a function; None where it defines none."""
    while node.type in kinds.LOCALS | {"expression_statement"} and node.named_child_count == 1:
        node = node.named_children[0]
    value = node.child_by_field_name("right") or node.child_by_field_name("value")
    if node.type not in kinds.DEFINITIONS and (value is None or value.type not in kinds.FUNCTION_VALUES):
        return None
    named = node.child_by_field_name("name") or node.child_by_field_name("left")
    return None if named is None else (named.text or b"").decode("utf-8", "replace")


def lost_call(
    node: tree_sitter.Node, said: Callable[[tree_sitter.Node], str], syntax: IdleSyntax, idle: Collection[str]
) -> LostCall | None:
    """Return what a call is given that has no effect but by its arguments; None for any other.

    `idle` names functions that do nothing.
    """
    given = node.child_by_field_name("arguments")
    if given is None:
        return None
    called = said(node).removesuffix(said(given)).strip()
    if called in idle:
        return LostCall(given, checks=False)
    found = re.fullmatch(syntax.checking_functions, called)
    if found is None:
        return None
    takes = any(each.type in {"identifier", "simple_identifier"} for each in walk(given))
    return LostCall(given, checks=takes or found.groupdict().get("on") is not None)
