"""Identifies the changed lines behind each piece of evidence, and what is doubtful about them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.capabilities.code_change.evidence.changed_lines import ALL_LINES, ChangedLines
from actors.capabilities.code_change.evidence.checklist_evidence import (
    MAX_FILE_BYTES,
    is_beside_blank_removal,
    is_package_marker,
    is_prose,
    is_quiet_on_purpose,
    place_of,
    written_parts,
)
from actors.capabilities.code_change.evidence.constant_answers import asks_for_constant, constant_answers
from actors.capabilities.code_change.evidence.definitions import bare_types, hollow_functions, innermost, symbols_of
from actors.capabilities.code_change.evidence.item_words import asks_of
from runtime.codebase.files.regular_file import read_start
from runtime.codebase.parsing.bodies.empty_bodies import is_empty
from runtime.contracts.session_state import Proof

# Where lines were only removed, nothing tells how many: so many items may rest on one such place, and one more.
REMOVAL_LINES = 4
MAX_HOLLOW = 3
_FILE = re.compile(r"[\w@+./-]*[\w@+-]\.\w{1,8}")
_MODE = re.compile(r"\bmode|chmod|executabl|permission|runnable|\+x\b", re.IGNORECASE)
_LEAVES = re.compile(r"\b(?:mov|renam|replac|merg|split|inlin|relocat)", re.IGNORECASE)
# Of an item that speaks so, a new file may hold the old lines.
_RENAME = re.compile(r"\b(?:renam|split|extract)", re.IGNORECASE)
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
    place, asks = place_of(evidence), asks_of(item)
    if place is None:
        gone = evidence.partition("deleted:")[2].strip()
        doubt = "" if _LEAVES.search(item) or asks.removal else "a deleted file is all that proves it"
        return (Proof(digest_of_lines(gone, ["deleted"]), 0, doubt), gone) if gone in changed.deleted else None
    file, start, end = place
    if changed.proves_whole(file, start):
        is_mode = file in changed.modes and not _MODE.search(item)
        return Proof(whole_digest(file), 0, "a change of its mode is all that proves it" * is_mode), file
    try:
        whole = read_start(folder / file, MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    text = whole.split("\n")
    parts = changed.within(file, start, min(end, len(text)))
    written = written_parts(parts, file, changed)
    lines = [line.strip() for pair in written or parts for line in text[pair[0] - 1 : pair[1]] if line.strip()]
    is_moved = bool(lines and written) and _is_moved(item, file, lines, changed)
    count = len(lines) if written else REMOVAL_LINES
    doubt = "its lines were moved, and are as they were" if is_moved else ""
    if not doubt and asks.prose and is_prose(whole, file, tuple(written or parts), changed):
        doubt = "its lines do nothing, as comments and documentation do"
    if not doubt and asks.package and is_package_marker(file, changed) and is_empty(whole, file, start, end):
        doubt = "a file without code is all that proves it, as a package may be"
    if not doubt and written and asks.quiet and is_empty(whole, file, start, end):
        doubt = "lines that do nothing are all that proves it, as ignoring may be"
    if not doubt and is_quiet_on_purpose(whole, file, tuple(written), asks):
        doubt = "lines that do nothing are all that proves it, as the item asks"
    if not doubt and is_beside_blank_removal(file, start, end, changed):
        doubt = "what was removed there are blank lines or comments"
    if not doubt and (hollow := hollow_functions(whole, file, written).names):
        doubt = f"{', '.join(hollow[:MAX_HOLLOW])} among its lines does nothing"
    if not doubt and not asks_for_constant(item) and (same := constant_answers(whole, file, tuple(written), changed)):
        doubt = f"{', '.join(same[:MAX_HOLLOW])} among its lines only gives a constant answer"
    if not doubt and not asks.type and (bare := bare_types(whole, file, written)):
        doubt = f"{', '.join(each.name for each in bare[:MAX_HOLLOW])} among its lines holds nothing of its own"
    at = next((first for first, last in written or parts for first in _filled(text, first, last)), start)
    scope = innermost(symbols_of(file, whole), at)
    return Proof(digest_of_lines(file, lines), count, doubt, scope.qualified_name if scope else ""), file


def _is_moved(item: str, file: str, lines: Sequence[str], changed: ChangedLines) -> bool:
    is_asked = changed.lines.get(file) == ALL_LINES and _RENAME.search(item) is not None
    return changed.removed.issuperset(lines) and not is_asked


def _filled(text: Sequence[str], first: int, last: int) -> list[int]:
    return [number for number in range(first, last + 1) if text[number - 1].strip()]


def whole_digest(file: str) -> str:
    """Return what identifies a file that differs as a whole."""
    return digest_of_lines(file, ["whole"])


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
