"""Finds functions whose answer is always the same, or is what they were given but for the form.

By the text of their last statement: literals alone, in any of the languages that are parsed. What names anything else,
a constant of the module included, is taken to do something.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.parsing.bodies.logging_bodies import MAX_LOGGING_BODY_BYTES
from runtime.codebase.parsing.tree_walk import BLOCK, body_of, text_in

_TEXTS = r"""(?:[rRbBuUfF]{1,2}(?=["']))?(?:"(?:[^"\\{}$]|\\.)*"|'(?:[^'\\{}$]|\\.)*'|`[^`$\\]*`)"""
_WORDS = r"(?:[Tt]rue|[Ff]alse|None|null|nil|undefined|NaN|Infinity)\b"
# A number is taken whole: parts of it would be values too, in more ways than can be tried.
_VALUE = rf"(?:{_TEXTS}|\d[\w.]*+|{_WORDS})"
# What holds values, or is written around one, and does nothing else.
_AROUND = (
    r"(?:[\[\](){},:+*/%|&^~<>!=-]|(?:not|and|or|is)\b|(?:Ok|Some|Just|vec!|Promise\.resolve|Optional\.of|String::from"
    r"|(?:List|Set)\.of|tuple|list|dict|set|frozenset)(?=[(\[])|\.(?:to_string|to_owned|into)\(\))"
)
_CONSTANT = re.compile(rf"(?:\s*(?:{_VALUE}|{_AROUND}))*\s*", re.DOTALL)
_HAS_VALUE = re.compile(_VALUE)
_KEY = re.compile(r"(?<=[{,])\s*(\w+)\s*:(?!:)")
_SAME = re.compile(
    r"\(*\s*(?:(?P<a>\w+)\s*(?:[-+|^]\s*0|[*/]\s*1|(?:or|and|\|\||&&)\s*(?P=a)|\+\s*(?:''|\"\"))|(?:0\s*\+|1\s*\*)\s*(?P<b>\w+))\s*\)*"
)
_BOUND = re.compile(
    r"(?:[\w<>\[\],.?*&]+\s+)*?(?P<name>\$?\w+)(?:\s*:\s*[\w<>\[\]., ?&]+?)?\s*:?=(?!=)\s*(?P<value>.+)", re.DOTALL
)
_RETURN = re.compile(r"return\b\s*(?P<value>.+?)\s*;?", re.DOTALL)


class ConstantBody(NamedTuple):
    """Names the lines of a body, from 1, inclusive."""

    first: int
    last: int


def is_constant(said: str) -> bool:
    """Return whether a statement or expression gives a literal value."""
    found = _RETURN.fullmatch(said.strip())
    value = found["value"] if found is not None else said.strip().rstrip(";")
    return _CONSTANT.fullmatch(value) is not None and _HAS_VALUE.search(value) is not None


def lines_of_body(node: tree_sitter.Node) -> ConstantBody:
    """Return the lines of a function's body."""
    body = body_of(node) or node
    return ConstantBody(body.start_point.row + 1, body.end_point.row + 1)


def constant_body(
    node: tree_sitter.Node, shown: bytes, syntax: IdleSyntax, says_nothing: Callable[[str], bool]
) -> ConstantBody | None:
    """Return the body of a function that only gives a constant, or what it was given; None where it does more.

    `shown` is the text without comments, heads and what is never reached.
    """
    body = body_of(node)
    if body is None or node.has_error or body.end_byte - body.start_byte > MAX_LOGGING_BODY_BYTES:
        return None
    lines = lines_of_body(node)
    while body.named_child_count == 1 and BLOCK.search(body.named_children[0].type):
        body = body.named_children[0]
    taken = _taken(node)
    if not (BLOCK.search(body.type) or body.type.endswith("block") or body.type == "function_body"):
        return lines if _gives_constant(text_in(shown, body).removeprefix("=>").strip(), taken, {}) else None
    parts = [each for each in body.named_children if not says_nothing(text_in(shown, each))]
    named: dict[str, str] = {}
    for part in parts[:-1]:
        bound = _BOUND.fullmatch(_said(part, shown))
        if bound is None or not _gives_constant(bound["value"], taken, named):
            return None
        named[bound["name"]] = "0"
    value = _answer(parts[-1], shown, gives_last=node.type in syntax.value_bodies) if parts else None
    return lines if value is not None and _gives_constant(value, taken, named) else None


def _answer(last: tree_sitter.Node, shown: bytes, *, gives_last: bool) -> str | None:
    """Return what the last statement of a body gives back; None where it gives nothing."""
    inner = last.named_children[0] if last.type == "expression_statement" and last.named_child_count == 1 else last
    given = _RETURN.fullmatch(_said(last, shown)) if inner.type in kinds.RETURNS else None
    if given is not None:
        return given["value"]
    is_answer = gives_last and not text_in(shown, last).rstrip().endswith(";")
    return _said(last, shown) if is_answer else None


def _said(node: tree_sitter.Node, shown: bytes) -> str:
    return text_in(shown, node).strip().rstrip(";").strip()


def _taken(node: tree_sitter.Node) -> frozenset[str]:
    taken = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
    text = (taken.text or b"").decode("utf-8", "replace") if taken is not None else ""
    return frozenset(re.findall(r"\w+", text)) - {"self", "cls", "this"}


def _gives_constant(value: str, taken: frozenset[str], named: dict[str, str]) -> bool:
    if (same := _SAME.fullmatch(value)) is not None and (same["a"] or same["b"]) in taken:
        return True
    for name in named:
        value = re.sub(rf"(?<![\w.$]){re.escape(name)}(?!\w)", named[name], value)
    keys = set(_KEY.findall(value))
    return not keys & taken and is_constant(_KEY.sub("", value))
