"""Finds the things of a sort that there are: types, files and folders that are called so.

Who adds one more does what was done for each of these, so that the lines that name one of them show where.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import split_identifier, stem
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.language_registry import language_at

# Two may be alike by chance.
LEAST_MEMBERS = 3
MAX_MEMBERS = 200
TYPES = frozenset({"class", "struct", "interface", "trait", "object", "type", "record", "enum"})
# Files that hold what all of a folder share, and folders within it.
_SHARED = frozenset(
    [
        "init",
        "main",
        "mod",
        "index",
        "base",
        "common",
        "types",
        "util",
        "utils",
        "lib",
        "all",
        "doc",
        "test",
        "tests",
        "internal",
    ]
)
# What begins the name of a type that others build on.
_BASES = frozenset({"base", "abstract", "i", "generic"})
# What people call a thing, and what its files are called.
_SHORT = {"command": ("cmd",), "subcommand": ("cmd", "command"), "configuration": ("config",), "option": ("opt",)}


@dataclass(frozen=True, slots=True)
class Sibling:
    """Holds one thing of a sort: its name as code spells it, and where it is defined."""

    name: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Family:
    """Holds things of one sort; `how`: whether they are types, files of a folder, or folders."""

    how: Literal["type", "file", "folder", "value"]
    of: str
    members: tuple[Sibling, ...]


def families_of(thing: Sequence[str], symbols: Iterable[SymbolRecord], paths: Sequence[str]) -> list[Family]:
    """Return the families that bear the word for a thing, those of types first; none for a thing of no words.

    `thing`: its words, the last of which says of what sort it is; `symbols`: types; `paths`: all files.
    """
    if not thing:
        return []
    sort = {stem(word) for word in (thing[-1], *_SHORT.get(thing[-1], ()))}
    more = {stem(word) for word in thing[:-1]}
    found = [*_types(sort, symbols), *_files(sort, paths), *_folders(sort, paths)]
    return sorted(found, key=lambda family: (-_told(family, more), -len(family.members)))


def _told(family: Family, words: set[str]) -> int:
    """Return how many of the other words of a thing the family bears: `storage` of «storage backend»."""
    names = family.of if family.how != "type" else " ".join(one.name for one in family.members[:1])
    return len(words & set(map(stem, split_identifier(names))))


def _types(sort: set[str], symbols: Iterable[SymbolRecord]) -> Iterator[Family]:
    """Yield the types whose names end in the word, those of one ending together."""
    named: dict[str, list[Sibling]] = defaultdict(list)
    for symbol in symbols:
        parts = split_identifier(symbol.name)
        if len(parts) < 2 or parts[0] in _BASES or symbol.kind not in TYPES or kind_of_path(symbol.file) != "source":
            continue
        if stem(parts[-1]) in sort:
            named[parts[-1]].append(Sibling(symbol.name, symbol.file, symbol.name_line))
    for ending, members in named.items():
        each = {one.name: one for one in reversed(members)}
        if len(each) >= LEAST_MEMBERS:
            yield Family("type", ending, tuple(sorted(each.values(), key=lambda one: one.file))[:MAX_MEMBERS])


def _files(sort: set[str], paths: Sequence[str]) -> Iterator[Family]:
    """Yield the source files of a folder that is called so, and those of one folder that are called so themselves."""
    by_folder: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in paths:
        folder, name = posixpath.split(path)
        if kind_of_path(path) == "source" and language_at(path).role == "code":
            by_folder[folder, posixpath.splitext(name)[1]].append(path)
    for (folder, _), files in by_folder.items():
        is_called_so = any(stem(word) in sort for word in split_identifier(posixpath.basename(folder)))
        members = [Sibling(name, path, 1) for path in files if (name := _own_name(path, sort, whole=is_called_so))]
        if len(members) >= LEAST_MEMBERS:
            yield Family("file", folder, tuple(members)[:MAX_MEMBERS])


def _own_name(path: str, sort: set[str], *, whole: bool) -> str:
    """Return what a file is called without the word for the sort; empty where it is none of it."""
    name = posixpath.splitext(posixpath.basename(path))[0]
    parts = split_identifier(name)
    if not parts or set(parts) <= _SHARED:
        return ""
    kept = [part for part in parts if stem(part) not in sort]
    if len(kept) < len(parts) and kept and (stem(parts[0]) in sort or stem(parts[-1]) in sort):
        return "_".join(kept)
    return name if whole else ""


def _folders(sort: set[str], paths: Sequence[str]) -> Iterator[Family]:
    """Yield the folders within one that is called so, each of which has source files."""
    within: dict[str, dict[str, str]] = defaultdict(dict)
    for path in paths:
        parts = path.split("/")
        if kind_of_path(path) != "source" or language_at(path).role != "code":
            continue
        for place, part in enumerate(parts[:-2]):
            if any(stem(word) in sort for word in split_identifier(part)) and parts[place + 1] not in _SHARED:
                within["/".join(parts[: place + 1])].setdefault(parts[place + 1], path)
    for folder, found in within.items():
        if len(found) >= LEAST_MEMBERS:
            members = (Sibling(name, path, 1) for name, path in sorted(found.items()))
            yield Family("folder", folder, tuple(members)[:MAX_MEMBERS])
