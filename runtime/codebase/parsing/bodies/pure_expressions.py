"""Tells by syntax whether an expression only computes: what else stands in one may have an effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds
from runtime.codebase.language_parts.idle_statements import IdleSyntax

TRANSPARENT = re.compile(r"(?:pattern|_type|_label|_type_specifier|comment)$|^type_|^line_continuation$")


def only_computes(
    node: tree_sitter.Node,
    syntax: IdleSyntax,
    said: Callable[[tree_sitter.Node], str],
    takes: Callable[[str], bool],
    *,
    updates: bool = False,
    calls: bool = False,
    results_count: bool = False,
) -> bool:
    """Return whether an expression only computes.

    Args:
        node: The expression.
        syntax: How its language writes what does nothing.
        said: Gives the text of a node.
        takes: Whether a name is a parameter.
        updates: Whether it may count on a variable of the same statement.
        calls: Whether it may call what gives a value.
        results_count: Whether what functions compute counts, so that none is called for nothing.
    """
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if TRANSPARENT.search(each.type) or each.type in kinds.FUNCTION_VALUES or each.type.endswith("_literal"):
            continue
        if calls and each.type in kinds.CALLS:
            waiting += each.named_children
            continue
        if each.type in kinds.CALLS and (given := _given_to_compute(each, syntax, said, results_count)) is not None:
            waiting += given
            continue
        if updates and each.type in kinds.UPDATES | kinds.LOCALS:
            waiting += each.named_children
            continue
        if each.type == "identifier" and syntax.names_call and not takes(said(each)):
            return False
        if re.fullmatch(syntax.pure_calls, said(each)):
            continue
        if each.type not in kinds.PURE or any(child.type in kinds.ACTIVE_MARKS for child in each.children):
            return False
        waiting += each.named_children
    return True


def compares(condition: tree_sitter.Node) -> bool:
    """Return whether a condition compares: what it calls for that is lost."""
    return without_brackets(condition).type in kinds.COMPARISONS


def without_brackets(expression: tree_sitter.Node) -> tree_sitter.Node:
    """Return what stands between the brackets of an expression."""
    while expression.type.startswith("parenthesized") and expression.named_child_count == 1:
        expression = expression.named_children[0]
    return expression


def _given_to_compute(
    call: tree_sitter.Node, syntax: IdleSyntax, said: Callable[[tree_sitter.Node], str], results_count: bool
) -> Sequence[tree_sitter.Node] | None:
    """Return the arguments of a call that is made for its result alone; None of any other."""
    if call.type.endswith(("arguments", "argument", "argument_list")):
        return call.named_children
    given = call.child_by_field_name("arguments")
    called = said(call) if given is None else said(call).removesuffix(said(given)).strip()
    is_idle = not results_count and re.fullmatch(syntax.idle_functions, called) is not None
    return ([] if given is None else [given]) if is_idle else None
