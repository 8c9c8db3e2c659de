"""Splits the bytes of a stream into lines of bounded length, without holding more than one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

READ_BYTES = 1 << 16
KEPT_BYTES = 4_096


class TooLong(NamedTuple):
    """Stands for a line that exceeds the limit: its beginning, its end and its length in bytes."""

    head: bytes
    tail: bytes
    size: int


def bounded_lines(read: Callable[[int], bytes], max_bytes: int) -> Iterator[bytes | TooLong]:
    """Yield the lines that `read(count)` returns, without their ends, until it returns nothing.

    A line of more than `max_bytes` is passed over as it comes, and yielded as `TooLong`.
    """
    pending = bytearray()
    head, dropped = b"", 0
    while data := read(READ_BYTES):
        *ended, rest = data.split(b"\n")
        for each in ended:
            yield _line(pending + each, head, dropped, max_bytes)
            pending, head, dropped = bytearray(), b"", 0
        pending += rest
        if dropped or len(pending) > max_bytes:
            head = head or bytes(pending[:KEPT_BYTES])
            dropped += max(0, len(pending) - KEPT_BYTES)
            del pending[:-KEPT_BYTES]
    if pending or dropped:
        yield _line(pending, head, dropped, max_bytes)


def _line(pending: bytearray, head: bytes, dropped: int, max_bytes: int) -> bytes | TooLong:
    size = dropped + len(pending)
    if dropped or size > max_bytes:
        return TooLong(head or bytes(pending[:KEPT_BYTES]), bytes(pending[-KEPT_BYTES:]), size)
    return bytes(pending)
