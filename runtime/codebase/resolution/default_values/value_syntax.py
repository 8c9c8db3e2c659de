"""Looks up how a language writes values."""

from __future__ import annotations

from runtime.codebase.language_parts.value_syntax import ValueSyntax
from runtime.codebase.language_registry import language_named


def syntax_of(language: str) -> ValueSyntax:
    """Return how a language writes values; one without any place of values for a language that does not say."""
    return language_named(language).values or _NONE


def has_values(language: str) -> bool:
    """Return whether a language says how it writes values."""
    return language_named(language).values is not None


_NONE = ValueSyntax()
