"""Makes the members of a set from nodes of a tree: their lines, and what a comment says of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from runtime.codebase.parsing.definition_heads import doc_comment
from runtime.codebase.resolution.closed_sets.records import Member
from runtime.codebase.resolution.closed_sets.written_values import (
    MAX_MEMBERS,
    Entry,
    raw,
    value_text,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DOC_CHARS = 200
MAX_LINE_CHARS = 2_000
_BEHIND = re.compile(r"[\s,;)}\]]{0,40}(?:#+:?|//[/!]*<?|/\*+!?<?)\s?(\S.*)")
_TAGS = re.compile(r"</?\w{1,20}[^<>]{0,80}>|\*/\s*$")
_BLANKS = re.compile(r"\s+")


class MemberLines:
    """Makes the members of the sets of one file."""

    def __init__(self, lines: Sequence[str], comment_marks: str) -> None:
        self._lines = lines
        self._marks = comment_marks

    def member(self, name: str, node: Node, value: Node | None = None, named: Node | None = None) -> Member:
        """Return the member that a node declares; `named` is the node of its name, by default the node itself."""
        line, end = (named or node).start_point[0] + 1, node.end_point[0] + 1
        return Member(name, line, end, value_text(value), self._said_of(node, line))

    def of_entries(self, entries: Iterable[Entry]) -> tuple[Member, ...]:
        """Return the members that the entries of a collection are."""
        return tuple(self.member(entry.name, entry.node, entry.value) for entry in list(entries)[:MAX_MEMBERS])

    def above(self, line: int) -> str:
        """Return the comment above a line, as one line."""
        return _plain(doc_comment(self._lines, line, self._marks))

    def _said_of(self, node: Node, line: int) -> str:
        """Return the comment behind a member that ends its line, else the one above it, else the text below it."""
        end = node.end_point[0]
        text = self._lines[end][:MAX_LINE_CHARS] if end < len(self._lines) else ""
        rest = text.encode("utf-8", "replace")[node.end_point[1] :].decode("utf-8", "replace")
        behind = _BEHIND.match(rest)
        if behind is not None:
            return _plain(behind[1])
        alone = self._lines[line - 1][: node.start_point[1]].strip() if line <= len(self._lines) else "x"
        if alone not in {"", "case", "|", "const"}:
            return ""
        return self.above(line) or _text_below(node)


def _text_below(node: Node) -> str:
    """Return the text that stands alone below an assignment of Python, which documents it."""
    statement = node.parent
    below = None if statement is None or statement.type != "expression_statement" else statement.next_named_sibling
    if below is None or below.type != "expression_statement" or below.named_child_count != 1:
        return ""
    text = below.named_children[0]
    return _plain(raw(text).strip("\"' \n")) if text.type == "string" else ""


def _plain(text: str) -> str:
    said = _BLANKS.sub(" ", _TAGS.sub(" ", text)).strip().strip("*/: ")
    return said if len(said) <= MAX_DOC_CHARS else said[:MAX_DOC_CHARS].rsplit(" ", 1)[0] + " …"
