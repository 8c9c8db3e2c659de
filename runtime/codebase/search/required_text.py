"""Finds texts that every match of a regular expression contains, so that most lines need no search.

Only what stands for itself outside of groups counts, of alternatives what all of them have, and nothing in a pattern
with flags: less than there may be, and never more. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Shorter ones are in most files.
MIN_CHARS = 3

_OPTIONAL = "*?{"
# What begins a group that sets no flags: look-arounds, names, comments, and groups without a number.
_PLAIN_GROUP = re.compile(r"\((?!\?)|\(\?(?:[:=!>#]|<[=!]|P?<\w+>|P=\w+\))")
# Classes of POSIX, and counts of errors: both mean something to the module `regex` alone.
_FOREIGN = re.compile(r"\[[:.=]|\{(?!\d*,?\d*\})")
# Escapes of one letter, none of which is followed by anything that belongs to it.
_CLASSES = frozenset("bBdDsSwWAZ")
_CONTROLS = frozenset("abfnrtv")


def required_texts(pattern: str) -> tuple[str, ...]:
    """Return texts of at least three characters that are part of every match of a valid pattern; empty if unknown."""
    if _FOREIGN.search(pattern):
        return ()
    try:
        alternatives = _alternatives(pattern)
    except _UnknownError:
        return ()
    runs = dict.fromkeys(run for each in alternatives for run in each if len(run) >= MIN_CHARS)
    return tuple(run for run in runs if all(any(run in other for other in each) for each in alternatives))


class _UnknownError(Exception):
    """Reports something in a pattern that may change what the rest means."""


def _alternatives(pattern: str) -> list[list[str]]:
    """Return for each alternative the runs of characters that stand for themselves."""
    found: list[list[str]] = [[]]
    for run in _runs(pattern):
        if run is None:
            found.append([])
        else:
            found[-1].append(run)
    return found


def _runs(pattern: str) -> Iterator[str | None]:
    """Yield the runs of characters outside of groups that stand for themselves, and None between alternatives."""
    run = ""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char in _OPTIONAL:
            # What stands before it may be missing.
            yield run[:-1]
            run, at = "", _behind_counts(pattern, at)
        elif char == "|":
            yield run
            yield None
            run, at = "", at + 1
        elif char == "\\" and pattern[at + 1] not in _CLASSES | _CONTROLS and not pattern[at + 1].isalnum():
            run, at = run + pattern[at + 1], at + 2
        elif char in "\\([.^$+)":
            yield run
            run, at = "", _behind(pattern, at)
        else:
            run, at = run + char, at + 1
    yield run


def _behind(pattern: str, at: int) -> int:
    """Return where what stands for something else ends."""
    char = pattern[at]
    if char == "(":
        return _behind_group(pattern, at)
    if char == "[":
        return _behind_set(pattern, at)
    if char == "\\":
        return _behind_escape(pattern, at)
    return at + 1


def _behind_counts(pattern: str, at: int) -> int:
    end = pattern.find("}", at) if pattern[at] == "{" else at
    return end + 1 if end >= 0 else len(pattern)


def _behind_escape(pattern: str, at: int) -> int:
    letter = pattern[at + 1]
    if letter.isalnum() and letter not in _CLASSES | _CONTROLS:
        raise _UnknownError  # numbers of groups and characters, which go on
    return at + 2


def _behind_set(pattern: str, at: int) -> int:
    at += 2 if pattern.startswith("[^", at) else 1
    # A bracket that comes first closes nothing.
    at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _behind_group(pattern: str, at: int) -> int:
    depth = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "(":
            opened = _PLAIN_GROUP.match(pattern, at)
            if opened is None:
                raise _UnknownError
            if opened.group().startswith("(?#"):
                at = pattern.index(")", at) + 1
            else:
                depth += not opened.group().endswith(")")
                at = opened.end()
        elif char == "[":
            at = _behind_set(pattern, at)
        else:
            depth -= char == ")"
            at += 2 if char == "\\" else 1
        if depth <= 0:
            return at
    return at
