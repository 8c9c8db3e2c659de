"""What a tool gives back, and what a citation is.

Both travel between agents as MessagePack, so they are plain structs. Lines are counted from 1 and ranges include both
ends. The rule that an answer may hold only citations that a machine has checked is in docs/architecture.md.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

ToolStatus = Literal["ok", "partial", "empty", "not_found", "unsupported", "denied", "timeout", "error"]

USABLE: frozenset[str] = frozenset({"ok", "partial"})


class Citation(msgspec.Struct, frozen=True, omit_defaults=True):
    """Lines of one file that back a statement.

    `file` is relative to the repository root with forward slashes; `start_line` and `end_line` are 1-based and
    inclusive; `quote` is text of those lines, verbatim; `content_sha256` is the hash of the whole file as it was read.
    """

    file: str
    start_line: int
    end_line: int
    quote: str = ""
    why: str = ""
    symbol: str | None = None
    content_sha256: str = ""

    @property
    def mark(self) -> str:
        """The form in which an answer's text names this citation: `[file:a-b]`, or `[file:a]` for one line."""
        lines = str(self.start_line) if self.start_line == self.end_line else f"{self.start_line}-{self.end_line}"
        return f"[{self.file}:{lines}]"


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One try inside a tool call: which strategy ran, how it ended, how many results it gave."""

    strategy: str
    status: ToolStatus
    results: int = 0
    duration_ms: int = 0


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Outcome of one tool call. `citations` are ranked, best first; `data` is JSON-like."""

    status: ToolStatus
    data: dict[str, Any] = {}
    citations: tuple[Citation, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    truncated: bool = False
    error: str | None = None
    duration_ms: int = 0
    tokens: int = 0

    @property
    def usable(self) -> bool:
        """True when the call gave something to work with."""
        return self.status in USABLE
