"""Finds how long the lines of a file may be, by the project's settings or by its own lines."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.codebase.files.regular_file import read_below

SHORTEST, LONGEST = 40, 1_000
# What style guides ask for; a file keeps the first that nearly all of its lines keep.
USUAL = (79, 88, 100, 120)
# One line in so many may be longer, such as an address in a comment.
_EXCEPTIONS = 100
_MAX_BYTES = 1_000_000
_Keys = tuple[tuple[str, tuple[str, ...]], ...]
_TOML: _Keys = (
    ("ruff.toml", ("line-length",)),
    (".ruff.toml", ("line-length",)),
    ("pyproject.toml", ("tool", "ruff", "line-length")),
    ("pyproject.toml", ("tool", "black", "line-length")),
    ("pyproject.toml", ("tool", "flake8", "max-line-length")),
    ("pyproject.toml", ("tool", "pycodestyle", "max-line-length")),
    ("pyproject.toml", ("tool", "autopep8", "max_line_length")),
    ("pyproject.toml", ("tool", "pylint", "format", "max-line-length")),
)
# Formatters that are set up keep lines to this length where none is set.
OF_FORMATTERS = 88
_FORMATTERS: _Keys = (
    ("ruff.toml", ("format",)),
    (".ruff.toml", ("format",)),
    ("pyproject.toml", ("tool", "ruff", "format")),
    ("pyproject.toml", ("tool", "black")),
)
_INI = tuple(
    (name, section)
    for name in (".flake8", "setup.cfg", "tox.ini", ".pycodestyle", ".pylintrc", "pylintrc", ".editorconfig")
    for section in ("flake8", "pycodestyle", "pep8", "FORMAT", "*.py", "*.{py,pyi}", "*")
)


def line_length_of(root: Path, file: str) -> int:
    """Return the longest line that new code in a file may have."""
    configured = next((length for length in _configured(root) if SHORTEST <= length <= LONGEST), None)
    return configured if configured is not None else usual_length(_text(root, file) or "")


def usual_length(source: str) -> int:
    """Return the usual limit that nearly all lines of a file keep."""
    lengths = [len(line.expandtabs(8)) for line in source.splitlines() if line.strip()]
    allowed = max(1, len(lengths) // _EXCEPTIONS)
    for limit in USUAL:
        if sum(length > limit for length in lengths) <= (0 if len(lengths) < _EXCEPTIONS else allowed):
            return limit
    return USUAL[-1]


def _configured(root: Path) -> Iterator[int]:
    for name, keys in _TOML:
        length = _at(root, name, keys)
        if isinstance(length, int):
            yield length
    for name, section in _INI:
        values = _ini(root, name).get(section, {})
        found = values.get("max-line-length") or values.get("max_line_length")
        if found is not None and found.strip().isdigit():
            yield int(found)
    for name, keys in _FORMATTERS:
        if isinstance(_at(root, name, keys), dict):
            yield OF_FORMATTERS


def _at(root: Path, name: str, keys: Sequence[str]) -> Any:
    table: Any = _toml(root, name)
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def _toml(root: Path, name: str) -> dict[str, Any]:
    text = _text(root, name)
    try:
        return tomllib.loads(text) if text is not None else {}
    except (ValueError, RecursionError):
        return {}


def _ini(root: Path, name: str) -> Mapping[str, Mapping[str, str]]:
    text = _text(root, name)
    if text is None:
        return {}
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        # What stands above the first section, as `root = true` in .editorconfig, goes to a section of its own.
        parser.read_string(f"[ ]\n{text}")
    except configparser.Error:
        return {}
    return {name: dict(parser[name]) for name in parser.sections()}


def _text(root: Path, path: str) -> str | None:
    try:
        return read_below(root, path, _MAX_BYTES).decode("utf-8-sig")
    except (OSError, ValueError):
        return None
