"""Declares the tool `git_blame`."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import MAX_PATHS, listed, with_git
from runtime.codebase.tool_registry import CodeTool, Line, Path, by_fields
from runtime.errors import RepositoryError


class GitBlame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who wrote lines of a file?"""

    path: Path
    start_line: Line = 1
    end_line: Line | None = None


def git_blame(codebase: Codebase, path: str, start_line: int = 1, end_line: int | None = None) -> ToolResult:
    """Return the last commit of each line of a file. `data`: file, lines [{line, hash, author, date, subject}]."""

    def read(git: Git, place: str | None, log: AttemptLog) -> ToolResult:
        file = place or "."
        total = len(codebase.source(file).lines)
        first, last = max(1, start_line), min(end_line or total, total, start_line + MAX_PATHS - 1)
        if first > last:
            raise RepositoryError(f"{file} has {total} lines; line {start_line} is not among them", path=file)
        found = log.run("git_blame", lambda: commit_history.blame(git, file, first, last))
        rows = [{"line": line.line, **asdict(line.commit)} for line in found]
        made = cite(codebase, file, first, last, why="was blamed")
        return listed(
            log, {"file": file, "lines": rows}, [made] if made else [], last < (end_line or total), bool(rows)
        )

    return with_git(codebase, path, read)


TOOL = CodeTool(
    name="git_blame",
    description="Who wrote the lines of a file last.",
    parameters=GitBlame,
    run=by_fields(git_blame),
    exposed=False,
    place=210,
    example={"path": "pkg/app.py", "start_line": 10, "end_line": 20},
)
