"""Says what is wrong with the message of a commit, so that its log shows what it says. Pure."""

from __future__ import annotations

import unicodedata

MAX_SUBJECT_CHARS = 72
_ASKED = "commit_message: its first line says what changes, in at most {most} characters; this one has {count}"
# They have a reader see other words than the text has, or see them in another order.
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain_message(message: str) -> str:
    """Return a message with the line ends that git writes."""
    return message.replace("\r\n", "\n").strip()


def problems_of_message(message: str) -> list[str]:
    """Return why a message cannot be committed: a first line that is too long, or characters that hide what it says."""
    text = plain_message(message)
    count = len(text.partition("\n")[0])
    found = [_ASKED.format(most=MAX_SUBJECT_CHARS, count=count)] if count > MAX_SUBJECT_CHARS else []
    hidden = [char for char in dict.fromkeys(text) if _hides(char)]
    if hidden:
        named = ", ".join(f"U+{ord(char):04X}" for char in hidden[:5])
        found.append(
            f"commit_message: it holds {named}, control characters or marks of writing direction, which show other "
            "words than are there; leave them out"
        )
    return found


def _hides(char: str) -> bool:
    return char in _REORDERING or (unicodedata.category(char) == "Cc" and char not in "\n\t")
