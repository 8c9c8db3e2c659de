"""Keeps a file as its formatter leaves it, where the file was so before a refactoring."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from actors.capabilities.violation_fix.checks.line_length import USUAL
from actors.capabilities.violation_fix.checks.linter import linter_program
from runtime.errors import MachineError
from runtime.primitives.text_files import read_bytes_file
from runtime.processes.programs import program_folders, run_program

TIMEOUT_S = 20.0
_MAX_BYTES = 5_000_000
# Quotation marks of either kind may be kept; ruff, black and their like agree on the rest.
_COMMAND = ("format", "--isolated", "--no-cache", "--quiet", "--config", 'format.quote-style="preserve"')


def keep_layout(before: str, after: str, line_length: int) -> str:
    """Return `after` formatted, if `before` is what the formatter makes of it with some usual length of lines.

    Only what a refactoring wrote can differ then. The formatter is ruff, with no settings of the repository.
    """
    for length in dict.fromkeys((line_length, *USUAL)):
        formatted = _formatted(before, length)
        if formatted is None:
            return after
        if formatted == before:
            return _formatted(after, length) or after
    return after


def _formatted(text: str, line_length: int) -> str | None:
    """Return what ruff makes of a text; None where it cannot say."""
    return rewritten(text, (*_COMMAND, "--line-length", str(line_length)))


def rewritten(text: str, arguments: Sequence[str]) -> str | None:
    """Return a text as ruff leaves a copy of it after a command that rewrites files; None where it cannot say."""
    with tempfile.TemporaryDirectory(prefix="jeeves-layout-") as folder:
        copy = Path(folder) / "module.py"
        try:
            copy.write_bytes(text.encode())
            _, status, late = run_program(
                [linter_program(), *arguments, str(copy)],
                cwd=Path(folder),
                timeout_s=TIMEOUT_S,
                max_output_bytes=_MAX_BYTES,
                environment={"PATH": program_folders()},
            )
            return None if late or status != 0 else read_bytes_file(copy, _MAX_BYTES).decode()
        except (OSError, ValueError, MachineError):
            # The text stays as it was written: only its looks are at stake.
            return None
