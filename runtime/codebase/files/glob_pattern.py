"""Translates patterns of ignore files into regular expressions that cannot backtrack exponentially.

The rules are those of git (wildmatch with slashes kept apart), on bytes. A star is followed by pieces of fixed length,
so the first place where a piece fits is always good enough; atomic groups keep the matcher from trying the others. For
a path of n bytes and a pattern of m the work is at most of the order n * m, times the folders of the path for `**/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_CLASSES = {
    b"alnum": b"0-9A-Za-z",
    b"alpha": b"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": b"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": b"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    b"space": rb" \t\n\r",
    b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}
_MAGIC = re.compile(rb"[*?\[\\]")
_NOTHING = b"(?!)"
_IN_SEGMENT = b"[^/]"
_FOLDERS = b"(?:[^/]*/)*"


class _Piece(NamedTuple):
    """Holds a part of a pattern: `regex` for one byte or more of fixed length, or a star if `star` says of which kind.

    Stars: `*` for anything in a segment, `**` for anything, `**/` for any number of folders.
    """

    regex: bytes
    star: str = ""
    is_slash: bool = False


class _InvalidPattern(ValueError):
    """Reports a pattern that matches nothing, such as one with an open bracket."""


def has_magic(pattern: bytes) -> bool:
    """Return True if the pattern holds a wildcard or an escape."""
    return _MAGIC.search(pattern) is not None


def translate(pattern: bytes, *, in_segment: bool) -> bytes:
    """Return the regular expression of a pattern, for `fullmatch`. An invalid pattern gives one that never matches.

    With `in_segment` it is matched against a name without slashes, and `**` means `*`.
    """
    # git compares what precedes the first wildcard on its own; `**` directly after it counts as the begin of a pattern.
    magic = _MAGIC.search(pattern)
    head, rest = (pattern, b"") if magic is None else (pattern[: magic.start()], pattern[magic.start() :])
    try:
        return re.escape(head) + _joined(list(_pieces(rest, in_segment)))
    except _InvalidPattern:
        return _NOTHING


def _pieces(pattern: bytes, in_segment: bool) -> Iterator[_Piece]:
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"*":
            end = at
            while pattern[end : end + 1] == b"*":
                end += 1
            star, at = _star(pattern, at, end, in_segment)
            yield _Piece(b"", star)
        elif byte == b"?":
            yield _Piece(_IN_SEGMENT)
            at += 1
        elif byte == b"[":
            regex, at = _bracket(pattern, at + 1)
            yield _Piece(regex)
        else:
            if byte == b"\\":
                at += 1
                byte = pattern[at : at + 1]
                if not byte:
                    raise _InvalidPattern
            yield _Piece(re.escape(byte), is_slash=byte == b"/")
            at += 1


def _star(pattern: bytes, start: int, end: int, in_segment: bool) -> tuple[str, int]:
    """Return the kind of the run of stars from `start` to `end`, and where the pattern continues."""
    alone = start == 0 or pattern[start - 1 : start] == b"/"
    if in_segment or end - start == 1 or not alone:
        return "*", end
    if end == len(pattern) or pattern[end : end + 2] == rb"\/":
        return "**", end
    return ("**/", end + 1) if pattern[end : end + 1] == b"/" else ("*", end)


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Return the regular expression of the bracket whose content begins at `at`, and where the pattern continues."""
    is_negated = pattern[at : at + 1] in (b"!", b"^")
    at += is_negated
    members: list[bytes] = []
    previous = -1
    is_first = True
    while is_first or pattern[at : at + 1] != b"]":
        is_first = False
        byte = pattern[at : at + 1]
        if not byte:
            raise _InvalidPattern
        follows = pattern[at + 1 : at + 2]
        if byte == b"-" and previous >= 0 and follows not in (b"", b"]"):
            low, at = previous, at + 1
            high, at = _member(pattern, at)
            if low <= high:
                members.append(_escaped(low) + b"-" + _escaped(high))
            previous = -1
        elif byte == b"[" and follows == b":":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                raise _InvalidPattern
            if end > at + 2 and pattern[end - 1 : end] == b":":
                name = pattern[at + 2 : end - 1]
                if name not in _CLASSES:
                    raise _InvalidPattern
                members.append(_CLASSES[name])
                at, previous = end + 1, -1
            else:  # no class after all: an opening bracket like any other byte
                members.append(_escaped(byte[0]))
                at, previous = at + 1, byte[0]
        else:
            previous, at = _member(pattern, at)
            members.append(_escaped(previous))
    if not members:
        return (_IN_SEGMENT if is_negated else _NOTHING), at + 1
    return b"(?!/)[" + (b"^" if is_negated else b"") + b"".join(members) + b"]", at + 1


def _member(pattern: bytes, at: int) -> tuple[int, int]:
    """Return the byte of a bracket at `at`, unescaped, and the place after it."""
    if pattern[at : at + 1] == b"\\":
        at += 1
    if at >= len(pattern):
        raise _InvalidPattern
    return pattern[at], at + 1


def _escaped(byte: int) -> bytes:
    return b"\\x%02x" % byte


def _joined(pieces: list[_Piece]) -> bytes:
    """Return the expression of all pieces: blocks between `**`, each settled at the first place where it fits."""
    blocks: list[tuple[str, list[_Piece]]] = [("", [])]
    for piece in pieces:
        if piece.star in ("**", "**/"):
            blocks.append((piece.star, []))
        else:
            blocks[-1][1].append(piece)
    result = b"".join(_block(blocks[0][1]))
    for number, (star, block) in enumerate(blocks[1:], 2):
        body = b"".join(_block(block))
        if star == "**":  # the last one, or one before an escaped slash
            result += b".*" + body if number == len(blocks) else b"(?>.*?" + body + b")"
        elif number == len(blocks):
            result += _FOLDERS + b"?" + body
        else:
            result += b"(?>" + _FOLDERS + b"?" + body + b")"
    return result


def _block(pieces: list[_Piece]) -> Iterator[bytes]:
    """Yield the expressions of pieces without `**`, segment by segment."""
    segment: list[_Piece] = []
    for piece in pieces:
        if piece.is_slash:
            yield from _segment(segment)
            yield piece.regex
            segment = []
        else:
            segment.append(piece)
    yield from _segment(segment)


def _segment(pieces: list[_Piece]) -> Iterator[bytes]:
    """Yield the expressions of one segment: what follows a star has a fixed length up to the next one.

    The last part is held to the end of the segment by what follows the segment.
    """
    parts: list[bytes] = [b""]
    for piece in pieces:
        if piece.star:
            parts.append(b"")
        else:
            parts[-1] += piece.regex
    yield parts[0]
    if len(parts) > 1:
        for part in parts[1:-1]:
            if part:
                yield b"(?>" + _IN_SEGMENT + b"*?" + part + b")"
        yield _IN_SEGMENT + b"*" + parts[-1]
