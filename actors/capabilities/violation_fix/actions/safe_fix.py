"""Lets the linter apply its own safe fixes of one check to the file of a violation.

The linter works on a copy in a folder of its own, with no settings of the repository; what it makes of it is written
like any other edit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from actors.capabilities.violation_fix.actions.edit_tools import Edited, FixWorkspace, edited
from actors.capabilities.violation_fix.actions.text_edits import EditRefused, SourceText
from actors.capabilities.violation_fix.checks.linter import linter_program
from runtime.primitives.text_files import read_bytes_file
from runtime.processes.programs import program_folders, run_program
from runtime.tools.result import ToolResult

TIMEOUT_S = 60.0
MAX_BYTES = 4_000_000


class ApplySafeFix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Applies the linter's safe fixes of one rule."""

    key: str
    check_id: Annotated[str, Meta(pattern=r"^[A-Z]{1,10}[0-9]{1,5}\Z")]


def apply_safe_fix_tool(place: FixWorkspace, asked: ApplySafeFix) -> ToolResult:
    """Apply the safe fixes of a rule to the violation's file."""

    def edit(source: SourceText) -> Edited | EditRefused:
        with tempfile.TemporaryDirectory(prefix="jeeves-fix-") as folder:
            copy = Path(folder) / PurePosixPath(place.file).name
            copy.write_bytes(source.encoded(source.text))
            command = [linter_program(), "check", "--isolated", "--no-cache", "--quiet", "--fix-only", "--exit-zero"]
            command += ["--select", asked.check_id, str(copy)]
            _, status, late = run_program(
                command,
                cwd=Path(folder),
                timeout_s=TIMEOUT_S,
                max_output_bytes=MAX_BYTES,
                environment={"PATH": program_folders()},
            )
            if late or status != 0:
                return EditRefused("timeout" if late else "other", f"the linter ended with status {status}")
            text = read_bytes_file(copy, MAX_BYTES).decode(source.encoding)
        if text == source.text:
            return EditRefused("not_found", f"the linter has no safe fix of {asked.check_id} here")
        return text, f"applied the linter's safe fixes of {asked.check_id}"

    return edited(place, asked.key, "", edit)
