"""Copies from the settings of ruff in a repository those that only choose rules.

ruff runs no program that its settings name, but it reads files that they name (`extend`, in any folder), and settings
of folders above. So it is never given the repository's own file: the keys below are read as data and written to a
file of ours, everything else is left out, and what is left out is said.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from runtime.codebase.files.regular_file import NotRegularError, read_below
from runtime.errors import InputError

CONFIG_FILES = (".ruff.toml", "ruff.toml", "pyproject.toml")
MAX_BYTES = 1_000_000
NEWEST = "py314"
_COPIED = frozenset(
    {
        *("builtins", "indent-width", "line-length", "namespace-packages", "preview", "src", "target-version"),
    }
)
# What leaves files out: the files that are checked are chosen by us.
_NOT_COPIED_OF_LINT = frozenset({"exclude"})
_LINT_KEY = re.compile(r"[a-z][a-z0-9-]*")
# What older settings wrote at the top and newer ones below `lint`.
_MOVED = frozenset({"select", "ignore", "extend-select", "extend-ignore", "per-file-ignores", "mccabe", "pylint"})
_BOUND = re.compile(r"(?:>=|~=|==)\s*3\.(\d{1,2})")


class LinterConfig(msgspec.Struct, frozen=True):
    """Holds the copied settings as TOML, the file that they come from, and notes on what was left out.

    `has_version`: whether they say for which Python the code is.
    """

    text: str
    file: str = ""
    has_version: bool = False
    notes: tuple[str, ...] = ()


def linter_config(root: Path) -> LinterConfig:
    """Return the settings of ruff at the top of a repository, empty without any. Raises InputError for no TOML."""
    for name in CONFIG_FILES:
        data = _table(root, name)
        found = _below(data, ("tool",)).get("ruff") if name == "pyproject.toml" else data
        if isinstance(found, dict):
            return _copied(found, name)
    return LinterConfig("", notes=("the repository has no settings of ruff at its top",))


def declared_version(root: Path) -> str:
    """Return the oldest Python that `pyproject.toml` demands, as ruff writes it; the newest where none is."""
    try:
        data = _table(root, "pyproject.toml") or {}
    except InputError:
        # A file that is no TOML demands nothing; whoever wants its settings is told of that.
        return NEWEST
    demanded = str(_below(data, ("project",)).get("requires-python", ""))
    minors = [int(minor) for minor in _BOUND.findall(demanded)]
    return f"py3{min(max(minors), 14)}" if minors and max(minors) >= 7 else ("py37" if minors else NEWEST)


def _below(data: object, keys: Sequence[str]) -> Mapping[str, Any]:
    """Return the table at a path of keys; an empty one where there is none, or something else."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _table(root: Path, name: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(read_below(root, name, MAX_BYTES).decode("utf-8"))
    except FileNotFoundError:
        return None
    except NotRegularError:
        # A link may lead anywhere.
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{name} of the repository cannot be read as TOML: {error}", path=name) from error


def _copied(settings: Mapping[str, Any], file: str) -> LinterConfig:
    given = settings.get("lint")
    lint = {key: value for key, value in settings.items() if key in _MOVED}
    lint |= dict(given) if isinstance(given, dict) else {}
    top = {key: value for key, value in settings.items() if key in _COPIED}
    left_out = sorted(set(settings) - set(top) - _MOVED - {"lint"})
    left_out += [f"lint.{key}" for key in sorted(_NOT_COPIED_OF_LINT & set(lint))]
    lines = [f"{key} = {_toml(value)}" for key, value in sorted(top.items())]
    lines += [f"lint.{key} = {_toml(value)}" for key, value in sorted(lint.items()) if _is_copied_of_lint(key)]
    notes = (f"{file}: these settings of ruff are not used: {', '.join(left_out)}",) if left_out else ()
    return LinterConfig("\n".join(lines) + "\n", file, "target-version" in top, notes)


def _is_copied_of_lint(key: str) -> bool:
    return _LINT_KEY.fullmatch(key) is not None and key not in _NOT_COPIED_OF_LINT


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(str(key))} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _quoted(str(value))


def _quoted(text: str) -> str:
    # A basic string of TOML allows what JSON allows, but for the delete character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
