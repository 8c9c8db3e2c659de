"""Finds the lines that have a name, whether or not anything is known of what it means there."""

from __future__ import annotations

import re

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path, kind_of_place
from runtime.codebase.files.words import looks_like_identifier
from runtime.codebase.index.records import ReferenceRecord, TextHit
from runtime.primitives.dotted_names import last_part

SCANNED_LINES = 400
_NAME = re.compile(r"[A-Za-z_$][\w$]*")


def _assigned(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])[\"']?\]?\s*(?::[^=:]*)?(?::=|=(?!=)|:(?!:|\s*$))")


def mentions_of(codebase: Codebase, wanted: str, limit: int) -> list[ReferenceRecord]:
    """Return the recorded references to the last part of a name, else the lines that have it in any case."""
    last = last_part(wanted)
    found = codebase.references(last, limit=limit)
    if found:
        return found
    hits = codebase.search_text(last, case_sensitive=False, max_hits=limit).hits
    return [ReferenceRecord(hit.file, hit.line, last, "reference") for hit in hits]


def lines_with(codebase: Codebase, wanted: str, limit: int) -> list[ReferenceRecord]:
    """Return the lines with the last part of a name as a whole word, those that assign it first, then by place.

    Empty for a name that no line of code assigns: it belongs to another package, and is not a field.
    """
    last = last_part(wanted)
    if not _NAME.fullmatch(last):
        return []
    word = re.compile(rf"(?<![\w$]){re.escape(last)}(?![\w$])")
    assigned = _assigned(last)
    hits = [hit for hit in codebase.search_text(last, max_hits=SCANNED_LINES).hits if word.search(hit.text)]
    if not any(kind_of_path(hit.file) in {"source", "test"} and assigned.search(hit.text) for hit in hits):
        return []
    hits.sort(key=lambda hit: (kind_of_path(hit.file) == "docs", assigned.search(hit.text) is None, hit.file, hit.line))
    kept = hits[: limit + 1]
    return [ReferenceRecord(hit.file, hit.line, last, "reference", enclosing=_around(codebase, hit)) for hit in kept]


def _around(codebase: Codebase, hit: TextHit) -> str | None:
    symbol = codebase.symbol_at(hit.file, hit.line)
    return symbol.qualified_name if symbol else None


def named_in_tests(codebase: Codebase, name: str, limit: int) -> list[ReferenceRecord]:
    """Return the lines of tests that have a name which is spelt like no word: a setting is given by it, say."""
    if not looks_like_identifier(name):
        return []
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    hits = codebase.search_text(name, max_hits=SCANNED_LINES).hits
    lines = (
        ReferenceRecord(hit.file, hit.line, name, "reference", enclosing=_around(codebase, hit))
        for hit in hits
        if word.search(hit.text) is not None
    )
    return [line for line in lines if is_in_test(line)][:limit]


def is_in_test(use: ReferenceRecord) -> bool:
    """Return whether a use stands in a test, by its file or by the definition around it."""
    return kind_of_place(use.file, f"{use.enclosing}." if use.enclosing else None) == "test"
