"""Extracts whole statements into a new private function, or refuses where behaviour could change."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.annotations.signatures import UNTYPED, Annotator, Signature
from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction, FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.blocks import Block, block_of
from actors.capabilities.violation_fix.refactoring.callee_hazards import CalleeHazards
from actors.capabilities.violation_fix.refactoring.cutting.copies import NO_COPIES, Copies, Copy, CopySearch
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    BUILTIN_NAMES,
    Scope,
    has_lazy_annotations,
    names_in_module,
    places_of,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.helper_text import HelperWriter
from actors.capabilities.violation_fix.refactoring.insertion import insertion_of
from actors.capabilities.violation_fix.refactoring.naming.name_words import words_of
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    SourceText,
    apply_edits,
    first_line,
    last_line,
)
from actors.capabilities.violation_fix.refactoring.tail_returns import with_early_returns


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
        made = prepared(annotator, CalleeHazards(annotator.package), CopySearch(text), block, extraction, name)
        new_source = write_extraction(made, name, line_length)
    except RefusedRefactoring as refused:
        return refused.refusal
    description = f"Extract {name} from {block.place.qualified_name} (lines {block.first_line} to {block.last_line})"
    description += "".join(f", call it in {function} too" for function in made.copies.functions)
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


@dataclass(frozen=True)
class Prepared:
    """Holds all that a new function and its calls are written from."""

    block: Block
    extraction: Extraction
    signature: Signature = UNTYPED
    copies: Copies = NO_COPIES


def prepared(
    annotator: Annotator,
    callees: CalleeHazards,
    search: CopySearch,
    block: Block,
    extraction: Extraction,
    name: str,
) -> Prepared:
    """Return an extraction with its annotations and the copies of the block that can call the new function too.

    A function that is named after something of the block would be misnamed where that is called otherwise. Raises
    RefusedRefactoring where what the block calls, or strict typing, forbids it.
    """
    callees.refuse(extraction.statements, extraction.host)
    copies = search.of(block, extraction)
    # The new function stands where all of its callers find it when they are first called.
    tops = [block.place.top_statement, *(copy.block.place.top_statement for copy in copies.found)]
    top = min(tops, key=lambda statement: statement.lineno)
    block = replace(block, place=replace(block.place, top_statement=top))
    signature = annotator.signature(block.place, extraction)
    told = set(words_of(name))
    called = [copy for copy in copies.found if not any(told & set(words_of(each)) for each in copy.renamed)]
    found = tuple(copy for copy in called if _takes_the_same(annotator, callees, copy, extraction, signature))
    leaves_others = copies.leaves_others or len(found) < len(copies.found)
    return Prepared(block, extraction, signature, Copies(found, leaves_others))


def _takes_the_same(
    annotator: Annotator, callees: CalleeHazards, copy: Copy, extraction: Extraction, signature: Signature
) -> bool:
    """Return whether a copy hands over, and gets back, what the new function is annotated with."""
    try:
        callees.refuse(copy.extraction.statements, copy.extraction.host)
        own = annotator.signature(copy.block.place, copy.extraction)
    except RefusedRefactoring:
        return False
    pairs = zip(extraction.parameters, copy.extraction.parameters, strict=True)
    is_given = all(signature.parameters.get(one) == own.parameters.get(other) for one, other in pairs)
    return is_given and signature.returns == own.returns


def write_extraction(made: Prepared, name: str, line_length: int = 88) -> str:
    """Return the whole file with the block, and its copies, replaced by calls and the new function beside them."""
    block, extraction, source = made.block, made.extraction, made.block.source
    lines = block.first_line, block.last_line
    writer = HelperWriter(source, block.place, extraction, name, *lines, line_length, made.signature)
    written = writer.write()
    calls = [_replaced(block, written.call)]
    for copy in made.copies.found:
        other = copy.block
        caller = HelperWriter(
            source, other.place, copy.extraction, name, other.first_line, other.last_line, line_length, made.signature
        )
        calls.append(_replaced(other, caller.call()))
    inserted = insertion_of(source, block.place.top_statement, extraction.host, written.definition)
    return with_early_returns(apply_edits(source.text, [*calls, inserted]), name)


def _replaced(block: Block, call: str) -> Edit:
    """Return the edit that puts a call in place of a block; a gap is closed where little else is left."""
    source = block.source
    end = block.last_line
    if _leaves_one(block) and not source.is_blank(block.first_line - 1):
        while source.is_blank(end + 1):
            end += 1
    at_end = block.last_line == source.line_count and not source.lines(block.last_line, block.last_line).endswith("\n")
    text = call.removesuffix(source.newline) if at_end else call
    return Edit(source.starts[block.first_line - 1], source.line_end_offset(end), text)


def _leaves_one(block: Block) -> bool:
    """Return whether a simple statement that leaves is all that stands beside a block in a branch or loop."""
    for statement in ast.walk(block.place.function):
        for body in statement_lists(statement) if statement is not block.place.function else ():
            if body[:-1] == list(block.statements) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue):
                return block.source.is_blank(block.last_line + 1) and body[-1].lineno == last_line(body[-1])
    return False
