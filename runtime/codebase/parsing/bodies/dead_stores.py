"""Finds variables of a function that nothing reads, and whose values were only computed.

What is put into a list that nothing reads is lost like these. What may fail within a `try` is left alone, since that it
fails may be all that is asked there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds
from runtime.codebase.language_parts.idle_statements import NEVER_MATCHES, IdleSyntax
from runtime.codebase.parsing.bodies.logging_bodies import MAX_LOGGING_BODY_BYTES
from runtime.codebase.parsing.tree_walk import body_of, text_in, walk

_STORES = kinds.ASSIGNMENTS | frozenset({"augmented_assignment"})
_NOT_WITHIN = kinds.TRIES | kinds.DEFINITIONS | frozenset({"class_definition"})
_COMPUTES = kinds.PURE | frozenset(
    {
        *("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"),
        *("for_in_clause", "if_clause", "interpolation", "format_expression", "type_conversion", "format_specifier"),
        *(
            "lambda",
            "lambda_parameters",
            "argument_list",
            "keyword_argument",
            "conditional_expression",
            "slice",
            "type",
        ),
    }
)
_FILLS = re.compile(r"(\w+)\.(?:append|add|update|extend|insert|setdefault|discard|clear)\(.*\)", re.DOTALL)
_NEW = re.compile(r"[\[{]|(?:list|dict|set)\(")
# What makes every variable of a function readable, or those of another one writable.
_SEEN_FROM_ELSEWHERE = re.compile(r"\b(?:locals|vars|eval|exec|globals)\s*\(|(?:^|[;\n])\s*(?:global|nonlocal)\b")


def dead_stores(functions: Sequence[tree_sitter.Node], shown: bytes, syntax: IdleSyntax) -> Iterator[tuple[int, int]]:
    """Yield the bytes of statements that give a value to variables which nothing reads; in Python alone."""
    if syntax.pure_functions == NEVER_MATCHES:
        return
    for function in functions:
        body = body_of(function)
        if body is None or body.end_byte - body.start_byte > MAX_LOGGING_BODY_BYTES:
            continue
        if not _SEEN_FROM_ELSEWHERE.search(text_in(shown, body)):
            yield from _of_body(body, shown, syntax)


def _of_body(body: tree_sitter.Node, shown: bytes, syntax: IdleSyntax) -> Iterator[tuple[int, int]]:
    stores: dict[str, list[tree_sitter.Node]] = defaultdict(list)
    made: set[str] = set()
    others: set[str] = set()
    for statement in _statements(body):
        if name := _stored_name(statement, shown, syntax):
            stores[name].append(statement)
            node = statement.named_children[0]
            if node.type in kinds.ASSIGNMENTS:
                made.add(name)
                others |= set() if _is_new(node.child_by_field_name("right"), shown) else {name}
            elif node.type in kinds.CALLS and name in others:
                # What is put into something else may be read there.
                made.discard(name)
    # A variable that is read by others that nothing reads is read by nobody.
    dead = {name for name in made if not name.startswith("_")}
    while True:
        ours = [(each.start_byte, each.end_byte) for name in dead for each in stores[name]]
        read = {
            text_in(shown, node)
            for node in walk(body)
            if node.type == "identifier" and not any(start <= node.start_byte < end for start, end in ours)
        }
        if not dead & read:
            break
        dead -= read
    yield from ours


def _statements(body: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the simple statements of a body, those within other definitions and within `try` left out."""
    waiting = list(reversed(body.named_children))
    while waiting:
        node = waiting.pop()
        if node.type == "expression_statement" and node.named_child_count == 1:
            yield node
        elif node.type not in _NOT_WITHIN:
            waiting += reversed(node.named_children)


def _stored_name(statement: tree_sitter.Node, shown: bytes, syntax: IdleSyntax) -> str:
    """Return the variable that a statement gives a value, where it does nothing else; empty otherwise."""
    node = statement.named_children[0]
    if node.type in _STORES:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        is_plain = left is not None and left.type == "identifier"
        return text_in(shown, left) if is_plain and left and (right is None or _computes(right, shown, syntax)) else ""
    filled = _FILLS.fullmatch(text_in(shown, node).strip()) if node.type in kinds.CALLS else None
    taken = node.child_by_field_name("arguments") if filled else None
    return filled.group(1) if filled and taken is not None and _computes(taken, shown, syntax) else ""


def _is_new(value: tree_sitter.Node | None, shown: bytes) -> bool:
    """Return whether a value is a list, mapping or set that is made there."""
    return value is not None and _NEW.match(text_in(shown, value)) is not None


def _computes(value: tree_sitter.Node, shown: bytes, syntax: IdleSyntax) -> bool:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if node.type == "call":
            called = node.child_by_field_name("function")
            if called is None or not re.fullmatch(syntax.pure_functions, text_in(shown, called)):
                return False
        elif node.type not in _COMPUTES or any(child.type in kinds.ACTIVE_MARKS for child in node.children):
            return False
        waiting += node.named_children
    return True
