"""Tells ordinary words of English and software from names of particular things, such as `kafka`.

`lexicon.txt` is made by tests/ranking/lexicon.py from the vocabulary of the sentence model's tokenizer and from the
words that many of the ranker's training repositories share; NOTICE has its origin.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).parent / "lexicon.txt"
LEAST_BASE_CHARS = 3
LEAST_REST_CHARS = 4

# An ending and what stands in its place in the base form.
_ENDINGS = (
    *(("ies", "y"), ("es", ""), ("s", ""), ("ied", "y"), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e")),
    *(("ly", ""), ("est", ""), ("est", "e"), ("iness", "y"), ("ness", ""), ("less", ""), ("ful", "")),
    *(("able", ""), ("able", "e"), ("th", ""), ("ization", "ize"), ("isation", "ise"), ("ation", "ate")),
)
_BEGINNINGS = (
    *("un", "re", "de", "non", "pre", "mis", "over", "under", "sub", "multi", "inter", "auto", "super", "semi", "kilo"),
    *("mega", "giga", "tera", "micro", "nano", "milli", "anti", "counter", "meta", "post", "out"),
)
# Words with these endings describe a thing and name none.
_DESCRIBING = ("ous", "ously", "ical", "ically", "ish", "ward", "wards", "some", "fold", "wise")


@functools.cache
def _words() -> frozenset[str]:
    return frozenset(FILE.read_text(encoding="ascii").split())


def base_forms(word: str) -> Iterator[str]:
    """Yield what a lower-case word may be a form of, itself left out: `replay`, `replaye` of `replayed`."""
    for ending, instead in _ENDINGS:
        base = word.removesuffix(ending)
        if base != word and len(base) + len(instead) >= LEAST_BASE_CHARS:
            yield base + instead
            if not instead and len(base) > LEAST_BASE_CHARS and base[-1] == base[-2]:
                yield base[:-1]


def is_ordinary(word: str) -> bool:
    """Return True for a word of common English or of software in general, in any form."""
    word = word.lower()
    if word.endswith(_DESCRIBING) or _is_known(word):
        return True
    rests = (word.removeprefix(beginning) for beginning in _BEGINNINGS)
    return any(rest != word and len(rest) >= LEAST_REST_CHARS and _is_known(rest) for rest in rests)


def _is_known(word: str) -> bool:
    words = _words()
    return word in words or any(base in words for base in base_forms(word))
