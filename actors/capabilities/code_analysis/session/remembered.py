"""Defines what a session remembers of earlier questions, as agents are told of it."""

from __future__ import annotations

import msgspec


class SessionTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question and what led its answer. What a session does not tell is empty."""

    question: str = ""
    answer: str = ""
    at_ms: int = 0
    repo: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


class KnownFile(msgspec.Struct, frozen=True):
    """What earlier questions showed of a file as it is now."""

    file: str
    summary: str = ""
    symbols: tuple[str, ...] = ()
