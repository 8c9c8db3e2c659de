"""Sorts the texts of errors into categories, so that failures can be compared whose texts differ."""

from __future__ import annotations

import hashlib
import re

# The first pattern that occurs in the text of an error names its category.
ERROR_CATEGORIES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("timeout", re.compile(r"tim(?:ed|e) ?out|took longer than|deadline exceeded", re.IGNORECASE)),
    ("test_regression", re.compile(r"broke \w*\s*tests?|regress|revert|taken back|tests? that passed", re.IGNORECASE)),
    ("extraction_blocked", re.compile(r"control flow|cannot extract|extraction blocked", re.IGNORECASE)),
    ("syntax_error", re.compile(r"syntax|does not parse|unexpected indent", re.IGNORECASE)),
    ("not_found", re.compile(r"not found|no such file|does not exist|unknown (?:function|file)", re.IGNORECASE)),
)


def error_category(error: str | None) -> str:
    """Return the category of an error's text: "other" if no pattern occurs in it, "" for no text."""
    if not error:
        return ""
    return next((name for name, pattern in ERROR_CATEGORIES if pattern.search(error)), "other")


def error_digest(error: str | None) -> str:
    """Return a digest that numbers in the text do not change: lines and durations differ where the error does not."""
    if not error:
        return ""
    plain = " ".join(re.sub(r"\d+", "#", error.lower()).split())
    return hashlib.blake2b(plain.encode(), digest_size=12).hexdigest()
