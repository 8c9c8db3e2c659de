"""Names a place after the definition that holds what is shown of it.

A piece of a long definition is found under that one's name, though all that an answer shows of it may lie in another
one within. What is said of the inner one is not said of the outer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.prose.comment_lines import OPENING_MARKS, OpenText, comment_lines, open_at

HOLDER_KINDS = frozenset({"class", "struct", "impl"})
CODE_KINDS = HOLDER_KINDS | {"function", "method", "constructor"}


def named_by_shown(codebase: Codebase, row: dict[str, Any], chosen: Excerpt) -> tuple[dict[str, Any], Excerpt]:
    """Return a row of code and its chosen lines with the innermost definition that holds what is shown and quoted.

    What follows to the end of the piece is cut where that definition ends, and a sentence that documents another one
    than the one that is named is left out.
    """
    file, told = str(row["file"]), _told_lines(chosen)
    inner = _innermost(codebase, file, told[0], told[-1]) if told else None
    if inner is not None and _is_within(codebase, inner, row):
        told_of = {"symbol": inner.qualified_name, "kind": inner.kind, "signature": inner.signature}
        row = {**row, **told_of, "docstring": inner.docstring}
        behind = max(0, inner.end_line - chosen.shown_end)
        after = chosen.after[: max(0, behind - len(chosen.rest))]
        chosen = msgspec.structs.replace(chosen, rest=chosen.rest[:behind], after=after)
    said = chosen.said
    if said is not None and said.of is not None:
        of = codebase.symbol_at(file, said.of.head_line)
        if of is not None and of.kind in CODE_KINDS and of.name_line == said.of.head_line:
            is_other = row["symbol"] is not None and of.qualified_name != row["symbol"]
            chosen = msgspec.structs.replace(chosen, said=None) if is_other else chosen
    return row, chosen


def opened_above(codebase: Codebase, file: str, lines: Sequence[str], first: int) -> OpenText | None:
    """Return the comment or string in which a line of a file begins; None if that is code.

    `lines`: those of the file; `first`: the number of the line. Read from where the last definition above it begins,
    since that is code.
    """
    if not any(mark in line for line in lines[: first - 1] for mark in OPENING_MARKS):
        return None
    nearest = "o.start_line) FROM symbols o WHERE o.file_id = s.file_id AND o.start_line <= ?"
    begun = codebase.index.symbols(f"f.path = ? AND s.start_line = (SELECT MAX({nearest})", (file, first), 1)
    start = begun[0].start_line if begun else 1
    return open_at(lines[start - 1 :], first - start)


def _told_lines(chosen: Excerpt) -> Sequence[int]:
    """Return the numbers of the lines of code that are shown or quoted, in order."""
    lines = chosen.text.split("\n")
    shown = enumerate(zip(lines, comment_lines(lines, chosen.within), strict=True), chosen.shown_start)
    code = {number for number, (line, is_comment) in shown if line.strip() and not is_comment}
    return sorted({*code, *chosen.quoted, *(number for number, _ in chosen.body)})


def _innermost(codebase: Codebase, file: str, first: int, last: int) -> SymbolRecord | None:
    """Return the innermost definition around two lines."""
    around = codebase.index.symbols("f.path = ? AND s.start_line <= ? AND s.end_line >= ?", (file, first, last))
    code = [symbol for symbol in around if symbol.kind in CODE_KINDS]
    return min(code, key=lambda symbol: (symbol.end_line - symbol.start_line, -symbol.start_line), default=None)


def _is_within(codebase: Codebase, inner: SymbolRecord, row: dict[str, Any]) -> bool:
    """Return whether a definition lies in the one that a row is named after, and is another one."""
    outer = row["symbol"]
    if outer is None or inner.qualified_name == outer:
        return False
    around = "f.path = ? AND s.qualified_name = ? AND s.start_line <= ? AND s.end_line >= ?"
    return bool(codebase.index.symbols(around, (row["file"], outer, inner.start_line, inner.end_line), 1))
