"""Lists the files that contain a string by ripgrep, if it is installed, as a fast prefilter.

The lines themselves are always found by our own search, so results are the same with and without it.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Sequence
from pathlib import Path

from runtime.codebase.files.walk import EXCLUDED_FOLDERS
from runtime.processes.programs import program_folders, run_program

# For 100,000 files that are not in the memory of the machine; our own search would take longer.
TIMEOUT_S = 4.0
MAX_OUTPUT_BYTES = 64_000_000
_OPTIONS = (
    *("--no-config", "--no-ignore", "--hidden", "--no-messages", "--text", "--fixed-strings"),
    *("--files-with-matches", "--null", "--color=never"),
    *(f"--glob=!{folder}/" for folder in sorted(EXCLUDED_FOLDERS)),
)


@functools.cache
def program() -> str | None:
    """Return the path of ripgrep, None if it is not installed; looked up once."""
    return shutil.which("rg", path=program_folders())


def files_with(
    root: Path, literal: str, *, case_sensitive: bool, command: Sequence[str], timeout_s: float = TIMEOUT_S
) -> frozenset[str] | None:
    """Return the paths, relative to the root, of files that contain a one-line string; None on failure or timeout.

    The result may name more files than the index has, and never misses one of those.
    """
    case = "--case-sensitive" if case_sensitive else "--ignore-case"
    try:
        done = run_program(
            [*command, *_OPTIONS, case, "--regexp", literal, "./"],
            cwd=root,
            timeout_s=timeout_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
        )
    except (OSError, ValueError):
        return None
    if done.is_late or len(done.output) >= MAX_OUTPUT_BYTES:
        return None
    # 1: nothing found. 2 includes files that could not be read; then the list may be incomplete.
    if done.status not in (0, 1):
        return None
    names = done.output.decode("utf-8", "surrogateescape").split("\0")
    return frozenset(name.removeprefix("./") for name in names if name)
