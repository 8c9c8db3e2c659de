"""Provides rows, bounds, and access to files and git for the single-look-up tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.paths import is_denied, readable_path
from runtime.codebase.git.git_process import Git
from runtime.codebase.index.records import IndexedFile, SymbolRecord
from runtime.codebase.tool_parts.citing import cite_symbol
from runtime.codebase.tool_parts.fallbacks import find_file
from runtime.codebase.tool_registry import Path
from runtime.errors import RepositoryError
from runtime.tools.result import Attempt, ToolStatus

MAX_HITS = 50
MAX_SYMBOLS = 100
MAX_PATHS = 500

Row = dict[str, Any]


class OfFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What has a file?"""

    path: Path


def with_git(
    codebase: Codebase, path: str | None, read: Callable[[Git, str | None, AttemptLog], ToolResult]
) -> ToolResult:
    """Run `read` on the git repository for a path; failures become the status and error of the result."""
    log = AttemptLog()
    try:
        place = readable_path(codebase.root, path, allow_secrets=codebase.allow_secrets) if path else None
        git = Git(codebase.root, codebase.history)
        if why := git.why_unusable():
            return log.result("unsupported", {}, [], error=why)
        return read(git, None if place == "." else place, log)
    except RepositoryError as error:
        late = bool(error.values.get("timed_out"))
        status: ToolStatus = "denied" if is_denied(error) else "timeout" if late else "not_found"
        log.attempts.append(Attempt("git", status))
        return log.result(status, {"path": path}, [], error=error.message)


def of_file(codebase: Codebase, path: str, log: AttemptLog, read: Callable[[IndexedFile], ToolResult]) -> ToolResult:
    """Run `read` on the file at a path, or on the one that the path most likely means."""
    try:
        found = find_file(codebase, path, log)
    except RepositoryError as error:
        return log.result("denied", {"asked_path": path}, [], error=error.message)
    known = codebase.file(found) if found else None
    if known is None:
        return log.result("not_found", {"asked_path": path}, [], error=f"no file {path} in the index")
    return read(known)


def symbol_row(codebase: Codebase, symbol: SymbolRecord, citations: list[Citation]) -> Row:
    """Return the row of a definition, with the number of its citation."""
    made = cite_symbol(codebase, symbol, f"defines {symbol.qualified_name}")
    return {
        "file": symbol.file,
        "symbol": symbol.qualified_name,
        "kind": symbol.kind,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "signature": symbol.signature,
        "docstring": symbol.docstring,
        "citation": numbered(citations, made),
    }


def numbered(citations: list[Citation], made: Citation | None) -> int | None:
    """Append a citation to the others and return its position; None without one."""
    if made is None:
        return None
    citations.append(made)
    return len(citations) - 1


def bounded(asked: int, most: int) -> int:
    """Clamp the number asked for to 1 to `most`."""
    return max(1, min(asked, most))


def listed(log: AttemptLog, data: Row, citations: Sequence[Citation], truncated: bool, has_any: bool) -> ToolResult:
    """Return the result of a list: `empty` without rows, `partial` if some were left out."""
    status: ToolStatus = "empty" if not has_any else "partial" if truncated else "ok"
    return log.result(status, data, list(citations), truncated=truncated)
