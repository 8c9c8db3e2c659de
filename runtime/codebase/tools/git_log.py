"""Declares the tool `git_log`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.tool_parts.look_up import bounded, listed, with_git
from runtime.codebase.tool_registry import CodeTool, Path, by_fields

MAX_COMMITS = 100


class GitLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which commits touched a path?"""

    path: Path | None = None
    max_commits: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20


def git_log(codebase: Codebase, path: str | None = None, max_commits: int = 20) -> ToolResult:
    """Return commits, newest first. `data`: path, commits [{hash, author, date, subject}]."""
    limit = bounded(max_commits, MAX_COMMITS)

    def read(git: Git, place: str | None, log: AttemptLog) -> ToolResult:
        found = log.run("git_log", lambda: commit_history.log(git, place, limit=limit + 1))
        data = {"path": path, "commits": [asdict(commit) for commit in found[:limit]]}
        return listed(log, data, [], len(found) > limit, bool(found))

    return with_git(codebase, path, read)


TOOL = CodeTool(
    name="git_log",
    description="Commits, newest first.",
    parameters=GitLog,
    run=by_fields(git_log),
    exposed=False,
    place=200,
    example={"path": "pkg/app.py"},
)
