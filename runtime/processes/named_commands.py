"""Runs commands that an operator named or allowed, each killed when it takes too long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from runtime.primitives.visible_text import visible
from runtime.processes.programs import run_program

MAX_OUTPUT_BYTES = 2_000_000
MAX_TOLD_CHARS = 3_000
# Errors belong to what is told; run_program itself reads standard output alone.
_BOTH_STREAMS = ("sh", "-c", 'exec "$@" 2>&1', "check")


class CommandEnd(msgspec.Struct, frozen=True):
    """Holds how a command ended: `status` is None where it gave none, `told` is a sentence for a person.

    `output`: the last two million bytes of both streams; `is_cut`: whether there may have been more.
    """

    passed: bool
    told: str
    status: int | None = None
    output: str = ""
    is_late: bool = False
    is_cut: bool = False


def run_named(
    command: Sequence[str], folder: Path, timeout_s: float, environment: Mapping[str, str] | None = None
) -> CommandEnd:
    """Run a command in a folder and return how it ended, with both of its streams.

    `environment`: all of it; without one the command gets that of this process.
    """
    try:
        data, status, late = run_program(
            [*_BOTH_STREAMS, *command],
            cwd=folder,
            timeout_s=timeout_s,
            environment=environment,
            max_output_bytes=MAX_OUTPUT_BYTES,
            keeps_end=True,
        )
    except OSError as error:
        return CommandEnd(False, f"it cannot be run: {error.strerror}")
    output = data.decode("utf-8", "replace")
    end, is_cut = _end_of(visible(output)), len(data) >= MAX_OUTPUT_BYTES
    if late:
        told = f"it took longer than {timeout_s:g} s and was killed"
        return CommandEnd(
            False, f"{told}; the end of its output: {end}" if end else told, None, output, is_late=True, is_cut=is_cut
        )
    return CommandEnd(status == 0, f"status {status}; the end of its output: {end}", status, output, is_cut=is_cut)


def _end_of(text: str) -> str:
    """Return the end of a text from the beginning of a line on."""
    if len(text) <= MAX_TOLD_CHARS:
        return text
    end = text[-MAX_TOLD_CHARS:]
    rest = end.partition("\n")[2]
    # A line longer than all that is told is told from its middle on.
    return rest if rest.strip() else end
