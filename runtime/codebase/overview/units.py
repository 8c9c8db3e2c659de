"""Divides the source files of a folder into its main parts: folders, packages, or single files.

A folder that holds nearly everything is opened, as is one that only holds folders (`packages`, `crates`, `src`); any
other folder is one part, and so is a file that lies beside the parts. A folder of many files of like size, beside other
files of weight, stays one part. Pure functions over paths and line counts.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

# A part with this share of all lines says too little: its own parts are listed too.
DOMINANT_SHARE = 0.6
MAX_DEPTH = 12
MAX_SHARE_OF_USERS, LEAST_USERS_OF_ALL = 0.9, 10
# A folder of files alone is not opened if it has so many, none of them has more than this share of its lines, and at
# least so many files beside it have this share of all.
LEAST_ALIKE = 8
MAX_SHARE_OF_ALIKE = 0.25
LEAST_BESIDE = 3
LEAST_SHARE_BESIDE = 0.2
_NO_PARTS = frozenset(
    {
        "__main__.py",
        "build.gradle",
        "settings.gradle",
        "build.gradle.kts",
        "settings.gradle.kts",
        "gemfile",
        "rakefile",
        "setup.py",
        "conftest.py",
        "noxfile.py",
        "tasks.py",
        "build.rs",
        "fabfile.py",
        "manage.py",
        "runtests.py",
        "bench.py",
    }
)
_BODIES = frozenset({".c", ".cc", ".cpp", ".cxx", ".m", ".mm"})
_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx"})
# Folders from which headers are included by their names alone.
FOR_HEADERS = frozenset({"include", "includes", "inc", "headers", "src", "source", "lib", "common", "core", "api"})
# Programs that build the whole.
BUILDING = frozenset({"build.rs", "build.zig", "setup.py"})
_TOOLING = re.compile(r"(?:\.(?:config|conf)|rc|^(?:gulp|grunt|jake|rake|cake|web)file)\.[cm]?[jt]s$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unit:
    """Represents a part: a folder with the files that belong to it, or one file (`is_file`)."""

    path: str
    files: tuple[str, ...]
    lines: int
    is_file: bool = False


class _Divider:
    def __init__(self, sizes: Mapping[str, int], packages: frozenset[str], heads: Collection[str]) -> None:
        self._sizes = sizes
        self._packages = packages
        self._heads = heads
        self._total = max(1, sum(sizes.values()))

    def units(self, place: str, files: Sequence[str], depth: int = 0) -> list[Unit]:
        """Return the parts within an opened folder."""
        direct, below = _children(place, files)
        if not direct and len(below) == 1 and depth < MAX_DEPTH:
            folder, inside = next(iter(below.items()))
            return self.units(folder, inside, depth + 1)
        found = [unit for path in direct if (unit := self._of_file(path)) is not None]
        lines_beside = sum(unit.lines for unit in found)
        has_others = len(found) >= LEAST_BESIDE and lines_beside >= LEAST_SHARE_BESIDE * self._total
        for folder, inside in below.items():
            if has_others and self._is_of_alike_files(folder, inside):
                found.append(Unit(folder, tuple(inside), sum(self._sizes[path] for path in inside)))
            else:
                found += self._of_folder(folder, inside, depth)
        return _with_own_heads(found)

    def _of_file(self, path: str) -> Unit | None:
        name, lines = posixpath.basename(path), self._sizes[path]
        is_small = lines < self._total * DOMINANT_SHARE / 2
        if is_small and (name in self._heads or name.lower() in _NO_PARTS or _TOOLING.search(name)):
            return None
        return Unit(path, (path,), lines, is_file=True)

    def _is_of_alike_files(self, folder: str, files: Sequence[str]) -> bool:
        direct, below = _children(folder, files)
        lines = sum(self._sizes[path] for path in direct)
        largest = max((self._sizes[path] for path in direct), default=0)
        return not below and len(direct) >= LEAST_ALIKE and largest <= MAX_SHARE_OF_ALIKE * lines

    def _of_folder(self, folder: str, files: Sequence[str], depth: int) -> list[Unit]:
        direct, below = _children(folder, files)
        if not direct and len(below) == 1 and depth < MAX_DEPTH and folder not in self._packages:
            inner, inside = next(iter(below.items()))
            return self._of_folder(inner, inside, depth + 1)
        lines = sum(self._sizes[path] for path in files)
        is_dominant = lines >= DOMINANT_SHARE * self._total and len(files) > 1
        is_package = folder in self._packages
        packages = len(self._packages.intersection(below))
        is_container = not direct and len(below) > 1 and (packages > 1 if is_package else packages > 0 or depth == 0)
        if depth >= MAX_DEPTH or not (is_dominant or is_container):
            return [Unit(folder, tuple(files), lines)]
        opened = self.units(folder, files, depth + 1)
        if not is_package:
            return opened
        inside_parts = {path for unit in opened for path in unit.files}
        rest = tuple(path for path in files if path not in inside_parts)
        return [*([Unit(folder, rest, sum(self._sizes[path] for path in rest))] if rest else []), *opened]


def _with_own_pieces(units: Sequence[Unit]) -> list[Unit]:
    """Join files to the one whose name theirs go on with: `Depot.Async.cs` is a piece of `Depot.cs`."""
    by_stem = {posixpath.splitext(unit.path): unit for unit in units if unit.is_file}
    pieces: dict[str, list[Unit]] = {}
    for (stem, ending), unit in by_stem.items():
        head = posixpath.join(posixpath.dirname(stem), posixpath.basename(stem).split(".")[0])
        owner = by_stem.get((head, ending))
        pieces.setdefault(unit.path if owner is None else owner.path, []).append(unit)
    joined = []
    for unit in units:
        own = pieces.get(unit.path, ())
        if not unit.is_file or len(own) == 1:
            joined.append(unit)
        elif own:
            files = tuple(path for piece in own for path in piece.files)
            joined.append(Unit(unit.path, files, sum(piece.lines for piece in own), is_file=True))
    return joined


def _with_own_heads(units: Sequence[Unit]) -> list[Unit]:
    """Join a file to the folder beside it that bears its name: `assets.rs` speaks for `assets`."""
    units = _with_own_pieces(units)
    folders = {unit.path: unit for unit in units if not unit.is_file}
    for unit in units:
        folder = folders.get(posixpath.splitext(unit.path)[0]) if unit.is_file else None
        if folder is not None:
            joined = Unit(folder.path, (*unit.files, *folder.files), unit.lines + folder.lines)
            folders[folder.path] = joined
    return [
        folders.get(unit.path, unit)
        for unit in units
        if not (unit.is_file and posixpath.splitext(unit.path)[0] in folders)
    ]


def divide(
    sizes: Mapping[str, int],
    place: str = ".",
    *,
    packages: Collection[str] = (),
    heads: Collection[str] = (),
    bodies: Mapping[str, str] | None = None,
) -> list[Unit]:
    """Return the parts of the folder `place`, by path; `sizes`: lines of the source files below it.

    `packages`: folders with a metadata file of their own; `heads`: names of files that speak for their folder;
    `bodies`: the file that each header of C declares.
    """
    known = frozenset(packages)
    found = _Divider(sizes, known, heads).units(place, sorted(sizes))
    return sorted(_with_own_headers(found, sizes, bodies or {}), key=lambda unit: unit.path)


def bodies_of(sizes: Mapping[str, int], links: Sequence[tuple[str, str, int]]) -> dict[str, str]:
    """Map each header of C to the one source file that bears its name and includes it; `links`: the imports.

    A header that nearly all files include is for all of them.
    """
    found: dict[str, set[str]] = {}
    users = Counter(target for _, target, _ in links)
    most = MAX_SHARE_OF_USERS * sum(posixpath.splitext(path)[1] in _BODIES for path in sizes)
    for file, target, _ in links:
        (stem, ending), (header, kind) = posixpath.splitext(file), posixpath.splitext(target)
        is_pair = ending in _BODIES and kind in _HEADERS and posixpath.basename(stem) == posixpath.basename(header)
        folder = posixpath.dirname(header)
        # Elsewhere a header for all may be called as some file is.
        is_near = folder == posixpath.dirname(stem) or not FOR_HEADERS.isdisjoint(folder.lower().split("/"))
        if is_pair and is_near and file in sizes and target in sizes:
            found.setdefault(target, set()).add(file)
    return {
        header: min(files)
        for header, files in found.items()
        if len(files) == 1 and (users[header] < LEAST_USERS_OF_ALL or users[header] <= most)
    }


def _with_own_headers(units: Sequence[Unit], sizes: Mapping[str, int], bodies: Mapping[str, str]) -> list[Unit]:
    """Move headers to the parts of the files that they declare."""
    owner = {path: unit.path for path, unit in unit_of(units).items()}
    moved = {header: owner[body] for header, body in bodies.items() if header in owner and body in owner}
    moved = {header: path for header, path in moved.items() if owner[header] != path}
    joined = []
    for unit in units if moved else ():
        kept = tuple(path for path in unit.files if path not in moved)
        files = (*kept, *(header for header, path in moved.items() if path == unit.path))
        if kept:
            joined.append(Unit(unit.path, files, sum(sizes[path] for path in files), unit.is_file))
    return joined or list(units)


def unit_of(units: Sequence[Unit]) -> dict[str, Unit]:
    """Map each file to the part that it belongs to."""
    return {path: unit for unit in units for path in unit.files}


def _children(place: str, files: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the files directly in a folder, and those below each of its folders."""
    prefix = "" if place == "." else f"{place}/"
    direct: list[str] = []
    below: dict[str, list[str]] = {}
    for path in files:
        name, slash, _ = path[len(prefix) :].partition("/")
        if slash:
            below.setdefault(prefix + name, []).append(path)
        else:
            direct.append(path)
    return direct, below
