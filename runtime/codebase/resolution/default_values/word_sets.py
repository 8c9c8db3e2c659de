"""Writes sets of words as text."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a text that blanks separate."""
    return frozenset(text.split())
