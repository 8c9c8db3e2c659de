"""Sorts the files of a folder into source files and those that lie beside them.

Source files make up the parts. Tests, examples, documents, vendored and generated code and scripts of the build are
no parts of what is built. In a folder that is itself of such a kind, they are. Pure functions.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import IndexedFile
from runtime.codebase.language_registry import language_named

_TESTING = frozenset({"__testfixtures__", "testfixtures", "__fixtures__", "__test__", "fuzz", "fuzz_targets"})
# Folders with programs for those who work on the repository.
_TOOLING = frozenset(
    {"scripts", "script", "ci", "hack", "buildsrc", "build-aux", "packaging", "debian", "extra", "misc", "cmake", "m4"}
    | {"xtask", "xtasks", "migrations"}
)
# Programs that make a release, beside the metadata.
_RELEASING = frozenset({"release.py", "publish.py"})
_OF_TESTS = re.compile(r"(?:tests?|e2e)[-_]\w+|\w+[-_](?:tests?|e2e)")
_BUILD_LANGUAGES = frozenset({"make", "makefile", "cmake", "dockerfile", "bazel", "starlark", "gradle", "batch", "nix"})


@dataclass(frozen=True, slots=True)
class Aside:
    """Represents a folder that is no part: its kind (test, docs, script …), its number of files, one that has lines."""

    folder: str
    kind: str
    files: int
    first: str


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Holds the lines of each source file, the languages by lines, and the folders that are no parts."""

    sizes: Mapping[str, int]
    languages: tuple[tuple[str, int], ...]
    asides: tuple[Aside, ...]


def sort_files(files: Sequence[IndexedFile], place: str) -> SourceFiles:
    """Sort the readable files below `place`."""
    prefix = "" if place == "." else f"{place}/"
    below = [file for file in files if file.is_readable and file.path.startswith(prefix)]
    code = [file for file in below if _is_code(file)]
    kinds = {file.path: _kind(file.path, prefix) for file in code}
    source = [file for file in code if kinds[file.path] == "source"]
    # A folder of tests or examples is made of them.
    if not source:
        source = code
    chosen = {file.path for file in source}
    languages: Counter[str] = Counter()
    for file in source:
        languages[file.language or ""] += file.lines
    beside = [file for file in below if file.path not in chosen]
    return SourceFiles(
        {file.path: file.lines for file in source}, tuple(languages.most_common()), tuple(_asides(beside, prefix))
    )


def _is_code(file: IndexedFile) -> bool:
    if file.language is None or file.language in _BUILD_LANGUAGES or language_named(file.language).role != "code":
        return False
    return not any(part.startswith(".") for part in file.path.split("/"))


def _kind(path: str, prefix: str) -> str:
    """Return the kind of a file within the folder: what lies above it decides nothing."""
    inside = path[len(prefix) :]
    folders = posixpath.dirname(inside).lower().split("/")
    if not _TESTING.isdisjoint(folders) or any(map(_OF_TESTS.fullmatch, folders)):
        return "test"
    return "script" if not _TOOLING.isdisjoint(folders) or inside in _RELEASING else kind_of_path(inside)


def _asides(files: Iterable[IndexedFile], prefix: str) -> list[Aside]:
    """Return the outermost folders below `prefix` of one kind other than source, most files first."""
    counts: Counter[tuple[str, str]] = Counter()
    firsts: dict[tuple[str, str], str] = {}
    for file in files:
        parts = file.path[len(prefix) :].split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            kind = _kind(f"{folder}/x", "")
            if kind not in {"source", "data"}:
                counts[(prefix + folder, kind)] += 1
                if file.lines:
                    firsts.setdefault((prefix + folder, kind), file.path)
                break
    return [
        Aside(folder, kind, count, firsts[(folder, kind)])
        for (folder, kind), count in counts.most_common()
        if (folder, kind) in firsts
    ]
