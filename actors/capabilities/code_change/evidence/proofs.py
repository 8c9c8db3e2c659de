"""Identifies the changed lines behind each piece of evidence, and what is doubtful about them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines, Lines
from actors.capabilities.code_change.evidence.checklist_evidence import (
    MAX_FILE_BYTES,
    asks_for_prose,
    is_prose,
    place_of,
)
from runtime.codebase.files.regular_file import read_start
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.language_registry import language_of
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS, Symbol
from runtime.contracts.session_state import Proof

# Where lines were only removed, nothing tells how many: so many items may rest on one such place, and one more.
REMOVAL_LINES = 4
_SCOPES = CALLABLE_KINDS | CONTAINER_KINDS
_FILE = re.compile(r"[\w@+./-]*[\w@+-]\.\w{1,8}")
_MOVE = re.compile(r"\b(?:mov|reorder|sort|relocat)", re.IGNORECASE)


def proofs_of(checklist: Sequence[Mapping[str, Any]], folder: Path, changed: ChangedLines) -> dict[str, Proof]:
    """Return done item → the changed lines that its evidence names; items without evidence are left out."""
    found = {}
    for entry in checklist:
        item, evidence = str(entry.get("item") or ""), str(entry.get("evidence") or "")
        proof = _proof(item, evidence, folder, changed) if entry.get("status") == "done" else None
        if proof is not None:
            doubt = _elsewhere(item, proof[1], folder, changed) or ("" if _MOVE.search(item) else proof[0].doubt)
            found[item] = msgspec.structs.replace(proof[0], doubt=doubt)
    return found


def _proof(item: str, evidence: str, folder: Path, changed: ChangedLines) -> tuple[Proof, str] | None:
    """Return what evidence rests on, and its file; None where it names no changed lines."""
    place = place_of(evidence)
    if place is None:
        gone = evidence.partition("deleted:")[2].strip()
        return (Proof(digest_of_lines(gone, ["deleted"]), 0), gone) if gone in changed.deleted else None
    file, start, end = place
    if changed.proves_whole(file, start):
        return Proof(digest_of_lines(file, ["whole"]), 0), file
    try:
        whole = read_start(folder / file, MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    text = whole.split("\n")
    parts = changed.within(file, start, min(end, len(text)))
    written = written_parts(parts, file, changed)
    lines = [line.strip() for pair in written or parts for line in text[pair[0] - 1 : pair[1]] if line.strip()]
    is_moved = bool(lines and written) and changed.removed.issuperset(lines)
    count = len(lines) if written else REMOVAL_LINES
    doubt = "its lines were moved, and are as they were" if is_moved else ""
    if not doubt and asks_for_prose(item) and is_prose(whole, file, tuple(written or parts), changed):
        doubt = "its lines do nothing, as comments and documentation do"
    at = next((first for first, last in written or parts for first in _filled(text, first, last)), start)
    return Proof(digest_of_lines(file, lines), count, doubt, _scope_at(symbols_of(file, whole), at)), file


def written_parts(parts: Lines, file: str, changed: ChangedLines) -> list[tuple[int, int]]:
    """Return the parts of a file that hold new lines; the others only stand beside what was removed."""
    beside = changed.removals.get(file, ())
    return [pair for pair in parts if not any(low <= pair[0] and pair[1] <= high for low, high in beside)]


def symbols_of(file: str, text: str) -> Sequence[Symbol]:
    """Return the functions and types of a file's text; of a language without a grammar those that its lines show."""
    data = text.encode("utf-8", "replace")
    found = parse(SourceText(text, hashlib.sha256(data).hexdigest()), file, language_of(file)).symbols
    # A module that begins at the first line is the file itself.
    return [each for each in found if each.kind in _SCOPES and (each.kind != "module" or each.start_line > 1)]


def _filled(text: Sequence[str], first: int, last: int) -> list[int]:
    return [number for number in range(first, last + 1) if text[number - 1].strip()]


def _scope_at(symbols: Sequence[Symbol], line: int) -> str:
    """Return the qualified name of the innermost function or type around a line; empty outside of all."""
    around = [each for each in symbols if each.start_line <= line <= each.end_line]
    return min(around, key=lambda each: each.end_line - each.start_line).qualified_name if around else ""


def digest_of_lines(file: str, lines: Sequence[str]) -> str:
    """Return what identifies lines of a file by their text, 16 hexadecimal digits."""
    return hashlib.sha256("\n".join((file, *lines)).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _elsewhere(item: str, file: str, folder: Path, changed: ChangedLines) -> str:
    """Return that an item names files of the repository, and none of them is that of its evidence; else nothing."""
    named = [name for name in dict.fromkeys(_FILE.findall(item)) if _is_file(name, folder, changed)]
    if not named or any(file == name or file.endswith(f"/{name}") for name in named):
        return ""
    return f"the item names {', '.join(named[:3])}, its evidence lies in {file}"


def _is_file(name: str, folder: Path, changed: ChangedLines) -> bool:
    if any(file == name or file.endswith(f"/{name}") for file in changed.files):
        return True
    try:
        return ".." not in name and not name.startswith("/") and (folder / name).is_file()
    except (OSError, ValueError):
        return False
