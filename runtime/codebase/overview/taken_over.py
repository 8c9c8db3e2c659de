"""Tells code taken over from others from the repository's own, by licences and imports.

A folder with a licence of its own, of which somebody else holds the copyright than of the whole, holds code of others.
A folder whose name alone suggests it (`bundled`, `deps`) does not if its files import the code around it. Pure
functions.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

MAX_LICENCES = 40
MAX_LINES, MAX_LINE_CHARS = 60, 160
LEAST_SHARE_BUILDING = 0.2
# Folders that hold code of others only where they do not build on the code around them.
DOUBTFUL = frozenset({"bundled", "deps", "extern", "external", "externals", "contrib"})

_LICENCE = re.compile(
    r"(?:licen[sc]e|copying|unlicense)(?:[-_.](?:mit|bsd|apache|txt|md|rst|\w{1,12}))*", re.IGNORECASE
)
_HOLDER = re.compile(
    r"^\W*copyright\b(?=.*(?:\(c\)|©|\d{4}))(?:\W*\(c\))?[\s\d,.:©–-]*(?:present\b)?[\s,]*(?P<who>[^\W\d_].*)$",
    re.IGNORECASE,
)
# Whose copyright the text of a licence itself names, and what stands to be filled in.
_OF_LICENCE = re.compile(
    r"free software foundation|[\[<{].*(?:owner|author|name|holder)|\bnotice\b|\bholders?\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_NO_NAMES = frozenset(
    {"the", "and", "all", "rights", "reserved", "inc", "ltd", "llc", "gmbh", "authors", "contributors", "com"}
)


def is_licence(path: str) -> bool:
    """Return whether a file is called as the text of a licence is."""
    return _LICENCE.fullmatch(posixpath.basename(path)) is not None


def copyright_lines(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the lines of a licence that say who holds the copyright, with their numbers."""
    numbered = enumerate(lines[:MAX_LINES], 1)
    found = [(number, line.strip()) for number, line in numbered if _HOLDER.match(line) and len(line) <= MAX_LINE_CHARS]
    return [(number, line) for number, line in found if line.isprintable() and not _OF_LICENCE.search(line)]


def licensed_by_others(
    paths: Collection[str], place: str, packages: Collection[str], lines_of: Callable[[str], Sequence[str]]
) -> dict[str, tuple[str, int, str]]:
    """Map folders with code of others to the licence that says so: its file, line and words.

    `packages`: folders with metadata of their own, which are parts of a repository of many packages. Nothing is told
    where nobody holds the copyright of the whole, or one holder has both.
    """
    licences = sorted((path for path in paths if is_licence(path)), key=lambda path: (path.count("/"), path))
    above = [path for path in licences if (posixpath.dirname(path) or ".") in ("." if place == "." else place, ".")]
    own = {word for path in above for _, line in copyright_lines(lines_of(path)) for word in _names_in(line)}
    found: dict[str, tuple[str, int, str]] = {}
    for path in licences[:MAX_LICENCES] if own else ():
        folder = posixpath.dirname(path)
        if path in above or folder in packages or any(folder.startswith(f"{outer}/") for outer in found):
            continue
        said = copyright_lines(lines_of(path))
        if said and all(own.isdisjoint(_names_in(line)) for _, line in said):
            found.setdefault(folder, (path, *said[0]))
    return found


def _names_in(line: str) -> set[str]:
    match = _HOLDER.match(line)
    words = _WORD.findall(match["who"].lower()) if match else []
    return set(words) - _NO_NAMES


def doubtful_folder(path: str) -> str:
    """Return the outermost folder above a file whose name suggests code of others; an empty string for none."""
    return _doubtful_above(posixpath.dirname(path))


@functools.lru_cache(maxsize=16_384)
def _doubtful_above(path: str) -> str:
    folders = path.split("/")
    at = next((place for place, name in enumerate(folders) if name.lower() in DOUBTFUL), None)
    return "" if at is None else "/".join(folders[: at + 1])


def building_on_source(
    folders: Mapping[str, Collection[str]], links: Iterable[tuple[str, str, int]], sources: Mapping[str, object]
) -> set[str]:
    """Return those of the folders of which a fifth of the files or more import source files outside of them.

    `folders`: each with its files; `links`: the imports, as of an index.
    """
    around = {posixpath.dirname(path) for path in sources} | set(sources)
    of_file = {path: folder for folder, files in folders.items() for path in files}
    building = {
        file
        for file, target, _ in links
        if (folder := of_file.get(file)) is not None
        and target in around
        and target != folder
        and not target.startswith(f"{folder}/")
    }
    counts = Counter(of_file[file] for file in building)
    return {folder for folder, count in counts.items() if count >= LEAST_SHARE_BUILDING * len(folders[folder])}


def beside_folder(path: str, folders: Collection[str]) -> str:
    """Return the folder of those that holds a file, or that it speaks for: `slop.rb` for `slop`; else nothing."""
    stem = posixpath.splitext(path)[0]
    return next((folder for folder in folders if path.startswith(f"{folder}/") or stem == folder), "")
