"""Reads places however they are written, and gives each as the repository writes it.

Agents write places as their editor, terminal or forge does. Only what can mean one place alone is read so: an exact
name goes first, and `..`, links and other folders are left as they are, to be refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

# A longer text is no place.
MAX_PLACE_CHARS = 5_000
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212"
_NUMBER = r"\d{1,9}"
# `a.py:5`, `a.py:5-9` with any dash, `a.py#L5`, `a.py#L5-L9`, `a.py:L5-9`.
_LINES = re.compile(rf"(?:#L|:L?)({_NUMBER})(?:\s?[{_DASHES}]\s?L?({_NUMBER}))?\Z")
_DELETED = re.compile(r"deleted:\s*(?=\S)")
_QUOTES = ("`", '"', "'")


def with_plain_places(payload: object, folder: Path) -> object:
    """Return a submission with the evidence of its checklist as the repository writes it."""
    checklist = payload.get("checklist") if isinstance(payload, Mapping) else None
    if not isinstance(payload, Mapping) or not isinstance(checklist, list):
        return payload
    return {**payload, "checklist": [_with_plain_place(entry, folder) for entry in checklist]}


def plain_place(evidence: str, folder: Path) -> str:
    """Return evidence as the repository writes it; as it was where it names no one place."""
    said = evidence.strip()
    if len(said) > MAX_PLACE_CHARS or "\0" in said:
        return evidence
    if len(said) > 1 and said[0] == said[-1] and said[0] in _QUOTES:
        said = said[1:-1].strip()
    if gone := _DELETED.match(said):
        return f"deleted: {_plain_path(said[gone.end() :], folder)}"
    lines = _LINES.search(said)
    if lines is None:
        return evidence
    first, last = lines.groups()
    file = _plain_path(said[: lines.start()], folder)
    return f"{file}:{first}-{last}" if last else f"{file}:{first}"


def _with_plain_place(entry: Any, folder: Path) -> Any:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("evidence"), str):
        return entry
    return {**entry, "evidence": plain_place(entry["evidence"], folder)}


def _plain_path(written: str, folder: Path) -> str:
    """Return a path from the top of a folder; as it was where it leads elsewhere or is there."""
    # Clients on Windows write backslashes; here they may be part of a name, which then goes first.
    slashed = written if os.path.lexists(folder / written) else written.replace("\\", "/")
    path = PurePosixPath(slashed)
    if not path.is_absolute():
        return str(path) if slashed.strip("/") else written
    for top in (folder, Path(os.path.realpath(folder))):
        if path.is_relative_to(top) and path != PurePosixPath(top):
            return str(path.relative_to(top))
    return written
