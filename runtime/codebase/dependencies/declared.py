"""Collects what the metadata files of a repository declare, those nearest to its root first."""

from __future__ import annotations

from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.requirement import Requirement
from runtime.codebase.dependencies.requirement_files import is_requirement_file, read_requirements
from runtime.codebase.files.path_kinds import kind_of_path

# More files of one repository belong to its examples and fixtures, not to what it needs.
MAX_FILES = 60
# All files together: a question that may be about a dependency waits for them.
MAX_CHARS_OF_ALL = 1_000_000
_ASIDE = frozenset({"example", "test", "vendored", "generated", "benchmark"})


def declared_requirements(codebase: Codebase) -> list[Requirement]:
    """Return the dependencies that the repository declares, by file: the nearest to its root first."""
    paths = [file.path for file in codebase.files() if file.is_readable and is_requirement_file(file.path)]
    own = [path for path in paths if not _is_aside(path)]
    ordered = sorted(own or paths, key=lambda path: (path.count("/"), path))[:MAX_FILES]
    found: list[Requirement] = []
    left = MAX_CHARS_OF_ALL
    for path in ordered:
        source = codebase.try_source(path)
        lines = source.lines if source is not None else ()
        left -= sum(map(len, lines))
        if left < 0:
            break
        found += read_requirements(path, lines)
    return found


def _is_aside(path: str) -> bool:
    """Return whether a file declares what a fixture or an example needs; a project of tests in C# is one of its own."""
    return kind_of_path(path) in _ASIDE and not path.endswith("proj")
