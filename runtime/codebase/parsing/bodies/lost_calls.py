"""Finds calls that are made for nothing, or that only check what they are given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.parsing.tree_walk import Within, body_of, walk


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


def idle_functions(definitions: Sequence[Within], says_nothing: Callable[[tree_sitter.Node], bool]) -> set[str]:
    """Return the names of the functions of a file itself that do nothing, and that nothing else in it defines."""
    found: Counter[str] = Counter()
    idle: set[str] = set()
    for each in definitions:
        declared, body = each.node.child_by_field_name("declarator"), body_of(each.node)
        named = (declared or each.node).child_by_field_name("declarator" if declared is not None else "name")
        if named is None or not each.node.is_named:
            continue
        name = (named.text or b"").decode("utf-8", "replace")
        found[name] += 1
        is_own = each.around is not None and each.around.around is None and each.node.type in kinds.DEFINITIONS
        if is_own and body is not None and not each.node.has_error and says_nothing(body):
            idle.add(name)
    return {name for name in idle if found[name] == 1}


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
