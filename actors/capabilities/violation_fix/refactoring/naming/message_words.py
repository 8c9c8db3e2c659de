"""Reads from the messages of exceptions what the tests that raise them are about."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.naming.name_words import is_good_noun, words_in

# What a message says of its subject begins with one of these.
_PREDICATE = re.compile(
    r"^(?P<subject>[A-Za-z][\w' -]*?)\s+(?:must|should|can|cannot|can't|may|has to|have to|needs? to|is|are|does|do)\b"
)
_BEFORE_NOUN = words_in("the a an all any each every both given number of your this these")
_MAX_WORDS = 3


def subject_of_messages(nodes: Sequence[ast.AST]) -> str | None:
    """Return the subject that all messages of exceptions share: of «Port must be …» it is `port`."""
    raised = [node for node in nodes if isinstance(node, ast.Raise)]
    subjects = {_subject_of(text) for each in raised for text in _message_of(each)}
    subject = subjects.pop() if len(subjects) == 1 else None
    return subject if raised and subject and is_good_noun(subject) else None


def _message_of(raised: ast.Raise) -> Iterator[str]:
    """Yield the text that an exception begins with; nothing is known of one without."""
    given = raised.exc.args if isinstance(raised.exc, ast.Call) else []
    first = given[0] if given else None
    if isinstance(first, ast.BinOp):
        first = first.left
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute):
        first = first.func.value
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    yield first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _subject_of(text: str) -> str:
    found = _PREDICATE.match(text.strip().replace('"', "").replace("`", ""))
    words = re.split(r"[\s-]+", found["subject"].replace("'", "").lower()) if found is not None else []
    while words and words[0] in _BEFORE_NOUN:
        words = words[1:]
    if not 1 <= len(words) <= _MAX_WORDS or not all(re.fullmatch(r"[a-z][a-z_]*", word) for word in words):
        return ""
    return "_".join(words)
