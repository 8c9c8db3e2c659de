"""Tells whether words were copied from a query, whatever its script and its quotation marks. Pure."""

from __future__ import annotations

import re
import unicodedata

# Marks that a keyboard or an editor puts in the place of others.
_MARKS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
# Scripts that are written without blanks between words, or that add particles to a name without one.
_UNSPACED = ("CJK ", "HIRAGANA ", "KATAKANA ", "HANGUL ", "BOPOMOFO ", "YI ", "THAI ", "LAO ", "KHMER ", "MYANMAR ")


def is_quoted(quote: str, query: str) -> bool:
    """Return whether a quote occurs in a query as whole words; white space, case and forms of quotation marks aside."""
    wanted, text = _plain(quote), _plain(query)
    places = (found.start() for found in re.finditer(f"(?={re.escape(wanted)})", text))
    return bool(wanted) and any(_stands_alone(text, at, at + len(wanted)) for at in places)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_MARKS).split()).casefold()


def _stands_alone(text: str, start: int, end: int) -> bool:
    return (start == 0 or _parts(text[start - 1], text[start])) and (
        end == len(text) or _parts(text[end - 1], text[end])
    )


def _parts(before: str, after: str) -> bool:
    """Return whether one word may end and another one begin between two characters."""
    return not (_is_of_word(before) and _is_of_word(after)) or _is_unspaced(before) or _is_unspaced(after)


def _is_of_word(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in "LMN"


def _is_unspaced(char: str) -> bool:
    return char.isalpha() and unicodedata.name(char, "").startswith(_UNSPACED)
