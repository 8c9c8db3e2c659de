"""Splits the bytes of a stream into lines of bounded length, without holding more than one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

READ_BYTES = 1 << 16
KEPT_BYTES = 4_096


class TooLong(NamedTuple):
    """Stands for a line that exceeds the limit: its beginning and its length in bytes."""

    head: bytes
    size: int


def bounded_lines(read: Callable[[int], bytes], max_bytes: int) -> Iterator[bytes | TooLong]:
    """Yield the lines that `read(count)` returns, without their ends, until it returns nothing.

    A line of more than `max_bytes` is passed over as it comes, and yielded as `TooLong`.
    """
    pending = bytearray()
    dropped = 0
    while data := read(READ_BYTES):
        *ended, rest = data.split(b"\n")
        for each in ended:
            yield _line(pending, dropped, each, max_bytes)
            pending, dropped = bytearray(), 0
        pending += rest
        if len(pending) > max_bytes:
            dropped += len(pending) - KEPT_BYTES
            del pending[KEPT_BYTES:]
    if pending or dropped:
        yield _line(pending, dropped, b"", max_bytes)


def _line(pending: bytearray, dropped: int, last: bytes, max_bytes: int) -> bytes | TooLong:
    size = dropped + len(pending) + len(last)
    if dropped or size > max_bytes:
        return TooLong(bytes(pending[:KEPT_BYTES] or last[:KEPT_BYTES]), size)
    return bytes(pending + last)
