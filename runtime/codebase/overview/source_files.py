"""Sorts the files of a folder into source files and those that lie beside them.

Source files make up the parts. Tests, examples, documents, vendored and generated code and scripts of the build are
no parts of what is built, nor is code taken over from others. In a folder that is itself of such a kind, they are.
Pure functions.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import IndexedFile
from runtime.codebase.language_registry import language_named
from runtime.codebase.overview.taken_over import beside_folder, building_on_source, doubtful_folder

_TESTING = frozenset({"__testfixtures__", "testfixtures", "__fixtures__", "__test__", "fuzz", "fuzz_targets"})
# Folders with programs for those who work on the repository.
_TOOLING = frozenset(
    {"scripts", "script", "ci", "hack", "buildsrc", "build-aux", "packaging", "debian", "extra", "misc", "cmake", "m4"}
    | {"xtask", "xtasks"}
)
# Folders at the top with a book about the project and programs for it, or with what its people work with.
_BESIDE = {**dict.fromkeys(("guide", "guides", "book"), "docs"), "support": "script"}
# Applications that only show how a library is used.
_SHOWING = frozenset({"myapp", "my_app", "my-app", "testapp", "test_app", "test-app", "dummy"})
_MIGRATIONS = re.compile(r"(?:^|/)(?:(?:\w+[-_])?migrations|db/migrate)(?:/|$)")
# Programs that make a release, beside the metadata.
_RELEASING = frozenset({"release.py", "publish.py"})
# What such a name says is not so where the source uses it.
_PERHAPS_SOURCE = frozenset({"example", "docs", "script"})
_EXTRA = re.compile(r"(?:^|/)extra/", re.IGNORECASE)
# Scripts at the top that build or install the whole, unless it is made of them.
_SHELL = re.compile(r"[^/]+\.(?:sh|bash|ps1|psm1|bat|cmd)", re.IGNORECASE)
MAX_SHARE_OF_SHELL = 0.1
_OF_TESTS = re.compile(r"(?:tests?|e2e)[-_]\w+|\w+[-_](?:tests?|e2e)")
# What carries out the sentences of `*.feature` files.
_STEPS = re.compile(r"(?:^|/)features/[^/]*step[^/]*\.\w+$")
_BUILD_LANGUAGES = frozenset(
    {"make", "makefile", "cmake", "docker", "dockerfile", "bazel", "starlark", "gradle", "batch", "nix"}
)


@dataclass(frozen=True, slots=True)
class Aside:
    """Represents a folder that is no part: its kind (test, docs, script …), its number of files, one that has lines.

    `said`, `line`: for code taken over from others, the words of its licence, and their line in the file `first`.
    """

    folder: str
    kind: str
    files: int
    first: str
    said: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Holds the lines of each source file, the languages by lines, and the folders that are no parts."""

    sizes: Mapping[str, int]
    languages: tuple[tuple[str, int], ...]
    asides: tuple[Aside, ...]


def sort_files(
    files: Sequence[IndexedFile],
    place: str,
    *,
    licensed: Mapping[str, tuple[str, int, str]] | None = None,
    links: Callable[[], Iterable[tuple[str, str, int]]] = tuple,
    packages: Collection[str] = (),
    written: Callable[[Sequence[str]], Mapping[str, str]] = lambda paths: {},
) -> SourceFiles:
    """Sort the readable files below `place`.

    `licensed`: folders with code of others, each with the file, line and words of its licence; `links`: the imports;
    `packages`: folders with metadata of their own; `written`: given source files, those that a program or somebody else
    has written, with their kinds.
    """
    prefix = "" if place == "." else f"{place}/"
    below = [file for file in files if file.is_readable and file.path.startswith(prefix)]
    code = [file for file in below if _is_code(file)]
    kinds = {file.path: _kind(file.path, prefix) for file in code}
    kinds |= _kinds_of_doubtful(kinds, prefix, links)
    kinds |= dict.fromkeys(_used_by_source(kinds, packages, links), "source")
    kinds |= dict.fromkeys(_shell_at_top(code, kinds, prefix), "script")
    by_others = written([path for path, kind in kinds.items() if kind == "source"])
    kinds |= by_others
    taken = {file.path: folder for file in code if (folder := beside_folder(file.path, licensed or {}))}
    kinds |= {path: "taken_over" for path in taken if kinds[path] == "source"}
    source = [file for file in code if kinds[file.path] == "source"]
    if sum(file.lines for file in source) < sum(file.lines for file in code if kinds[file.path] == "taken_over"):
        # Most of the code is of others: it is what the repository is about.
        source = [file for file in code if kinds[file.path] in {"source", "taken_over"}]
    # A folder of tests or examples is made of them.
    if not source:
        source = code
    chosen = {file.path for file in source}
    languages: Counter[str] = Counter()
    for file in source:
        languages[file.language or ""] += file.lines
    beside = [file for file in below if file.path not in chosen]
    told = {path: "source" if path in chosen else kinds[path] for path in kinds}
    counts = Counter(folder for path, folder in taken.items() if told[path] == "taken_over")
    others = [
        Aside(folder, "taken_over", count, *_said(licensed or {}, folder)) for folder, count in counts.most_common()
    ]
    return SourceFiles(
        {file.path: file.lines for file in source},
        tuple(languages.most_common()),
        (*_asides(beside, prefix, told, by_others), *others),
    )


def _said(licensed: Mapping[str, tuple[str, int, str]], folder: str) -> tuple[str, str, int]:
    file, line, words = licensed[folder]
    return file, words, line


def _kinds_of_doubtful(
    kinds: Mapping[str, str], prefix: str, links: Callable[[], Iterable[tuple[str, str, int]]]
) -> dict[str, str]:
    """Return the kinds of files in folders whose name suggests code of others: source if they build on the source."""
    doubtful: dict[str, list[str]] = {}
    for path, kind in kinds.items():
        folder = doubtful_folder(path[len(prefix) :])
        if folder and kind in {"source", "vendored"}:
            doubtful.setdefault(prefix + folder, []).append(path)
    if not doubtful:
        return {}
    own = building_on_source(doubtful, links(), {path: kind for path, kind in kinds.items() if kind == "source"})
    return {
        path: "source" if folder in own else "contributed" if folder.lower().endswith("contrib") else "vendored"
        for folder, paths in doubtful.items()
        for path in paths
    }


def _shell_at_top(code: Sequence[IndexedFile], kinds: Mapping[str, str], prefix: str) -> list[str]:
    """Return the shell scripts at the top beside source that is far larger."""
    source = [file for file in code if kinds[file.path] == "source"]
    found = [file for file in source if _SHELL.fullmatch(file.path[len(prefix) :])]
    is_small = sum(file.lines for file in found) < MAX_SHARE_OF_SHELL * sum(file.lines for file in source)
    return [file.path for file in found] if is_small else []


def _used_by_source(
    kinds: Mapping[str, str], packages: Collection[str], links: Callable[[], Iterable[tuple[str, str, int]]]
) -> Iterator[str]:
    """Yield the files of folders called as examples, documents or scripts are that hold source all the same.

    Those that source imports (`src/Sandbox`), and packages of their own below a folder called `extra`.
    """
    folders: dict[str, list[str]] = {}
    for path, kind in kinds.items():
        if kind in _PERHAPS_SOURCE:
            folders.setdefault(posixpath.dirname(path), []).append(path)
    if not folders:
        return
    targets = {target for file, target, _ in links() if kinds.get(file) == "source" and kinds.get(target) != "source"}
    packed = {path for path in packages if _EXTRA.search(path)}
    for folder, paths in folders.items():
        is_used = folder in targets or any(path in targets for path in paths)
        if is_used or any(folder == package or folder.startswith(f"{package}/") for package in packed):
            yield from paths


def _is_code(file: IndexedFile) -> bool:
    if file.language is None or file.language in _BUILD_LANGUAGES or language_named(file.language).role != "code":
        return False
    return not any(part.startswith(".") for part in file.path.split("/"))


def _kind(path: str, prefix: str) -> str:
    """Return the kind of a file within the folder: what lies above it decides nothing."""
    inside = path[len(prefix) :]
    folders = posixpath.dirname(inside).lower().split("/")
    if not _TESTING.isdisjoint(folders) or any(map(_OF_TESTS.fullmatch, folders)) or _STEPS.search(inside):
        return "test"
    if not _SHOWING.isdisjoint(folders):
        return "example"
    if folders[0] in _BESIDE:
        return _BESIDE[folders[0]]
    is_tooling = not _TOOLING.isdisjoint(folders) or _MIGRATIONS.search("/".join(folders))
    return "script" if is_tooling or inside in _RELEASING else kind_of_path(inside)


def _asides(
    files: Iterable[IndexedFile], prefix: str, kinds: Mapping[str, str], by_others: Mapping[str, str]
) -> list[Aside]:
    """Return the outermost folders below `prefix` of one kind other than source, most files first.

    Of files in `by_others`, which their own first lines give away, the folder that they lie in.
    """
    counts: Counter[tuple[str, str]] = Counter()
    firsts: dict[tuple[str, str], str] = {}
    for file in files:
        if file.path in by_others:
            own = posixpath.dirname(file.path) or ".", by_others[file.path]
            counts[own] += 1
            firsts.setdefault(own, file.path)
            continue
        parts = file.path[len(prefix) :].split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            kind = _kind(f"{folder}/x", "")
            if doubtful_folder(f"{folder}/x"):
                kind = kinds.get(file.path, "data")
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
