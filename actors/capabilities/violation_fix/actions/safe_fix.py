"""Lets the linter apply its own safe fixes of one check to the file of a violation.

What it makes of a copy is written like any other edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from actors.capabilities.violation_fix.actions.edit_tools import Edited, FixWorkspace, edited
from actors.capabilities.violation_fix.actions.text_edits import EditRefused, SourceText
from actors.capabilities.violation_fix.checks.linter import safely_fixed
from runtime.tools.result import ToolResult

TIMEOUT_S = 60.0


class ApplySafeFix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Applies the linter's safe fixes of one rule."""

    key: str
    check_id: Annotated[str, Meta(pattern=r"^[A-Z]{1,10}[0-9]{1,5}\Z")]


def apply_safe_fix_tool(place: FixWorkspace, asked: ApplySafeFix) -> ToolResult:
    """Apply the safe fixes of a rule to the violation's file."""

    def edit(source: SourceText) -> Edited | EditRefused:
        made = safely_fixed(source.encoded(source.text), place.file, asked.check_id, TIMEOUT_S)
        if isinstance(made, str):
            return EditRefused("other", made)
        text = made.decode(source.encoding)
        if text == source.text:
            return EditRefused("not_found", f"the linter has no safe fix of {asked.check_id} here")
        return text, f"applied the linter's safe fixes of {asked.check_id}"

    return edited(place, asked.key, "", edit)
