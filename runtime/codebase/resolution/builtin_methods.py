"""Recognises the methods of a language's built-in and everyday types, such as strings and collections.

A call of one of these on an object of unknown type is most likely a call of the language's own method, even if only one
definition of the repository has that name. The lists are in the language records: names that the language's own
documentation gives to its everyday types. Methods of rare types, and names that programs often use for their own
methods (run, start, send), are left out.
"""

from __future__ import annotations

import re

from runtime.codebase.language_registry import language_named
from runtime.primitives.dotted_names import last_part

LEAST_LETTERS = 3

_BREAKS = re.compile(r"[.:>]")
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def standard_names(language: str) -> frozenset[str]:
    """Return the names of a language's everyday methods; empty without a list."""
    return language_named(language).builtin_methods


def is_named_like(receiver: str, owner: str) -> bool:
    """Return True if a receiver is named after a type, comparing the last parts of both.

    `jar` and `cookie_jar` are named after `CookieJar`, `conn` after `HTTPConnection`; `file` is not after `FileCache`.
    """
    said = _letters(_BREAKS.split(receiver.removesuffix("()"))[-1])
    kind = last_part(owner)
    last_word = (_WORDS.findall(kind) or [""])[-1].lower()
    if len(said) < LEAST_LETTERS or not last_word:
        return False
    return (
        said.endswith(_letters(kind))
        or _letters(kind).endswith(said)
        or (len(said) > LEAST_LETTERS and last_word.startswith(said))
    )


def _letters(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
