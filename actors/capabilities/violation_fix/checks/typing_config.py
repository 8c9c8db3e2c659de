"""Reads as data what a project asks of annotations.

That is told by the settings of type checkers and by the oldest Python. No checker runs. Files
are looked for at the top of the repository only; a setting that cannot be read counts as absent.
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from runtime.codebase.files.regular_file import read_below

MAX_BYTES = 1_000_000
MAX_MODULE_BYTES = 500_000
MAX_DEPTH = 20
_INI_FILES = ("mypy.ini", ".mypy.ini", "setup.cfg", "tox.ini")
_STRICT = ("strict", "disallow_untyped_defs", "disallow_incomplete_defs")
_BOUND = re.compile(r"(?:>=|~=|==)\s*3\.(\d{1,2})")


class PackageSources:
    """Reads the modules below one folder of a repository."""

    def __init__(self, root: Path, folder: str) -> None:
        self._root = root
        self._folder = folder

    def source_of(self, module: str) -> tuple[str, bool] | None:
        """Return the text of a module by its dotted name, and whether it is a package; None where it is not there."""
        path = "/".join([*([self._folder] if self._folder else []), *module.split(".")])
        for name, is_package in ((f"{path}.py", False), (f"{path}/__init__.py", True)):
            text = _text(self._root, name, MAX_MODULE_BYTES)
            if text is not None:
                return text, is_package
        return None


def typing_rules(root: Path, file: str) -> TypingRules:
    """Return what the project at `root` asks of annotations in a file below it."""
    folder, module, is_package = _module_of(root, file)
    settings = list(_settings(root))
    rules = [rule for each in settings for rule in _applying(each, module)]
    is_strict = any(rule.get(key) is True for rule in rules for key in _STRICT)
    if any(rule.get("ignore_errors") is True or rule.get("disallow_untyped_defs") is False for rule in rules[1:]):
        is_strict = False
    pyright = _pyright(root)
    return TypingRules(
        module=module,
        is_package=is_package,
        sources=PackageSources(root, folder),
        is_strict=is_strict or pyright.get("typeCheckingMode") == "strict" or _ruff_demands(root),
        is_checked=bool(settings or pyright) or _text(root, _marker(folder, module), MAX_BYTES) is not None,
        min_python=_min_python(root),
    )


def _module_of(root: Path, file: str) -> tuple[str, str, bool]:
    """Return the folder that a file's package lies in, its dotted name, and whether it is a package itself."""
    path = PurePosixPath(file)
    is_package = path.name == "__init__.py"
    parts = [] if is_package else [path.stem]
    folder = path.parent
    for _ in range(MAX_DEPTH):
        if folder == PurePosixPath(".") or _text(root, f"{folder}/__init__.py", MAX_MODULE_BYTES) is None:
            break
        parts.insert(0, folder.name)
        folder = folder.parent
    return "" if folder == PurePosixPath(".") else str(folder), ".".join(parts) or path.stem, is_package


def _marker(folder: str, module: str) -> str:
    return "/".join([*([folder] if folder else []), module.partition(".")[0], "py.typed"])


def _settings(root: Path) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]]:
    """Yield the settings of mypy in each file: those for all modules, and those for modules by pattern."""
    table = _tool(root, "mypy")
    if table is not None:
        overrides: dict[str, Mapping[str, Any]] = {}
        listed = table.get("overrides")
        for each in listed if isinstance(listed, list) else []:
            patterns = each.get("module", []) if isinstance(each, dict) else []
            for pattern in [patterns] if isinstance(patterns, str) else patterns:
                overrides[str(pattern)] = {**overrides.get(str(pattern), {}), **each}
        yield table, overrides
    for name in _INI_FILES:
        parser = _ini(root, name)
        if parser is not None and parser.has_section("mypy"):
            sections = {
                pattern: _values(parser[section])
                for section in parser.sections()
                if section.startswith("mypy-")
                for pattern in section.removeprefix("mypy-").split(",")
            }
            yield _values(parser["mypy"]), sections


def _applying(
    settings: tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]], module: str
) -> list[Mapping[str, Any]]:
    general, by_pattern = settings
    found = [general]
    for pattern, rule in by_pattern.items():
        is_for = fnmatchcase(module, pattern) or (pattern.endswith(".*") and module == pattern[:-2])
        found += [rule] if is_for else []
    return found


def _values(section: Mapping[str, str]) -> dict[str, Any]:
    words = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}
    return {key: words.get(value.strip().lower(), value) for key, value in section.items()}


def _pyright(root: Path) -> Mapping[str, Any]:
    text = _text(root, "pyrightconfig.json", MAX_BYTES)
    try:
        found = json.loads(text) if text is not None else _tool(root, "pyright")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _ruff_demands(root: Path) -> bool:
    lint = (_tool(root, "ruff") or {}).get("lint")
    chosen = lint.get("select") if isinstance(lint, dict) else None
    return isinstance(chosen, list) and "ANN" in chosen


def _min_python(root: Path) -> tuple[int, int] | None:
    project = _table(root).get("project")
    demanded = str(project.get("requires-python", "")) if isinstance(project, dict) else ""
    parser = _ini(root, "setup.cfg")
    if not demanded and parser is not None:
        demanded = parser.get("options", "python_requires", fallback="")
    minors = [int(minor) for minor in _BOUND.findall(demanded)]
    return (3, max(minors)) if minors else None


def _tool(root: Path, name: str) -> dict[str, Any] | None:
    tools = _table(root).get("tool")
    found = tools.get(name) if isinstance(tools, dict) else None
    return found if isinstance(found, dict) else None


def _table(root: Path) -> dict[str, Any]:
    text = _text(root, "pyproject.toml", MAX_BYTES)
    try:
        return tomllib.loads(text) if text is not None else {}
    except (ValueError, RecursionError):
        return {}


def _ini(root: Path, name: str) -> configparser.ConfigParser | None:
    text = _text(root, name, MAX_BYTES)
    if text is None:
        return None
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return parser


def _text(root: Path, path: str, max_bytes: int) -> str | None:
    """Return the text of a file; None where it is missing, no regular file, too large or no UTF-8."""
    try:
        return read_below(root, path, max_bytes).decode("utf-8-sig")
    except (OSError, ValueError):
        return None
