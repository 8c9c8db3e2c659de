"""Divides the source files of a folder into its main parts: folders, packages, or single files.

A folder that holds nearly everything is opened, as is one that only holds folders (`packages`, `crates`, `src`); any
other folder is one part, and so is a file that lies beside the parts. Pure functions over paths and line counts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

# A part with this share of all lines says too little: its own parts are listed too.
DOMINANT_SHARE = 0.6
MAX_DEPTH = 12
_NO_PARTS = frozenset(
    {
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
        for folder, inside in below.items():
            found += self._of_folder(folder, inside, depth)
        return _with_own_heads(found)

    def _of_file(self, path: str) -> Unit | None:
        name, lines = posixpath.basename(path), self._sizes[path]
        is_small = lines < self._total * DOMINANT_SHARE / 2
        if is_small and (name in self._heads or name.lower() in _NO_PARTS or _TOOLING.search(name)):
            return None
        return Unit(path, (path,), lines, is_file=True)

    def _of_folder(self, folder: str, files: Sequence[str], depth: int) -> list[Unit]:
        direct, below = _children(folder, files)
        if not direct and len(below) == 1 and depth < MAX_DEPTH and folder not in self._packages:
            inner, inside = next(iter(below.items()))
            return self._of_folder(inner, inside, depth + 1)
        lines = sum(self._sizes[path] for path in files)
        is_dominant = lines >= DOMINANT_SHARE * self._total and len(files) > 1
        is_package = folder in self._packages
        is_container = not direct and len(below) > 1 and (len(self._packages.intersection(below)) > 0 or depth == 0)
        if depth >= MAX_DEPTH or not (is_dominant or (is_container and not is_package)):
            return [Unit(folder, tuple(files), lines)]
        opened = self.units(folder, files, depth + 1)
        if not is_package:
            return opened
        inside_parts = {path for unit in opened for path in unit.files}
        rest = tuple(path for path in files if path not in inside_parts)
        return [Unit(folder, rest, sum(self._sizes[path] for path in rest)), *opened]


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
    sizes: Mapping[str, int], place: str = ".", *, packages: Collection[str] = (), heads: Collection[str] = ()
) -> list[Unit]:
    """Return the parts of the folder `place`, by path; `sizes`: lines of the source files below it.

    `packages`: folders with a metadata file of their own; `heads`: names of files that speak for their folder.
    """
    known = frozenset(packages)
    found = _Divider(sizes, known, heads).units(place, sorted(sizes))
    return sorted(found, key=lambda unit: unit.path)


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
