"""Splits dotted names of symbols in code."""

from __future__ import annotations


def last_part(name: str) -> str:
    """Return the last part of a dotted name: `accept` of `Depot.accept`."""
    return name.rpartition(".")[2]
