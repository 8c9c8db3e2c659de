"""Finds functions of a change that do nothing, whichever lines were named as evidence. Effects block."""

from __future__ import annotations

from pathlib import Path

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines
from actors.capabilities.code_change.evidence.checklist_evidence import written_parts
from actors.capabilities.code_change.evidence.definitions import hollow_functions
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.regular_file import read_start
from runtime.codebase.language_parts.cython_lines import is_cython
from runtime.codebase.language_registry import language_at

MAX_FILES = 50
MAX_BYTES = 400_000
# Of one file; a function is judged in some ten milliseconds.
MAX_FUNCTIONS = 100
MAX_NAMED = 10
HOLLOW = "these functions of the change do nothing, which may be meant: "


def hollow_in_change(folder: Path, changed: ChangedLines) -> str:
    """Return which functions with changed lines do nothing, those of tests aside, as a sentence; empty without any."""
    named = [change.file for change in changed.changes if change.how != "deleted"]
    parsed = [file for file in named if _is_parsed(file) and kind_of_path(file) != "test"]
    found: list[str] = []
    for file in parsed[:MAX_FILES]:
        try:
            text = read_start(folder / file, MAX_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
        parts = written_parts(changed.lines.get(file, ()), file, changed)
        found += (f"{name} in {file}" for name in hollow_functions(text, file, parts, MAX_FUNCTIONS).names)
    if not found:
        return ""
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return f"{HOLLOW}{', '.join(found[:MAX_NAMED])}{more}"


def _is_parsed(file: str) -> bool:
    return language_at(file).grammar is not None or is_cython(file)
