"""Methods that every program's strings, collections, files and threads have, by language.

A call of one of these on an object of which nothing is known is most likely a call of the language's own, also where
a single definition of the repository has that name. The lists stand in the records of the languages: names that their
own documentation gives to their built-in and everyday types. Left out is what only rare types have, and what programs
call things of their own by (run, start, send).
"""

from __future__ import annotations

import re

from runtime.codebase.files.languages import language_named
from runtime.primitives.dotted_names import last_part

LEAST_LETTERS = 3

_BREAKS = re.compile(r"[.:>]")
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def standard_names(language: str) -> frozenset[str]:
    """Names of everyday methods of a language; none where no list is kept."""
    return language_named(language).builtin_methods


def is_named_like(receiver: str, owner: str) -> bool:
    """Whether an object is called after a type, by the last parts of both.

    `jar` and `cookie_jar` are of `CookieJar`, `conn` is of `HTTPConnection`; `file` is not of `FileCache`.
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
