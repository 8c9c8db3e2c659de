"""Tells by their heads which branches and loops never run, and which loops do their work by running."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.parsing.bodies.fixed_conditions import holds

_NOTHING_IN = re.compile(
    r"(?:in\s+)?(?:\(\s*\)|\[\s*\]|\{\s*\}|range\(\s*(?:(?P<a>\d+)\s*,\s*(?P=a)|0)\s*\)|\"\"|''|0"
    r"|(?P<b>\d+)\s*(?:\.\.<?|\.\.\.|until)\s*(?P=b)|[\w.]+\[:0\])"
)
# Where a loop names what it runs for; others name what they count with.
_OVER = ("right", "value", "collection")
_STARTS = ("initializer", "init")
_START = re.compile(r"(?:[\w<>:*&]+\s+)*?\$?(?P<name>\w+)\s*:?=\s*(?P<number>\d+)")
_EMPTY_LITERAL = re.compile(r"\(\s*\)|\[\s*\]|\{\s*\}")
_GATHERS = frozenset({"list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"})
# What holds for who checks types alone.
_CHECKED = re.compile(r"(?:typing\.|t\.)?TYPE_CHECKING")


def holds_within(condition: str, syntax: IdleSyntax, *, is_part: bool) -> bool | None:
    """Return whether a condition always holds, or never does; `is_part`: imports for types may be what it is for."""
    never = (syntax.empty_is_false and _EMPTY_LITERAL.fullmatch(condition)) or (
        not is_part and _CHECKED.fullmatch(condition)
    )
    return False if never else holds(condition)


def drains(loop: str, head: str, syntax: IdleSyntax) -> bool:
    """Return whether a loop takes out what it runs through, by the head of its function or of what that takes."""
    drained = list(re.finditer(syntax.drains, head))
    named = {found.group(1) for found in drained if found.re.groups}
    return bool(drained) and (not named or not named.isdisjoint(re.findall(r"\w+", loop.partition("{")[0])))


def gathers_nothing(node: tree_sitter.Node, said: Callable[[tree_sitter.Node], str]) -> bool:
    """Return whether an expression gathers what it computes for each element, and has nothing to run for."""
    if node.type not in _GATHERS:
        return False
    over = next((each for each in node.named_children if each.type == "for_in_clause"), None)
    right = None if over is None else over.child_by_field_name("right")
    return right is not None and _NOTHING_IN.fullmatch(said(right)) is not None


def leaves_a_name(loop: tree_sitter.Node, said: Callable[[tree_sitter.Node], str], syntax: IdleSyntax) -> bool:
    """Return whether the name that a loop counts with may be used behind it."""
    named = loop.child_by_field_name("left") or loop.child_by_field_name("pattern")
    is_kept = syntax.assigns_locals and (named is None or not said(named).startswith("_"))
    return is_kept and loop.type not in kinds.RUN_ONCE


def runs_for_nothing(
    node: tree_sitter.Node,
    head: Sequence[tree_sitter.Node],
    said: Callable[[tree_sitter.Node], str],
    is_empty_value: Callable[[str], bool],
) -> bool:
    """Return whether a loop has nothing to run for: an empty range or value, or a count that is over at the start."""
    if any(_NOTHING_IN.fullmatch(said(each)) for each in head):
        return True
    if any(is_empty_value(said(each)) for each in _run_through(node)):
        return True
    for each in (node, *(child for child in node.named_children if child.type == "for_clause")):
        condition = each.child_by_field_name("condition")
        start = next((found for name in _STARTS if (found := each.child_by_field_name(name)) is not None), None)
        counted = _START.fullmatch(said(start).strip(" ;")) if start is not None else None
        if condition is not None and counted is not None:
            at_start = re.sub(
                rf"(?<![\w.$])\$?{re.escape(counted['name'])}(?![\w.(])", counted["number"], said(condition)
            )
            if holds(at_start) is False:
                return True
    return False


def _run_through(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    if node.child_by_field_name("condition") is not None:
        return
    for each in (node, *(child for child in node.named_children if child.type == "range_clause")):
        yield from (found for name in _OVER if (found := each.child_by_field_name(name)) is not None)
