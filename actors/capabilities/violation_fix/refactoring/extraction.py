"""Extracts whole statements into a new private function, or refuses where behaviour could change."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.annotations.signatures import UNTYPED, Annotator, Signature
from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction, FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.callee_hazards import CalleeHazards
from actors.capabilities.violation_fix.refactoring.comments import first_moved_line
from actors.capabilities.violation_fix.refactoring.hazards import has_examples
from actors.capabilities.violation_fix.refactoring.helper_text import HelperWriter
from actors.capabilities.violation_fix.refactoring.insertion import insertion_of
from actors.capabilities.violation_fix.refactoring.name_scopes import (
    BUILTIN_NAMES,
    FunctionPlace,
    Scope,
    has_lazy_annotations,
    names_in_module,
    places_of,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    SourceText,
    apply_edits,
    first_line,
    last_line,
)
from actors.capabilities.violation_fix.refactoring.tail_returns import with_early_returns


@dataclass(frozen=True)
class Block:
    """Holds consecutive statements of one statement list and the lines that move with them."""

    source: SourceText
    place: FunctionPlace
    statements: tuple[ast.stmt, ...]
    first_line: int
    last_line: int


def extract_function(
    source: str,
    first: int,
    last: int,
    name: str,
    *,
    line_length: int = 88,
    reserved: Collection[str] = (),
    typing: TypingRules | None = None,
) -> Refactored | Refused:
    """Move the whole statements on lines `first` to `last` (1-based, inclusive) into a function called `name`.

    `reserved` are further names that the new function must not take, such as those used in other files; `typing`: what
    the project asks of its annotations.
    """
    text = SourceText(source)
    try:
        tree = text.tree
    except (SyntaxError, ValueError) as error:
        return Refused("syntax_error", f"the file does not parse: {error}", (getattr(error, "lineno", None) or 1,))
    try:
        _refuse_name(tree, name, reserved)
        block = find_block(text, first, last)
        analysis = FunctionAnalysis(block.place, annotations_are_evaluated=not has_lazy_annotations(tree))
        extraction = analysis.analyse(block.statements)
        if isinstance(extraction, Refused):
            return extraction
        annotator = Annotator(text, typing)
        CalleeHazards(annotator.package).refuse(extraction.statements, extraction.host)
        signature = annotator.signature(block.place, extraction)
        new_source = write_extraction(block, extraction, name, line_length, signature)
    except RefusedRefactoring as refused:
        return refused.refusal
    description = f"Extract {name} from {block.place.qualified_name} (lines {block.first_line} to {block.last_line})"
    return Refactored(new_source, description, (name,))


def _refuse_name(tree: ast.Module, name: str, reserved: Collection[str]) -> None:
    if not name.isidentifier() or keyword.iskeyword(name) or (name.startswith("__")):
        raise RefusedRefactoring("bad_name", f"{name!r} cannot name a function")
    if name in BUILTIN_NAMES or name in names_in_module(tree) or name in reserved:
        raise RefusedRefactoring("name_taken", f"{name} is already used in the file or reserved")


def find_block(source: SourceText, first: int, last: int) -> Block:
    """Find the statements on some lines; raise RefusedRefactoring where they are not whole statements of a function."""
    if not 1 <= first <= last <= source.line_count:
        raise RefusedRefactoring("no_such_lines", f"lines {first} to {last} of {source.line_count}", (first, last))
    containing = [
        place
        for place in places_of(source.tree)
        if place.function.body[0].lineno <= last and place.function.lineno < first and last_line(place.function) >= last
    ]
    if not containing:
        raise RefusedRefactoring("outside_function", "the lines do not lie in one function", (first, last))
    place = max(containing, key=lambda found: found.function.lineno)
    statements = _statements_at(source, place.function.body, first, last)
    block = block_of(source, place, statements)
    others = [*range(first, block.first_line), *range(block.last_line + 1, last + 1)]
    cut = tuple(number for number in others if not source.is_blank(number) and not source.is_comment(number))
    if cut:
        raise RefusedRefactoring("partial_statement", "the lines hold part of another statement", cut)
    return block


def _statements_at(source: SourceText, body: Sequence[ast.stmt], first: int, last: int) -> list[ast.stmt]:
    touched = [node for node in body if first_line(node) <= last and last_line(node) >= first]
    if not touched:
        raise RefusedRefactoring("no_statements", "the lines hold no statement", (first, last))
    if all(first_line(node) >= first and last_line(node) <= last for node in touched):
        return touched
    if len(touched) == 1 and not isinstance(touched[0], Scope):
        for inner in statement_lists(touched[0]):
            begins = first_line(inner[0])
            if begins <= last and last_line(inner[-1]) >= first and first > touched[0].lineno:
                return _statements_at(source, inner, first, last)
    partial = [node for node in touched if first_line(node) < first or last_line(node) > last]
    lines = tuple(node.lineno for node in partial)
    raise RefusedRefactoring("partial_statement", "the lines cut through a statement", lines)


def block_of(source: SourceText, place: FunctionPlace, statements: Sequence[ast.stmt]) -> Block:
    """Return a block with its lines; raise RefusedRefactoring where other code shares them."""
    first, last = statements[0], statements[-1]
    begin, end = first_line(first), last_line(last)
    before = source.text[
        source.starts[begin - 1] : source.offset(begin, first.col_offset if begin == first.lineno else 0)
    ]
    if before.strip(" \t\f\ufeff") or _shares_last_line(source, last):
        raise RefusedRefactoring("shared_line", "other code stands on a line of the block", (begin, end))
    if source.is_elif(first):
        # The rest of a chain moves as an `if`; comments above it belong to the branch before.
        return Block(source, place, tuple(statements), begin, end)
    if first is place.function.body[0] and _is_docstring(first):
        raise RefusedRefactoring("docstring", "the block holds the docstring of the function", (begin,))
    if has_examples([first]):
        raise RefusedRefactoring("doctest", "the text would become a docstring whose examples run", (begin,))
    indent = source.indent(begin)
    begin = first_moved_line(source, begin, place.function)
    while end < source.line_count and source.is_comment(end + 1) and len(source.indent(end + 1)) > len(indent):
        end += 1
    return Block(source, place, tuple(statements), begin, end)


def _shares_last_line(source: SourceText, last: ast.stmt) -> bool:
    rest = source.text[source.end_of(last) : source.line_end_offset(last_line(last))].strip()
    return bool(rest) and not rest.startswith("#")


def _is_docstring(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


def write_extraction(
    block: Block, extraction: Extraction, name: str, line_length: int = 88, signature: Signature = UNTYPED
) -> str:
    """Return the whole file with the block replaced by a call and the new function beside the old one."""
    source = block.source
    lines = block.first_line, block.last_line
    writer = HelperWriter(source, block.place, extraction, name, *lines, line_length, signature)
    written = writer.write()
    at_end = block.last_line == source.line_count and not source.lines(block.last_line, block.last_line).endswith("\n")
    call = written.call.removesuffix(source.newline) if at_end else written.call
    start = source.starts[block.first_line - 1]
    replaced = Edit(start, source.line_end_offset(block.last_line), call)
    inserted = insertion_of(source, block.place.top_statement, extraction.host, written.definition)
    return with_early_returns(apply_edits(source.text, [replaced, inserted]), name)
