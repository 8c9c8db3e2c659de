"""Replaces absolute paths of this machine by names in what callers are shown.

Callers know repositories by name. Text of a repository is left as it is: citations quote it word by word, also where it
happens to hold a path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

STATE = "STATE"
CONFIG = "CONFIG"
DATABASE = "DATABASE"

# Members that hold messages of ours, not text of a repository; elsewhere a path is replaced if it is a whole value.
_MESSAGES = frozenset({"detail", "error", "message", "reason", "terminal_detail", "why_not"})
_OF_REPOSITORY = frozenset({"quote", "answer", "final_response", "raw_input", "question", "text"})
_URL = re.compile(r"postgres(?:ql)?://\S+")
_NOTHING = re.compile(r"(?!)")


class ShownPaths:
    """Replaces folders by names. `names`: absolute folder → how it is shown."""

    def __init__(self, names: Mapping[str, str]) -> None:
        # The root folder has no name: each path begins with it.
        self._names = {folder: name for folder, name in names.items() if folder.strip("/")}
        self._at_start = _pattern(self._names, r"(?=/|\Z)")
        self._in_text = _pattern(self._names, r"(?![\w-]|\.\w)")

    def text(self, text: str) -> str:
        """Return a message in which folders are replaced wherever they stand, and addresses of databases."""
        return _URL.sub(DATABASE, self._in_text.sub(self._name, text))

    def value(self, value: Any, key: str = "") -> Any:
        """Return plain data in which paths and messages that hold some are replaced; text of repositories is not."""
        if isinstance(value, dict):
            return {name: self.value(item, str(name)) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item, key) for item in value]
        if not isinstance(value, str) or key in _OF_REPOSITORY:
            return value
        return self.text(value) if key in _MESSAGES else self._at_start.sub(self._name, value, count=1)

    def problem(self, body: bytes) -> bytes:
        """Return a problem document whose detail names no folder."""
        members = json.loads(body)
        shown = {**members, "detail": self.text(str(members.get("detail", "")))}
        return body if shown == members else json.dumps(shown).encode()

    def _name(self, found: re.Match[str]) -> str:
        return self._names.get(found[0], "")


def shown_paths(repositories: Mapping[str, str], state: Iterable[str], config: Iterable[str] = ()) -> ShownPaths:
    """Return the replacement of folders: repositories (name → folder) by their names, others by what they are."""
    names = dict.fromkeys(config, CONFIG) | dict.fromkeys(state, STATE)
    return ShownPaths(names | {folder: name for name, folder in repositories.items()})


def _pattern(names: Mapping[str, str], behind: str) -> re.Pattern[str]:
    if not names:
        return _NOTHING
    folders = sorted(names, key=len, reverse=True)
    start = r"\A" if behind.startswith("(?=") else ""
    return re.compile(start + "(?:" + "|".join(map(re.escape, folders)) + ")" + behind)
