"""Tells findings that are a few words and name nothing of the code that was explored. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.contracts.said_words import words_in
from runtime.contracts.session_state import SessionState

VAGUE = (
    "the findings of the exploration are short, and name neither a file that was shown nor a word of the request, "
    "which the person should hear: "
)
# So many words may well say something, whatever they name.
ENOUGH_WORDS = 4
MAX_NAMED = 3
MAX_FINDING_CHARS = 60
_LEAST_LETTERS = 3
_WORD = re.compile(r"[^\W_]+")


def vague_findings(state: SessionState, findings: Sequence[str]) -> str:
    """Return that findings name nothing of what a session is about, as a sentence; empty where one of them does."""
    symbols = state.frame.symbols if state.frame is not None else ()
    known = _words(state.query, *symbols, *state.shown)
    if any(words_in(finding) >= ENOUGH_WORDS or not known.isdisjoint(_words(finding)) for finding in findings):
        return ""
    return VAGUE + ", ".join(f"«{finding[:MAX_FINDING_CHARS]}»" for finding in findings[:MAX_NAMED])


def _words(*texts: str) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text.casefold()) if len(word) >= _LEAST_LETTERS}
