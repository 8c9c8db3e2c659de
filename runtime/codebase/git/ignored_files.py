"""Says by which pattern git ignores a file."""

from __future__ import annotations

import re
from typing import NamedTuple

from runtime.codebase.files.ignore_files import IGNORE_FILE
from runtime.codebase.git.git_writer import GitWriter

_TOLD = re.compile(r"(?P<source>.*?):(?P<line>\d+):(?P<pattern>.*)\t")
OF_CLONE = "info/exclude of the clone"


class IgnoredBy(NamedTuple):
    """Holds a pattern, and `where` it stands: `path:line`, or the clone's own list."""

    where: str
    pattern: str


def ignoring_pattern(git: GitWriter, file: str) -> IgnoredBy | None:
    """Return what makes git ignore a file, be it there or not; None for one that it sees, or has in its index.

    Raises GitWriteError.
    """
    told, _ = git.status_of("check-ignore", "-v", "--", f"./{file}")
    found = _TOLD.match(told)
    if found is None or found["pattern"].startswith("!"):
        return None
    source, line, pattern = found["source"], found["line"], found["pattern"]
    return IgnoredBy(f"{source}:{line}" if source.endswith(IGNORE_FILE) else OF_CLONE, pattern)
