"""Defines citations, and results of tools that hold them.

Both travel between agents as MessagePack, so they are plain structs. Lines are counted from 1 and ranges include both
ends. The rule that an answer may hold only citations that a machine has checked is in docs/architecture.md.
"""

from __future__ import annotations

import msgspec

from runtime.tools import result


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


ToolResult = result.ToolResult[Citation]
