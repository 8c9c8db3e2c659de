"""Finds the environment variables that source code reads by a name that is written down.

One that is put together, or read under a prefix by a library, has no name in the code and is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import TextHit

# The kind that they are listed by; they are no symbols.
ENVIRONMENT_VARIABLE = "environment_variable"
# What a line has that reads one; the patterns below say which.
MAY_READ = (
    r"getenv|environ|process\.env|import\.meta\.env|LookupEnv|Getenv|GetEnvironmentVariable|env::var|env!\(|ENV\[|ENV\.fetch"
    r"|\benv:\"|envvar|\benv\s*=\s*\""
)
_NAME = r"([A-Za-z_]\w*)"
_READS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:getenv|Getenv|LookupEnv|GetEnvironmentVariable|env::var(?:_os)?|\benv!|environ\.(?:get|setdefault|pop)"
        rf"|ENV\.fetch)\(\s*[\"']{_NAME}[\"']",
        rf"(?:environ|\bENV|process\.env|\$_ENV)\[\s*[\"']{_NAME}[\"']\s*\](?!\s*=(?!=))",
        rf"(?:process\.env|import\.meta\.env)\.{_NAME}\b(?!\s*=(?!=))",
        rf"\benv:\"{_NAME}[,\"]",
        rf"\benvvar\s*=\s*[\"']{_NAME}[\"']",
        r"\benv\s*=\s*\"([A-Z][A-Z0-9_]+)\"",
    )
)
_COMMENT = re.compile(r"\s*(?:#(?!\[)|//|\*|/\*|--|;)")


@dataclass(frozen=True, slots=True)
class EnvironmentRead:
    """Locates the first line of the source that reads an environment variable."""

    name: str
    file: str
    line: int
    text: str


def environment_reads(hits: Sequence[TextHit]) -> list[EnvironmentRead]:
    """Return each variable that lines of source code read, in the order of their first lines; comments read none."""
    found: dict[str, EnvironmentRead] = {}
    for hit in sorted(hits, key=lambda hit: (hit.file, hit.line)):
        if kind_of_path(hit.file) == "source" and _COMMENT.match(hit.text) is None:
            for name in names_read(hit.text):
                found.setdefault(name, EnvironmentRead(name, hit.file, hit.line, hit.text.strip()))
    return list(found.values())


def names_read(line: str) -> Iterator[str]:
    """Yield the names of environment variables that a line reads, in the order of the ways to read one."""
    for pattern in _READS:
        yield from (found[1] for found in pattern.finditer(line))
