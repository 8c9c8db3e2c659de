"""Describes a repository to a model that plans: languages, folders, files, parts, entries, README."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping

from actors.capabilities.code_analysis.evidence.claims import plain
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.overview.folder_files import Placed
from runtime.codebase.overview.main_parts import Part
from runtime.codebase.overview.survey import Survey, survey

MAX_FOLDERS = 40
MAX_LANGUAGES = 8
MAX_PARTS = 12
MAX_ENTRIES = 6
MAX_HEAD_CHARS = 1_600
MAX_LINE_CHARS = 300
MAX_FILES_CHARS = 8_000
# Of one folder: a source may be asked for by its name, of other files it is enough to know that they are there.
MAX_NAMES_CHARS = 2_400
MAX_OTHER_NAMES_CHARS = 400
_README = re.compile(r"^readme(?:\.\w+)?$", re.IGNORECASE)
# Badges, pictures and markup of the head of a README.
_DECORATION = re.compile(
    r"^\s*(?:\[?!\[|<[^>]*>\s*$|\.\. image|<(?:img|p|a|div|h\d)\b|/?>\s*$|[\w-]+=\"[^\"]*\"\s*/?>?\s*$)|^\s*$"
)
_BADGE = re.compile(r"\]\([^\s()]*(?:badge|shields\.io)")
# What a planner seldom reads comes last.
_KINDS_LAST = frozenset({"test", "example", "benchmark", "vendored", "generated", "translation"})


def overview_of(codebase: Codebase, by_language: Mapping[str, int]) -> list[str]:
    """Describe a repository in lines, the most important first."""
    paths = [file.path for file in codebase.files() if file.is_readable]
    languages = [f"{name} {count}" for name, count in Counter(by_language).most_common(MAX_LANGUAGES)]
    lines = [f"languages (files): {', '.join(languages)}"] if languages else []
    lines.append(f"folders (files): {', '.join(_folders(paths))}")
    return [*lines, *_surveyed(survey(codebase)), *_head(codebase, paths)]


def _surveyed(found: Survey) -> list[str]:
    """Return what the repository says of itself, its main parts and its entry points, each with its lines."""
    lines = [f"says of itself: {_quoted(one)}" for one in found.purpose]
    lines += [f"main part {_described(part)}" for part in found.parts[:MAX_PARTS]]
    lines += [
        plain(f"entry point: {one.kind} {one.name} ({one.file}:{one.start_line})")
        for one in found.entries[:MAX_ENTRIES]
    ]
    return [_printable(line)[:MAX_LINE_CHARS] for line in lines]


def _described(part: Part) -> str:
    """Return a part with what it, or a definition in it, says of itself, else with the names in it."""
    sized = f"{plain(part.name)} ({part.files} files)"
    if part.said is None:
        names = ", ".join(used.text for used in part.names)
        return f"{sized}, with {names}" if names else sized
    defines = f", with {part.said.about}" if part.said.about else ""
    return f"{sized}{defines}: {_quoted(part.said)}"


def _quoted(one: Placed) -> str:
    return f"{plain(one.text)} ({plain(one.file)}:{one.start_line})"


def files_of(codebase: Codebase) -> list[str]:
    """List the files of a repository, a line for each folder: sources first, tests and examples last."""
    folders: dict[str, list[str]] = {}
    for file in codebase.files():
        if file.is_readable:
            folders.setdefault(posixpath.dirname(file.path) or ".", []).append(posixpath.basename(file.path))

    kinds = {folder: kind_of_path(f"{folder}/{names[0]}") for folder, names in folders.items()}

    def place(folder: str) -> tuple[bool, bool, int, str]:
        return kinds[folder] in _KINDS_LAST, kinds[folder] != "source", folder.count("/"), folder

    lines: list[str] = []
    left = MAX_FILES_CHARS
    for number, folder in enumerate(sorted(folders, key=place)):
        most = MAX_NAMES_CHARS if kinds[folder] == "source" else MAX_OTHER_NAMES_CHARS
        line = plain(_printable(f"files of {folder}: {_listed(sorted(folders[folder]), most)}"))
        left -= len(line)
        if left < 0:
            return [*lines, f"(the files of {len(folders) - number} more folders are not listed)"]
        lines.append(line)
    return lines


def _listed(names: list[str], most_chars: int) -> str:
    """Join names up to a length, and count the rest."""
    left, kept = most_chars, 0
    for name in names:
        left -= len(name) + 2
        if left < 0:
            break
        kept += 1
    more = f"and {len(names) - kept} more" if kept < len(names) else ""
    return ", ".join([*names[:kept], *([more] if more else [])])


def _folders(paths: list[str]) -> list[str]:
    """Return folders of the first two levels with the number of files below each, sources before the rest."""
    counts: Counter[str] = Counter()
    for path in paths:
        parts = posixpath.dirname(path).split("/")
        for depth in range(1, min(2, len(parts)) + 1):
            counts["/".join(parts[:depth]) or "."] += 1
    kept = sorted(counts, key=lambda folder: (kind_of_path(f"{folder}/x") != "source", -counts[folder], folder))
    return [f"{plain(folder)} {counts[folder]}" for folder in kept[:MAX_FOLDERS]]


def _head(codebase: Codebase, paths: list[str]) -> list[str]:
    readme = next((path for path in sorted(paths) if _README.match(path)), None)
    source = None if readme is None else codebase.try_source(readme)
    if readme is None or source is None:
        return []
    said = [line for line in source.lines[:80] if not (_DECORATION.match(line) or _BADGE.search(line))]
    text = "\n".join(_printable(line)[:MAX_LINE_CHARS] for line in said)[:MAX_HEAD_CHARS]
    return [f"head of {plain(readme)}:", *plain(text).split("\n")] if text else []


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else " " for char in line).rstrip()
