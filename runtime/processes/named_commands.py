"""Runs commands that an operator named or allowed, each killed when it takes too long."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from runtime.primitives.visible_text import visible
from runtime.processes.programs import run_program

MAX_OUTPUT_BYTES = 2_000_000
MAX_TOLD_CHARS = 2_000
# Errors belong to what is told; run_program itself reads standard output alone.
_BOTH_STREAMS = ("sh", "-c", 'exec "$@" 2>&1', "check")


class CommandEnd(msgspec.Struct, frozen=True):
    """Holds how a command ended: `status` is None where it gave none, `told` is a sentence for a person."""

    passed: bool
    told: str
    status: int | None = None
    output: str = ""
    is_late: bool = False


def run_named(command: Sequence[str], folder: Path, timeout_s: float) -> CommandEnd:
    """Run a command in a folder and return how it ended, with both of its streams."""
    try:
        data, status, late = run_program(
            [*_BOTH_STREAMS, *command], cwd=folder, timeout_s=timeout_s, max_output_bytes=MAX_OUTPUT_BYTES
        )
    except OSError as error:
        return CommandEnd(False, f"it cannot be run: {error.strerror}")
    output = data.decode("utf-8", "replace")
    if late:
        return CommandEnd(False, f"it took longer than {timeout_s:g} s and was killed", None, output, is_late=True)
    end = visible(output)[-MAX_TOLD_CHARS:]
    return CommandEnd(status == 0, f"status {status}; the end of its output: {end}", status, output)
