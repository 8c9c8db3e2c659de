"""Tells assertions that a change makes say something else.

A test that is weaker may make as many as before. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

# Lines of one assertion that are read, and characters that are told of it.
MAX_ASSERTION_LINES = 10
MAX_TOLD_CHARS = 80
MAX_NAME_CHARS = 80
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")

# A test by its file, its class and its name.
Holder = tuple[str, str, str]


def joined_assertion(lines: Sequence[str], index: int) -> str:
    """Return the assertion that begins at a line, with the lines up to its last bracket, blanks made one.

    Brackets within strings count too, so that an odd one takes in lines that follow: at most ten in all.
    """
    taken: list[str] = []
    depth = 0
    for line in lines[index : index + MAX_ASSERTION_LINES]:
        taken += line.split()
        depth += sum(char in _OPENING for char in line) - sum(char in _CLOSING for char in line)
        if depth <= 0:
            break
    return " ".join(taken)


def told_changes(before: Mapping[Holder, Counter[str]], after: Mapping[Holder, Counter[str]]) -> Iterator[str]:
    """Yield each test that still is there and asserts something else than before: its name, an old and a new text.

    A test that only makes more assertions, or only fewer, is not among them: the one is stronger, the other counted.
    """
    for holder, said in before.items():
        gone = list((said - after.get(holder, said)).elements())
        fresh = list((after.get(holder, said) - said).elements())
        if gone and fresh:
            more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
            file, _, name = holder
            yield f"{(name or file)[:MAX_NAME_CHARS]}: `{_short(gone[0])}` → `{_short(fresh[0])}`{more}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_TOLD_CHARS else f"{text[: MAX_TOLD_CHARS - 1]}…"
