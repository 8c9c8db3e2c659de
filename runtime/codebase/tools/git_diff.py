"""Declares the tool `git_diff`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.tool_parts.look_up import listed, with_git
from runtime.codebase.tool_registry import CodeTool, Path, by_fields


class GitDiff(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What differs from a commit?"""

    path: Path | None = None
    base: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] = "HEAD"


def git_diff(codebase: Codebase, path: str | None = None, base: str = "HEAD") -> ToolResult:
    """Return the diff from a commit to the work tree, without files that may hold secrets. `data`: base, path, diff."""

    def read(git: Git, place: str | None, log: AttemptLog) -> ToolResult:
        commit = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}").strip()
        found = log.run("git_diff", lambda: [part for part in [commit_history.diff(git, commit, place)] if part[0]])
        text, cut = found[0] if found else ("", False)
        return listed(log, {"base": base, "path": path, "diff": text}, [], cut, bool(text))

    return with_git(codebase, path, read)


TOOL = CodeTool(
    name="git_diff",
    description="What differs between a commit and the work tree, without files that may hold secrets.",
    parameters=GitDiff,
    run=by_fields(git_diff),
    exposed=False,
    place=220,
    example={"base": "HEAD~1"},
)
