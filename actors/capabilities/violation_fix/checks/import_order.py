"""Keeps imports in the order of the settings of their repository, where they were so before."""

from __future__ import annotations

import ast
import configparser
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from actors.capabilities.violation_fix.checks.layout import rewritten
from runtime.codebase.files.regular_file import read_below

_MAX_SETTINGS_BYTES = 1_000_000
_COMMAND = ("check", "--isolated", "--no-cache", "--quiet", "--ignore-noqa", "--select", "I001", "--fix")
# What ruff calls as isort does, with dashes.
_COPIED = (
    "force-sort-within-sections",
    "force-single-line",
    "force-to-top",
    "from-first",
    "known-first-party",
    "known-third-party",
    "length-sort",
    "lines-after-imports",
    "lines-between-types",
    "no-lines-before",
    "order-by-type",
)
_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "google": {"force-sort-within-sections": True, "force-single-line": True},
    "open_stack": {"force-sort-within-sections": True, "force-single-line": True},
}
_TRUE_OR_FALSE = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_INI_FILES = ((".isort.cfg", "settings"), ("setup.cfg", "isort"), ("tox.ini", "isort"))


def keep_import_order(root: Path, before: str, after: str) -> str:
    """Return `after` with an import that was added in its place, if the imports of `before` were in order.

    The order is the one of the repository's own settings of isort; without any, ruff's own, or the one that sorts
    both kinds of imports together.
    """
    if _imports(before) == _imports(after):
        return after
    for settings in _orders(root):
        if _sorted(root, before, settings) == before:
            return _sorted(root, after, settings) or after
    return after


def _imports(text: str) -> list[str]:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        # What does not parse is told elsewhere; its imports are left alone.
        return []
    return [ast.dump(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]


def _orders(root: Path) -> Iterator[Mapping[str, Any]]:
    found = _settings(root)
    yield found
    if "force-sort-within-sections" not in found:
        yield {**found, "force-sort-within-sections": True}


def _settings(root: Path) -> dict[str, Any]:
    """Return the settings of the first program that sorts imports in a repository, as ruff spells them."""
    for name in ("ruff.toml", ".ruff.toml", "pyproject.toml"):
        data = _toml(_text(root, name))
        tool = data.get("tool", {}) if name == "pyproject.toml" else {"ruff": data}
        lint = tool.get("ruff", {}).get("lint", {}) if isinstance(tool.get("ruff"), dict) else {}
        found = lint.get("isort") if isinstance(lint, dict) else None
        isort = tool.get("isort")
        if isinstance(found, dict):
            return _copied(found)
        if isinstance(isort, dict):
            return _copied(isort)
    for name, section in _INI_FILES:
        found = _ini(_text(root, name), section)
        if found:
            return _copied(found)
    return {}


def _copied(settings: Mapping[str, Any]) -> dict[str, Any]:
    spelled = {key.replace("_", "-"): value for key, value in settings.items()}
    given = {key: value for key, value in spelled.items() if key in _COPIED and _is_plain(value)}
    return {**_PROFILES.get(str(spelled.get("profile")), {}), **given}


def _is_plain(value: object) -> bool:
    is_text = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return isinstance(value, bool | int) or is_text


def _text(root: Path, name: str) -> str:
    try:
        return read_below(root, name, _MAX_SETTINGS_BYTES).decode("utf-8-sig")
    except (OSError, ValueError):
        # No such file, or one that says nothing.
        return ""


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        # Settings that cannot be read ask for nothing.
        return {}


def _ini(text: str, section: str) -> dict[str, Any]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        # Settings that cannot be read ask for nothing.
        return {}
    values = dict(parser[section]) if parser.has_section(section) else {}
    return {key: _TRUE_OR_FALSE.get(value.strip().lower(), value) for key, value in values.items()}


def _own_packages(root: Path) -> list[str]:
    """Return what a repository can import of itself: the modules and packages at its top and in `src`."""
    folders = [folder for folder in (root, root / "src") if folder.is_dir() and not folder.is_symlink()]
    return sorted(
        {
            entry.name.removesuffix(".py")
            for folder in folders
            for entry in folder.iterdir()
            if (entry.is_dir() or entry.name.endswith(".py")) and entry.name.removesuffix(".py").isidentifier()
        }
    )


def _sorted(root: Path, text: str, settings: Mapping[str, Any]) -> str | None:
    """Return a text with its imports in order; None where ruff cannot say."""
    given = {"known-first-party": _own_packages(root), **settings}
    options = [f"lint.isort.{key}={json.dumps(value)}" for key, value in given.items()]
    return rewritten(text, (*_COMMAND, *(part for option in options for part in ("--config", option))))
