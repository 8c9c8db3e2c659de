"""Tells by its form whether a sentence answers a question: «because» a why, a number a how many.

The words are those of English; a question or a sentence in another language has none. Pure functions.
"""

from __future__ import annotations

import re

# What is asked, and what a sentence that answers has.
_CUES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(said, re.IGNORECASE))
    for asked, said in (
        (
            r"^why\b|\breason",
            r"\b(?:because|since|so that|in order to|to (?:avoid|prevent|ensure|make sure|allow|keep)|therefore|thus"
            r"|otherwise|reason|due to|this (?:is|means|allows|prevents|ensures)|as (?:it|this|the))\b",
        ),
        (
            r"default|unless|if I (?:set|give|say|choose|ask)|how (?:many|long|often|much|big|large|wide)"
            r"|which (?:port|version|number)",
            r"\bdefaults?\b|\d",
        ),
        (r"^where\b", r"\b(?:in|at|under|from|to)\b .{0,200}[`/]|stored|located|kept|path|directory|file"),
        (
            r"what (?:happens|is (?:thrown|called)|if|do(?:es)? .{0,200} get)|^when\b|^which (?:error|exception)",
            r"\b(?:if|when|once|unless|after|will|raises?|throws?|fails?|error|exception)\b",
        ),
        (
            r"^(?:can|may|is|are|does|do|must|should|will|has)\b",
            r"\b(?:can|cannot|may|must|not|only|support|supports|supported|possible|should|allow|allows|always|never)\b"
            r"|n['’]t\b",
        ),
        (
            r"^how (?:do|can|is|are|does|could|should|to)\b",
            r"\b(?:you can|use|set|setting|call|pass|specify|by|need to|option|to \w+)\b",
        ),
    )
)
_COUNTS = re.compile(r"\bhow (?:many|long|often|much|big|large)\b", re.IGNORECASE)
_DEFAULT = re.compile(r"\bdefault|\bunless\b|\bif I (?:set|give|say|choose)\b", re.IGNORECASE)


class AnswerCues:
    """Looks for what a sentence that answers one question has."""

    def __init__(self, question: str) -> None:
        asked = question.strip()
        self._said = [said for kind, said in _CUES if kind.search(asked)]
        self._counts = _COUNTS.search(asked) is not None
        self._default = _DEFAULT.search(asked) is not None

    def of(self, sentence: str) -> tuple[float, float, float]:
        """Return whether a sentence has such a word, whether it has the number, and the default, that is asked for."""
        has_word = any(said.search(sentence) for said in self._said)
        has_number = self._counts and any(map(str.isdigit, sentence))
        return float(has_word), float(has_number), float(self._default and "default" in sentence.lower())
