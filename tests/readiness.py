"""Waiting until something is to be read from a descriptor, however high its number."""

from __future__ import annotations

import select
from typing import Protocol


class HasDescriptor(Protocol):
    def fileno(self) -> int: ...


def is_ready(source: int | HasDescriptor, timeout_s: float) -> bool:
    """Whether `source` can be read, or has ended, within `timeout_s`.

    By `poll`: `select` refuses descriptors from 1,024 on, which a process that has run thousands of tests reaches.
    """
    ready = select.poll()
    ready.register(source, select.POLLIN)
    return bool(ready.poll(max(0.0, timeout_s) * 1000))
