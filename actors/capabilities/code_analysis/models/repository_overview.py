"""Describes a repository to a model that plans: its languages, its folders, the head of its README."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping

from actors.capabilities.code_analysis.evidence.claims import plain
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path

MAX_FOLDERS = 40
MAX_LANGUAGES = 8
MAX_HEAD_CHARS = 1_600
MAX_LINE_CHARS = 300
_README = re.compile(r"^readme(?:\.\w+)?$", re.IGNORECASE)
# Badges, pictures and markup of the head of a README.
_DECORATION = re.compile(r"^\s*(?:\[?!\[|<[^>]*>\s*$|\.\. image|<(?:img|p|a|div|h\d)\b)|^\s*$")


def overview_of(codebase: Codebase, by_language: Mapping[str, int]) -> list[str]:
    """Describe a repository in lines, the most important first."""
    paths = [file.path for file in codebase.files() if file.is_readable]
    languages = [f"{name} {count}" for name, count in Counter(by_language).most_common(MAX_LANGUAGES)]
    lines = [f"languages (files): {', '.join(languages)}"] if languages else []
    lines.append(f"folders (files): {', '.join(_folders(paths))}")
    return [*lines, *_head(codebase, paths)]


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
    said = [line for line in source.lines[:80] if not _DECORATION.match(line)]
    text = "\n".join(_printable(line)[:MAX_LINE_CHARS] for line in said)[:MAX_HEAD_CHARS]
    return [f"head of {plain(readme)}:", *plain(text).split("\n")] if text else []


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else " " for char in line).rstrip()
