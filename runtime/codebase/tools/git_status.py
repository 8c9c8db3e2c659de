"""Declares the tool `git_status`: branch, HEAD and uncommitted changes."""

from __future__ import annotations

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.walk import is_secret
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.tool_registry import CodeTool, by_fields
from runtime.errors import RepositoryError

MAX_CHANGES = 200


class GitStatus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not committed?"""


def git_status(codebase: Codebase) -> ToolResult:
    """Return branch, HEAD and uncommitted changes below the root.

    `data`: branch (null when detached), head, ahead, behind, clean, changes [{path, state}] with state added, modified,
    deleted, renamed, type_changed, conflict or untracked; at most 200. Names of files with secrets are left out.
    """
    log = AttemptLog(codebase.max_retries)
    try:
        found = log.run("git_status", lambda: [commit_history.work_tree(Git(codebase.root, codebase.history))])[0]
    except RepositoryError as error:
        return log.result("unsupported", {}, [], error=error.message)
    changes = [
        {"path": path, "state": state} for state, path in found.changes if codebase.allow_secrets or not is_secret(path)
    ]
    data = {
        "branch": found.branch,
        "head": found.head,
        "ahead": found.ahead,
        "behind": found.behind,
        "clean": not found.changes,
        "changes": changes[:MAX_CHANGES],
    }
    return log.result("partial" if len(changes) > MAX_CHANGES else "ok", data, [], truncated=len(changes) > MAX_CHANGES)


TOOL = CodeTool(
    name="git_status",
    description="Branch, HEAD and what is not committed.",
    parameters=GitStatus,
    run=by_fields(git_status),
    cost=2,
    place=70,
    example={},
)
