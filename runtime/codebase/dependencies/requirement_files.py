"""Reads the dependencies that metadata files declare, each with its line and what it is needed for.

`read_requirements(path, lines)` knows pyproject.toml, requirements*.txt, setup.cfg, setup.py, Pipfile, go.mod,
Cargo.toml, package.json, composer.json, Gemfile, *.gemspec, pom.xml, Gradle files with their version catalogues,
*.csproj, Directory.Packages.props and CMakeLists.txt. A file that cannot be parsed declares nothing, and a dependency
whose line is not found is left out. Nothing is executed, and lock files are not read: what they list nobody declared.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from runtime.codebase.dependencies import requirement_builds, requirement_lines, requirement_tables, setup_script
from runtime.codebase.dependencies.requirement import Ecosystem, Requirement, Row

MAX_CHARS = 400_000
MAX_REQUIREMENTS = 400
MAX_NAME_CHARS = 300
# Of formats that are read line by line; TOML and JSON may stand on one line.
MAX_LINE_CHARS = 1_000

_Lines = Sequence[str]
_Reader = Callable[[str, _Lines], Iterable[Row]]


def is_requirement_file(path: str) -> bool:
    """Return whether a file's name is that of one which declares dependencies."""
    return _reader_of(path) is not None


def read_requirements(path: str, lines: _Lines) -> list[Requirement]:
    """Return what a metadata file declares, by line; nothing for one that is malformed, too long or of another kind.

    Of several declarations for one purpose, as for several targets, the first.
    """
    found = _reader_of(path)
    if found is None or sum(map(len, lines)) > MAX_CHARS:
        return []
    ecosystem, read = found
    shown = lines if read in _WHOLE else [line[:MAX_LINE_CHARS] for line in lines]
    try:
        rows = [row for row in read(path, shown) if 0 < len(row.name) <= MAX_NAME_CHARS]
    except (ValueError, RecursionError):
        # Malformed, or nested as no metadata is: whatever it holds is not a declaration.
        return []
    kept: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row.line):
        kept.setdefault((row.name, row.group), row)
    made = (Requirement(row.name, path, row.line, row.group, ecosystem, row.alias) for row in kept.values())
    return list(made)[:MAX_REQUIREMENTS]


def _reader_of(path: str) -> tuple[Ecosystem, _Reader] | None:
    name = posixpath.basename(path).lower()
    found = next(((kind, read) for pattern, kind, read in _READERS if pattern.fullmatch(name)), None)
    if found is None and posixpath.basename(posixpath.dirname(path)).lower() == "requirements":
        return ("pypi", requirement_lines.requirements_txt) if name.endswith((".txt", ".in")) else None
    return found


_READERS: tuple[tuple[re.Pattern[str], Ecosystem, _Reader], ...] = (
    (re.compile(r"pyproject\.toml"), "pypi", requirement_tables.pyproject),
    (re.compile(r"pipfile"), "pypi", requirement_tables.pipfile),
    (re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.(?:txt|in)"), "pypi", requirement_lines.requirements_txt),
    (re.compile(r"setup\.cfg"), "pypi", requirement_lines.setup_cfg),
    (re.compile(r"setup\.py"), "pypi", setup_script.setup_py),
    (re.compile(r"cargo\.toml"), "crates", requirement_tables.cargo),
    (re.compile(r"go\.mod"), "go", requirement_lines.go_mod),
    (re.compile(r"package\.json"), "npm", requirement_tables.package_json),
    (re.compile(r"composer\.json"), "composer", requirement_tables.composer_json),
    (re.compile(r"gemfile"), "rubygems", requirement_lines.gemfile),
    (re.compile(r".+\.gemspec"), "rubygems", requirement_lines.gemspec),
    (re.compile(r"pom\.xml"), "maven", requirement_builds.pom),
    (re.compile(r".*\.gradle(?:\.kts)?"), "maven", requirement_builds.gradle),
    (re.compile(r".*\.versions\.toml"), "maven", requirement_tables.version_catalogue),
    (
        re.compile(r".+\.(?:csproj|fsproj)|directory\.(?:packages|build)\.(?:props|targets)"),
        "nuget",
        requirement_builds.msbuild,
    ),
    (re.compile(r"cmakelists\.txt"), "system", requirement_builds.cmake),
)
_WHOLE: frozenset[_Reader] = frozenset(
    {
        *(requirement_tables.pyproject, requirement_tables.pipfile, requirement_tables.cargo),
        *(requirement_tables.package_json, requirement_tables.composer_json, requirement_tables.version_catalogue),
    }
)
