"""Carries out the refactorings of a fix on the file of its violation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from actors.capabilities.violation_fix.actions.edit_tools import (
    Edited,
    FixWorkspace,
    FunctionName,
    LineNumber,
    edited,
)
from actors.capabilities.violation_fix.actions.text_edits import EditRefused, ErrorCategory, SourceText
from actors.capabilities.violation_fix.checks.import_order import keep_import_order
from actors.capabilities.violation_fix.checks.layout import keep_layout
from actors.capabilities.violation_fix.checks.typing_config import typing_rules
from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused
from actors.capabilities.violation_fix.refactoring.parameter_lists import split_parameters
from actors.capabilities.violation_fix.refactoring.simplifications.registry import simplify_statement
from runtime.tools.result import ToolResult

_CATEGORIES: dict[str, ErrorCategory] = {
    "syntax_error": "syntax_error",
    "no_such_lines": "not_found",
    "no_such_function": "not_found",
}


class ExtractFunction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Moves whole statements to a new function."""

    key: str
    start_line: LineNumber
    end_line: LineNumber
    name: FunctionName
    function: str = ""


class SimplifyConditional(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Simplifies the conditional that begins on a line; `kind`: how, else the first way that fits."""

    key: str
    line: LineNumber
    kind: str | None = None
    function: str = ""


class SplitParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Gathers consecutive parameters of a private function in a named tuple called `name`, else after the function."""

    key: str
    function: str
    names: Annotated[list[str], Meta(min_length=2, max_length=50)]
    name: str | None = None


def extract_function_tool(place: FixWorkspace, asked: ExtractFunction) -> ToolResult:
    """Extract lines of the violating function to a new function."""

    def edit(source: SourceText) -> Edited | EditRefused:
        done = extract_function(
            source.text,
            asked.start_line,
            asked.end_line,
            asked.name,
            line_length=place.line_length,
            typing=typing_rules(Path(place.root), place.file),
        )
        return outcome_of(
            place, source, done, f"Extracted '{asked.name}' from lines {asked.start_line}-{asked.end_line}"
        )

    return edited(place, asked.key, "", edit)


def simplify_conditional_tool(place: FixWorkspace, asked: SimplifyConditional) -> ToolResult:
    """Simplify a conditional of the file."""

    def edit(source: SourceText) -> Edited | EditRefused:
        done = simplify_statement(source.text, asked.line, asked.kind, line_length=place.line_length)
        told = done.description if isinstance(done, Refactored) else ""
        return outcome_of(place, source, done, f"Simplified the conditional at line {asked.line}: {told}")

    return edited(place, asked.key, "", edit)


def split_parameters_tool(place: FixWorkspace, asked: SplitParameters) -> ToolResult:
    """Gather parameters of a private function whose callers all lie in the file."""

    def edit(source: SourceText) -> Edited | EditRefused:
        done = split_parameters(source.text, asked.function, asked.names, class_name=asked.name)
        return outcome_of(
            place, source, done, f"Gathered the parameters {', '.join(asked.names)} of '{asked.function}'"
        )

    return edited(place, asked.key, "", edit)


def outcome_of(place: FixWorkspace, source: SourceText, done: Refactored | Refused, told: str) -> Edited | EditRefused:
    """Return the new text of a refactoring, laid out as the file is, and what was done, or why it was refused."""
    if isinstance(done, Refactored):
        laid_out = keep_layout(source.text, done.source, place.line_length)
        return keep_import_order(Path(place.root), source.text, laid_out), told
    return EditRefused(_CATEGORIES.get(done.code, "extraction_blocked"), f"refused: {done}")
