"""Counts the words of a submitted text, so that a letter or a mark stands for no sentence. Pure."""

from __future__ import annotations

import re
import unicodedata

# Scripts that put no blanks between words, beside those whose characters are wide: three letters count as a word.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{3}")
_LEAST_LETTERS = 2


def words_in(text: str) -> int:
    """Return how many different words of two letters or digits a text has; a path, or a name with dots, is one.

    An ideograph or another wide character is a word by itself.
    """
    found: set[str] = set()
    for token in text.casefold().split():
        wide = {char for char in token if char.isalnum() and unicodedata.east_asian_width(char) == "W"}
        rest = [char for char in token if char.isalnum() and char not in wide]
        unspaced = set(_UNSPACED.findall(token))
        found |= wide | unspaced
        if not unspaced and len(rest) >= _LEAST_LETTERS:
            found.add("".join(rest))
    return len(found)
