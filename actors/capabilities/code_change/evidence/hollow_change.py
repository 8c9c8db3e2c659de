"""Finds functions of a change that do nothing or little, whatever is its evidence. Effects block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines
from actors.capabilities.code_change.evidence.checklist_evidence import written_parts
from actors.capabilities.code_change.evidence.constant_answers import constant_answers
from actors.capabilities.code_change.evidence.definitions import hollow_functions
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.regular_file import read_start
from runtime.codebase.language_parts.cython_lines import is_cython
from runtime.codebase.language_registry import language_at

# Of all files together: a file of 30,000 bytes takes some tenths of a second.
MAX_BYTES = 600_000
# Of one file.
MAX_FUNCTIONS = 1_000
MAX_NAMED = 10
HOLLOW = "these functions of the change do nothing, which may be meant: "
CONSTANT = "these functions of the change only give a constant answer, which may be meant: "


def hollow_in_change(folder: Path, changed: ChangedLines) -> str:
    """Return which functions with changed lines do nothing, or only give a constant, as a sentence; empty without any.

    Those of tests are left out.
    """
    named = [change.file for change in changed.changes if change.how != "deleted"]
    parsed = [file for file in named if _is_parsed(file) and kind_of_path(file) != "test"]
    found: list[str] = []
    constant: list[str] = []
    left, unseen = MAX_BYTES, 0
    for file in parsed:
        try:
            data = read_start(folder / file, left + 1)
        except (OSError, ValueError):  # gone meanwhile, or no file: no function can be looked at
            continue
        if len(data) > left:
            unseen += 1
            continue
        left -= len(data)
        text = data.decode("utf-8", "replace")
        parts = written_parts(changed.lines.get(file, ()), file, changed)
        found += (f"{name} in {file}" for name in hollow_functions(text, file, parts, MAX_FUNCTIONS).names)
        names = constant_answers(text, file, tuple(parts), changed, MAX_FUNCTIONS)
        constant += (f"{name} in {file}" for name in names if f"{name} in {file}" not in found)
    told = [*_told(HOLLOW, found), *_told(CONSTANT, constant)]
    told += [f"changed files too long to be looked at for functions that do nothing: {unseen}"] if unseen else []
    return "; ".join(told)


def _told(what: str, names: Sequence[str]) -> list[str]:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return [f"{what}{', '.join(names[:MAX_NAMED])}{more}"] if names else []


def _is_parsed(file: str) -> bool:
    return language_at(file).grammar is not None or is_cython(file)
