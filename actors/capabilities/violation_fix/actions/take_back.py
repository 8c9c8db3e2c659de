"""Takes an edit back: the file holds again what the edit replaced."""

from __future__ import annotations

import msgspec

from actors.capabilities.violation_fix.actions.edit_tools import FixWorkspace, refused
from actors.capabilities.violation_fix.actions.text_edits import EditRefused
from runtime.errors import FileEditError
from runtime.tools.result import ToolResult


class TakeBack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Takes back the edit that was made under the key `edit`."""

    edit: str


def take_back_tool(place: FixWorkspace, asked: TakeBack) -> ToolResult:
    """Restore what an edit replaced; restoring twice is restoring once."""
    record = place.journal.done(asked.edit)
    if record is None:
        return refused(EditRefused("not_found", f"no edit was made under {asked.edit!r}"))
    try:
        place.journal.take_back(record)
    except FileEditError as error:
        return refused(EditRefused("other", error.message))
    return ToolResult("ok", {"output": f"edit {record.number} of {record.file} was reverted"})
