"""Carries out the refactorings of a fix on the file of its violation."""

from __future__ import annotations

import msgspec

from actors.capabilities.violation_fix.actions.edit_tools import (
    Edited,
    FixWorkspace,
    FunctionName,
    LineNumber,
    edited,
)
from actors.capabilities.violation_fix.actions.text_edits import EditRefused, ErrorCategory, SourceText
from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused
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


def extract_function_tool(place: FixWorkspace, asked: ExtractFunction) -> ToolResult:
    """Extract lines of the violating function to a new function."""

    def edit(source: SourceText) -> Edited | EditRefused:
        done = extract_function(
            source.text, asked.start_line, asked.end_line, asked.name, line_length=place.line_length
        )
        return outcome_of(done, f"Extracted '{asked.name}' from lines {asked.start_line}-{asked.end_line}")

    return edited(place, asked.key, "", edit)


def outcome_of(done: Refactored | Refused, told: str) -> Edited | EditRefused:
    """Return the new text of a refactoring and what was done, or why it was refused."""
    if isinstance(done, Refactored):
        return done.source, told
    return EditRefused(_CATEGORIES.get(done.code, "extraction_blocked"), f"refused: {done}")
