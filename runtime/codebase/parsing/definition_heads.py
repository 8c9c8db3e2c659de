"""Extracts a definition's extent in the syntax tree, its signature and the comment above it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SIGNATURE_CHARS = 300
MAX_DOCSTRING_CHARS = 400
MAX_DOC_LINES = 200

# Nodes around a definition that belong to it: `export`, a C function around its declarator, a template head.
_WRAPPERS: frozenset[str] = frozenset(
    {
        *("export_statement", "lexical_declaration", "variable_declaration", "variable_declarator"),
        *("expression_statement", "function_definition", "declaration", "type_definition", "pointer_declarator"),
        *("reference_declarator", "array_declarator", "init_declarator", "type_declaration", "template_declaration"),
        *("field_declaration", "const_declaration", "var_declaration", "attributed_statement"),
    }
)

_BLANKS = re.compile(r"\s+")
# A directive of the preprocessor is no comment.
_NO_DIRECTIVE = r"(?![\[!]|\s?(?:ifn?def|endif|undef|pragma)\b|(?:if|else|elif|define|include|region)\b)"
_ANNOTATION = re.compile(r"^\s*(?:@\w|#\[)")


def whole_definition(node: Node) -> Node:
    """Return the outermost node that wraps a definition.

    A wrapper counts if it begins on the same line, or earlier as a template, function definition or declaration.
    """
    while node.parent is not None and node.parent.type in _WRAPPERS:
        wrapper = node.parent
        if wrapper.start_point[0] < node.start_point[0] and wrapper.type != "template_declaration":
            same_thing = wrapper.type in ("function_definition", "declaration")
            if not same_thing:
                break
        node = wrapper
    return node


def signature_of(node: Node, source: bytes) -> str:
    """Return the head of a definition on one line, without its body, cut to 300 characters."""
    end = node.end_byte
    body = _body_of(node)
    if body is not None:
        end = body.start_byte
    elif node.end_point[0] > node.start_point[0]:
        newline = source.find(b"\n", node.start_byte)
        end = newline if newline > 0 else end
    text = source[node.start_byte : min(end, node.start_byte + 4 * MAX_SIGNATURE_CHARS)].decode("utf-8", "replace")
    return _BLANKS.sub(" ", text).strip().removesuffix("{").rstrip()[:MAX_SIGNATURE_CHARS]


def _body_of(node: Node) -> Node | None:
    """Return the body of a definition, also from below declarators and assignments; None without one."""
    for _ in range(4):
        body = node.child_by_field_name("body")
        if body is not None:
            return body
        inner = (
            node.child_by_field_name("value")
            or node.child_by_field_name("right")
            or node.child_by_field_name("declaration")
            or next((child for child in node.named_children[:3] if child.type in _WRAPPERS), None)
            or next((child for child in node.named_children[:2] if child.type.endswith("_expression")), None)
        )
        if inner is None:
            return None
        node = inner
    return None


@functools.cache
def _comment_patterns(own_marks: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a comment line's beginning and of the markers to strip; `own_marks` are one language's."""
    own = "".join(f"|(?:{re.escape(mark)})+" for mark in own_marks.split())
    opens = rf"^\s*(?://[/!]*|/\*+!?|\*+/?|#{_NO_DIRECTIVE}|--{own})"
    marks = rf"^\s*(?://[/!]*|/\*+!?|\*+/?|#+|--{own})\s?|\s*\*+/\s*$"
    return re.compile(opens), re.compile(marks)


def doc_comment(lines: Sequence[str], start_line: int, own_marks: str = "") -> str:
    """Return the first paragraph of the comment that ends directly above a line (annotations between are skipped).

    `own_marks`: comment markers of this language beyond the common ones, separated by blanks.
    """
    opens, marks = _comment_patterns(own_marks)
    index = start_line - 2
    while index >= 0 and _ANNOTATION.match(lines[index]):
        index -= 1
    collected: list[str] = []
    while index >= 0 and len(collected) < MAX_DOC_LINES and opens.match(lines[index]):
        collected.append(marks.sub("", lines[index]).strip())
        index -= 1
    paragraph: list[str] = []
    for text in reversed(collected):
        if text:
            paragraph.append(text)
        elif paragraph:
            break
    return " ".join(paragraph)[:MAX_DOCSTRING_CHARS]
