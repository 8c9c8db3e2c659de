"""Tells how far an index refresh is; light to import for those who only show it."""

from __future__ import annotations

import msgspec


class Progress(msgspec.Struct, frozen=True):
    """Counts the files of a refresh, done and total; `waiting` is a sentence about the lock that it waits for."""

    done: int = 0
    total: int = 0
    waiting: str = ""
