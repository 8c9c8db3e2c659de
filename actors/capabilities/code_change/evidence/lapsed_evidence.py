"""Judges accepted evidence again on the present difference.

What proved an item may be taken back, emptied or honestly rewritten afterwards. Evidence holds while the same changed
lines stand somewhere in the file, or while a line of the same definition is still changed and does something.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines, Lines
from actors.capabilities.code_change.evidence.checklist_evidence import (
    MAX_FILE_BYTES,
    place_of,
    refutation,
    written_parts,
)
from actors.capabilities.code_change.evidence.definitions import symbols_of
from actors.capabilities.code_change.evidence.proofs import digest_of_lines, whole_digest
from runtime.codebase.files.regular_file import read_start
from runtime.contracts.session_state import ChecklistItem, Proof, Task
from runtime.contracts.shared_evidence import Lapse

# Beyond so many parts outside definitions the whole file is looked at once.
MAX_PARTS = 40


def lapsed_evidence(tasks: Sequence[Task], folder: Path, changed: ChangedLines) -> tuple[Lapse, ...]:
    """Return the done items of completed tasks whose evidence does not hold any more, each with the reason."""
    return tuple(
        Lapse(task.id, item.item, why)
        for task in tasks
        if task.status == "completed"
        for item in task.checklist
        if item.status == "done" and (why := _why_lapsed(item, folder, changed))
    )


def _why_lapsed(item: ChecklistItem, folder: Path, changed: ChangedLines) -> str | None:
    place = place_of(item.evidence)
    if place is None:
        return refutation(item.evidence, folder, changed, item.item)
    file, start, _ = place
    if item.proof is None:
        # A session of an earlier version noted no lines: where they are by now cannot be told.
        return None if file in changed.files else f"'{file}' does not differ any more"
    if file not in changed.files:
        return f"'{file}' does not differ any more"
    if changed.proves_whole(file, start) and item.proof.digest == whole_digest(file):
        return None
    try:
        text = read_start(folder / file, MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return f"there is no file '{file[:200]}' any more"
    ranges = (*_same_lines(file, text, item.proof, changed), *_same_definition(file, text, item.proof, changed))
    for first, last in dict.fromkeys(ranges):
        if refutation(f"{file}:{first}-{last}", folder, changed, item.item) is None:
            return None
    where = f" of {item.proof.scope}" if item.proof.scope else ""
    return f"the lines behind {item.evidence[:200]} were taken back or emptied, and nothing else{where} proves it"


def _same_lines(file: str, text: str, proof: Proof, changed: ChangedLines) -> Iterator[tuple[int, int]]:
    """Yield where the changed lines that a proof names stand now, in the same order."""
    lines = text.split("\n")
    parts = written_parts(changed.within(file, 1, len(lines)), file, changed)
    numbers = [number for first, last in parts for number in range(first, last + 1) if lines[number - 1].strip()]
    for place in range(len(numbers) - proof.lines + 1 if proof.lines else 0):
        window = numbers[place : place + proof.lines]
        if digest_of_lines(file, [lines[number - 1].strip() for number in window]) == proof.digest:
            yield window[0], window[-1]


def _same_definition(file: str, text: str, proof: Proof, changed: ChangedLines) -> Lines:
    """Return the lines of the definition that a proof lay in; those outside of all definitions where it lay in none."""
    symbols = symbols_of(file, text)
    if proof.scope:
        return tuple((each.start_line, each.end_line) for each in symbols if each.qualified_name == proof.scope)
    count = max(1, text.count("\n") + (not text.endswith("\n")))
    inside = sorted((each.start_line, each.end_line) for each in symbols)
    outside, at = [], 1
    for first, last in (*inside, (count + 1, count + 1)):
        if at < first and changed.within(file, at, first - 1):
            outside.append((at, first - 1))
        at = max(at, last + 1)
    return tuple(outside) if len(outside) <= MAX_PARTS else ((1, count),)
