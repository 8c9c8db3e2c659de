"""Tells whether the folders that a question about a whole names are there: «the trash directory» may be a thing."""

from __future__ import annotations

from actors.capabilities.code_analysis.question.overview_wording import folders_named
from runtime.codebase.codebase import Codebase


def names_known_folder(codebase: Codebase, text: str) -> bool:
    """Return whether a question names no folder, one by its path, or one that there is, whole or by some of its parts.

    That there is no such path is told of the path; «the trash directory» may be what the code calls so.
    """
    named = folders_named(text)
    if not named or any("/" in name for name in named):
        return True
    folders = {part for file in codebase.files() for part in _folders_of(file.path)}
    plain = [name.strip("./").lower() for name in named]
    # The folder of the package `celery.app` is `celery/app`.
    return any(name in folders or name.replace(".", "/") in folders for name in plain)


def _folders_of(path: str) -> set[str]:
    """Return the ways to name the folders of a file: `src/net/http/a.py` has `src/net`, `net/http`, `http` and more."""
    parts = path.lower().split("/")[:-1]
    return {"/".join(parts[start:end]) for start in range(len(parts)) for end in range(start + 1, len(parts) + 1)}
