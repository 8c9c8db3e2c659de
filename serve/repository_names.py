"""Names repositories after their folders, for callers who know them by name."""

from __future__ import annotations

import re
from pathlib import PurePath

MAX_CHARS = 64
UNNAMED = "repository"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


def is_repository_name(name: str) -> bool:
    """Return True for 1 to 64 ASCII letters, digits, `.`, `_` and `-`, the first a letter or digit."""
    return _NAME.fullmatch(name) is not None


def repository_name(folder: str) -> str:
    """Return the name of a repository that is given by its folder alone."""
    return _OTHER.sub("-", PurePath(folder).name).lstrip("._-")[:MAX_CHARS] or UNNAMED
