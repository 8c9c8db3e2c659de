"""Knows files that programs and agents obey unasked, so that a person hears of their change. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_NAMED = 10
MAX_FILE_CHARS = 200
OBEYED = "programs or agents obey these changed files without being asked, so the person should look at them: "
_OBEYED = re.compile(
    r"""(?:.*/)?(?:
        \.(?:claude|codex|cursor|gemini|continue|windsurf|vscode|idea|zed|devcontainer|husky|githooks|circleci)/.+
        | \.(?:github|gitea|forgejo)/(?:workflows|actions)/.+
        | \.(?:envrc|gitmodules|mcp\.json|npmrc|yarnrc\.yml|gitlab-ci\.ya?ml|pre-commit-config\.ya?ml|travis\.ya?ml)
        | lefthook\.ya?ml | azure-pipelines\.ya?ml | bitbucket-pipelines\.ya?ml | jenkinsfile
        | claude\.md | agents\.md | gemini\.md | \.cursorrules | \.windsurfrules | copilot-instructions\.md
        | sitecustomize\.py | usercustomize\.py | [^/]+\.pth
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def obeyed(changed: Sequence[str]) -> str:
    """Return which changed files are such, as a sentence; empty where none is."""
    found = [file for file in changed if _OBEYED.fullmatch(file)]
    if not found:
        return ""
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return f"{OBEYED}{', '.join(file[:MAX_FILE_CHARS] for file in found[:MAX_NAMED])}{more}"
