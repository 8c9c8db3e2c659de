"""Tells bodies that shall have no effect from those that nobody has written yet."""

from __future__ import annotations

import re
from typing import Literal

# What a body without effect may be for: a message to a log, a failure, nothing at all, an answer without content.
Meant = Literal["logs", "fails", "nothing", "constant"]
# Words, in code or beside it, of what is still to be done.
_PROMISES = re.compile(
    r"\b(?:todo|fixme|xxx|tbd|not\s+(?:yet\s+)?implemented|(?:not_?|un)implemented\w*|placeholder|stub)\b",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"\b(?:raise|throw|panic|bail|abort|unreachable|fatalError)\b|\b(?:fail|exit|die|assert|error)\s*[!(]"
)
_GIVES = re.compile(
    r"\breturn\b[ \t]*[^\s;}]|(?:\)[\w\s:<>?]*=|=>)[ \t]*[^\s;}=>]|^\s*(?:nil|false|0|None|\[\]|\"\"|'')\s*$",
    re.MULTILINE,
)


def promises(text: str) -> bool:
    """Return whether a text says that something is still to be written."""
    return _PROMISES.search(text) is not None


def fails(code: str) -> bool:
    """Return whether code may fail on purpose."""
    return _FAILS.search(code) is not None


def gives_a_value(code: str) -> bool:
    """Return whether code says what it answers with."""
    return _GIVES.search(code) is not None
