"""Defines the memory of earlier questions that agents receive."""

from __future__ import annotations

import msgspec


class SessionTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records a question and the lead of its answer. Fields that the session does not have are empty."""

    question: str = ""
    answer: str = ""
    at_ms: int = 0
    repo: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


class KnownFile(msgspec.Struct, frozen=True):
    """Holds what earlier questions showed of a file's current content."""

    file: str
    summary: str = ""
    symbols: tuple[str, ...] = ()
