"""Defines the results of tools.

Results travel between agents as MessagePack, so they are plain structs. They are generic over their evidence, whose
type the capability chooses: `ToolResult[Citation]` for lines of files.
"""

from __future__ import annotations

from typing import Any, Generic, Literal

import msgspec
from typing_extensions import TypeVar

ToolStatus = Literal["ok", "partial", "empty", "not_found", "unsupported", "denied", "timeout", "error"]

USABLE: frozenset[str] = frozenset({"ok", "partial"})
FAILURES: frozenset[str] = frozenset({"timeout", "error"})

Evidence = TypeVar("Evidence", default=Any)


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records one try inside a tool call: its strategy, status and number of results."""

    strategy: str
    status: ToolStatus
    results: int = 0
    duration_ms: int = 0


class ToolResult(msgspec.Struct, Generic[Evidence], frozen=True, omit_defaults=True):
    """Carries the outcome of one tool call. `citations` are its evidence, best first; `data` is JSON-like.

    `at_fault` is the cause of an `error` or `timeout`: a `request` that cannot be served, such as arguments that do not
    fit each other, does not count against the tool's health.
    """

    status: ToolStatus
    data: dict[str, Any] = {}
    citations: tuple[Evidence, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    truncated: bool = False
    error: str | None = None
    duration_ms: int = 0
    tokens: int = 0
    at_fault: Literal["tool", "request"] = "tool"

    @property
    def usable(self) -> bool:
        """True if the status is `ok` or `partial`."""
        return self.status in USABLE

    @property
    def is_failure(self) -> bool:
        """True if the tool failed: a status `error` or `timeout` that is not the request's fault."""
        return self.status in FAILURES and self.at_fault == "tool"
