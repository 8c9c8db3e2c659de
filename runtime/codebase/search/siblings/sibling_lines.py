"""Finds where one thing of a sort is named: declared, registered, listed, tested and documented.

Files that name most things of a family are where each of them is declared, registered or listed. What stands there of
one, and in files that are called after it, is what adding another one takes.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import split_identifier
from runtime.codebase.search.siblings.families import Family, Sibling

# So many of a family are looked at, spread over it, in so many families; so many of these are searched for.
LOOKED_AT = 20
MAX_FAMILIES = 3
SEARCHED = 6
# So many files are read that may list things of a family.
MAX_READ = 24
# A file lists things of a family that names at least so many, and this share, of those looked at.
LEAST_LISTED, LISTED_SHARE = 3, 0.4
# What it is worth that a file is called after the thing, such as its test; a line costs so much of a file.
CALLED_AFTER, LINES_PER_FILE = 0.5, 20
LEAST_NAME_CHARS = 2
MAX_LINE_CHARS = 400
_KINDS = {"source": 0, "test": 1, "docs": 2, "data": 3, "example": 4}
_COMMENT = re.compile(r"\s*(?:#(?!include|\[)|//|/\*|\*)")
_IMPORTS = r"(?:mod|use|import|from|require|include|load|export)\b"
_KEPT_FOR_OLDER = re.compile(r"(?:^|/)versioned_")

# Returns the files that have a text, in any case.
FilesWith = Callable[[str], Iterable[str]]
# Returns the lines of a file; None for one that cannot be read.
ReadLines = Callable[[str], Sequence[str] | None]
# The number of a line, from 1, and the line.
Line = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """Holds where one thing of a family stands: the lines that name it, by file, source first.

    `of`: how many things of the family each of these files names, of so many that were looked at (`looked_at`).
    """

    family: Family
    one: Sibling
    lines: Mapping[str, Sequence[Line]]
    of: Mapping[str, int]
    looked_at: int


def best_standing(
    families: Sequence[Family], paths: Sequence[str], importers: Collection[str], files_with: FilesWith, read: ReadLines
) -> Standing | None:
    """Return the thing that shows best where one is named, of the first families that have one; else None.

    `importers`: files that import files of the families.
    """
    for family in families[:MAX_FAMILIES]:
        members = _spread(family.members, LOOKED_AT)
        found = Counter(file for one in _spread(members, SEARCHED) for file in files_with(_telling(one.name)))
        likely = [
            *(file for file in importers if file not in found),
            *(file for file, _ in found.most_common(MAX_READ)),
        ]
        texts = {file: lines for file in likely[: 2 * MAX_READ] if (lines := _readable(file, read)) is not None}
        named = {file: _named(family, members, file, lines) for file, lines in texts.items()}
        least = max(min(LEAST_LISTED, len(family.members)), LISTED_SHARE * len(members))
        listing = {file: texts[file] for file, ones in named.items() if len(ones) >= least}
        of = {file: len(ones) for file, ones in named.items()}
        made = [
            _standing(family, one, listing, named, _called_after(one, paths, read), of, len(members)) for one in members
        ]
        told = [each for each in made if each.lines]
        if told:
            return max(told, key=lambda each: (_worth(each, listing), each.one.name))
    return None


def _spread(members: Sequence[Sibling], most: int) -> list[Sibling]:
    """Return some members, spread evenly."""
    named = [one for one in members if len(one.name) >= LEAST_NAME_CHARS]
    step = max(1, len(named) // most)
    return named[::step][:most]


def _telling(name: str) -> str:
    """Return what a text that names a thing surely has: the longest word of its name."""
    parts = re.split(r"[-_]", name)
    words = split_identifier(name) if len(parts) > 1 else [name]
    return max(words, key=len, default=name)


def _readable(file: str, read: ReadLines) -> Sequence[str] | None:
    if kind_of_path(file) not in _KINDS or _KEPT_FOR_OLDER.search(file):
        return None
    return read(file)


def _named(family: Family, members: Sequence[Sibling], file: str, lines: Sequence[str]) -> list[Sibling]:
    """Return the things of a family that a file surely names, but for what it defines itself."""
    text = "\n".join(line[:MAX_LINE_CHARS] for line in lines if not _remarks(file, line))
    others = [one for one in members if not _is_own(family, one, file)]
    return [one for one in others if re.search(pattern_of(family, one), text, re.MULTILINE) is not None]


def _remarks(file: str, line: str) -> bool:
    """Return whether a line of code is a comment."""
    return kind_of_path(file) not in {"docs", "data"} and _COMMENT.match(line) is not None


def _is_own(family: Family, one: Sibling, file: str) -> bool:
    """Return whether a file is that of the thing itself, or lies in its folder; a value has no file of its own."""
    if family.how == "value":
        return False
    return file == one.file or (family.how == "folder" and file.startswith(f"{family.of}/{one.name}/"))


def _called_after(one: Sibling, paths: Sequence[str], read: ReadLines) -> dict[str, Sequence[str]]:
    """Return the texts of the other files that are called after a thing: `tests/test_join.rs` of `join`."""
    wanted = set(split_identifier(one.name))
    stems = ((path, posixpath.splitext(posixpath.basename(path))[0]) for path in paths if path != one.file)
    called = [path for path, name in stems if wanted and wanted <= set(split_identifier(name))]
    found = ((path, _readable(path, read)) for path in called[:MAX_READ])
    return {path: lines for path, lines in found if lines is not None}


def _standing(
    family: Family,
    one: Sibling,
    listing: Mapping[str, Sequence[str]],
    named: Mapping[str, Sequence[Sibling]],
    called: Mapping[str, Sequence[str]],
    of: Mapping[str, int],
    looked_at: int,
) -> Standing:
    """Return where a thing stands: in files that list such things, and in those that are called after it."""
    word = re.compile(rf"\b{_spelt(one.name)}\b", re.IGNORECASE)
    sure = re.compile(pattern_of(family, one))
    told = {file: _lines(file, lines, word, one) for file, lines in listing.items() if one in named[file]}
    told = {file: found for file, found in told.items() if found}
    # That a document lists them is worth telling, but registers none.
    if any(kind_of_path(file) != "docs" for file in told):
        others = {file: lines for file, lines in called.items() if file not in told and not _is_own(family, one, file)}
        told |= {file: found for file, lines in others.items() if (found := _lines(file, lines, sure, one))}
    else:
        told = {}
    ordered = sorted(told, key=lambda file: (_KINDS[kind_of_path(file)], file not in listing, file))
    return Standing(family, one, {file: told[file] for file in ordered}, of, looked_at)


def _lines(file: str, lines: Sequence[str], names: re.Pattern[str], one: Sibling) -> list[Line]:
    """Return the lines of a file that name a thing, without comments of code; of lines that are alike the first."""
    found: dict[str, Line] = {}
    for number, line in enumerate(lines, 1):
        is_declaration = (file, number) == (one.file, one.line)
        if names.search(line[:MAX_LINE_CHARS]) is not None and not is_declaration and not _remarks(file, line):
            found.setdefault(line.strip(), (number, line))
    return list(found.values())


def _worth(standing: Standing, listing: Collection[str]) -> float:
    """Return how much a thing shows: in how many files that list such things it stands, and on how few lines."""
    files = [file for file in standing.lines if file in listing]
    total = sum(map(len, standing.lines.values()))
    return len(files) + CALLED_AFTER * (len(standing.lines) > len(files)) - total / LINES_PER_FILE


def _spelt(name: str) -> str:
    return "[-_]?".join(map(re.escape, split_identifier(name))) or re.escape(name)


def pattern_of(family: Family, one: Sibling) -> str:
    """Return an expression for the lines that name a thing: a type by its name, a file in quotes, paths and imports."""
    quoted = rf"[\"'`]{_spelt(one.name)}[\"'`]"
    if family.how == "type":
        return rf"\b{re.escape(one.name)}\b"
    if family.how == "value":
        return rf"\b{re.escape(one.name)}\b|{quoted}"
    camel = "".join(part.capitalize() for part in split_identifier(one.name))
    own = "".join(part.capitalize() for part in split_identifier(posixpath.basename(family.of))[-1:]).removesuffix("s")
    folder, spelt = re.escape(posixpath.basename(family.of)), _spelt(one.name)
    typed = rf"\b(?:{camel}{own}|{own}{camel}|{own}::{camel})\b"
    return rf"{typed}|{quoted}|\b{folder}(?:::|[./]){spelt}\b|^\s*(?:pub(?:\([a-z]+\))? )?{_IMPORTS}.*\b{spelt}\b"
