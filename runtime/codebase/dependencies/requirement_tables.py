"""Reads the dependencies of metadata files in TOML and JSON, with their lines."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.codebase.dependencies.requirement import REQUIREMENT, Group, Row, group_of
from runtime.codebase.dependencies.stated_keys import StatedKeys, stated_in_json, stated_in_toml

# The parser of the standard library takes quadratic time for a key of many parts, all of which stand on one line.
MAX_DOTS_OF_LINE = 200

_Lines = Sequence[str]
_Rows = Iterator[Row]
_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _File:
    """Yields what the tables and lists of a file name, each with its line."""

    data: Mapping[str, Any]
    stated: StatedKeys

    @classmethod
    def of_toml(cls, lines: _Lines) -> _File:
        if any(line.count(".") > MAX_DOTS_OF_LINE for line in lines):
            raise ValueError(f"a line has more than {MAX_DOTS_OF_LINE} full stops")
        return cls(tomllib.loads("\n".join(lines)), stated_in_toml(lines))

    @classmethod
    def of_json(cls, lines: _Lines) -> _File:
        return cls(_table(json.loads("\n".join(lines))), stated_in_json(lines))

    def table(self, path: _Path) -> dict[str, Any]:
        """Return the table at a path; empty where there is none, or something else in its place."""
        data: Any = self.data
        for key in path:
            data = _table(data).get(key)
        return _table(data)

    def texts(self, path: _Path, group: Group) -> _Rows:
        """Yield the names at the beginning of the texts in a list."""
        listed = self.table(path[:-1]).get(path[-1])
        for text in listed if isinstance(listed, list) else ():
            found = REQUIREMENT.match(text) if isinstance(text, str) else None
            line = self.stated.line_of_text(path, found.group(1)) if found is not None else None
            if found is not None and line is not None:
                yield Row(found.group(1), line, group)

    def names(self, path: _Path, group: Group) -> _Rows:
        """Yield the keys of a table."""
        return (row for name in self.table(path) if (row := self.key(path, name, group)) is not None)

    def key(self, path: _Path, name: str, group: Group, published: str = "") -> Row | None:
        """Return the row of one key, which may be another name than the published one."""
        line = self.stated.line_of_key((*path, name))
        if line is None:
            return None
        return Row(published or name, line, group, name if published and published != name else "")


def pyproject(path: str, lines: _Lines) -> _Rows:
    """Yield what the project, its extras, its groups and its build need, by the standard tables and those of tools."""
    file = _File.of_toml(lines)
    yield from file.texts(("project", "dependencies"), "runtime")
    for at, otherwise in _LISTS_BY_NAME:
        for name in file.table(at):
            yield from file.texts((*at, name), group_of(name, otherwise))
    yield from file.texts(("build-system", "requires"), "build")
    yield from file.texts(("tool", "uv", "dev-dependencies"), "development")
    poetry = ("tool", "poetry")
    yield from (row for row in file.names((*poetry, "dependencies"), "runtime") if row.name != "python")
    yield from file.names((*poetry, "dev-dependencies"), "development")
    for name in file.table((*poetry, "group")):
        yield from file.names((*poetry, "group", name, "dependencies"), group_of(name, "development"))
    for name in file.table(_HATCH):
        for key in ("dependencies", "extra-dependencies"):
            yield from file.texts((*_HATCH, name, key), "development")


_LISTS_BY_NAME: tuple[tuple[_Path, Group], ...] = (
    (("project", "optional-dependencies"), "optional"),
    (("dependency-groups",), "development"),
    (("tool", "pdm", "dev-dependencies"), "development"),
)
_HATCH = ("tool", "hatch", "envs")


def pipfile(path: str, lines: _Lines) -> _Rows:
    """Yield what the two tables of a Pipfile name."""
    file = _File.of_toml(lines)
    yield from file.names(("packages",), "runtime")
    yield from file.names(("dev-packages",), "development")


_CARGO: Mapping[str, Group] = {
    "dependencies": "runtime",
    "dev-dependencies": "development",
    "build-dependencies": "build",
}


def cargo(path: str, lines: _Lines) -> _Rows:
    """Yield the crates that a package or workspace needs, anywhere, on some targets, for tests or to build.

    A crate with a path is a part of the repository itself.
    """
    file = _File.of_toml(lines)
    targets: list[_Path] = [("target", target) for target in file.table(("target",))]
    for before in ((), ("workspace",), *targets):
        for key, group in _CARGO.items():
            for name, told in file.table((*before, key)).items():
                table = _table(told)
                wanted: Group = "optional" if group == "runtime" and table.get("optional") is True else group
                row = file.key((*before, key), name, wanted, _text(table.get("package")))
                if row is not None and "path" not in table:
                    yield row


_NODE: Mapping[str, Group] = {
    "dependencies": "runtime",
    "peerDependencies": "runtime",
    "optionalDependencies": "optional",
    "devDependencies": "development",
}
_PHP: Mapping[str, Group] = {"require": "runtime", "require-dev": "development"}
# What stands there is a part of the repository itself.
_OWN = ("workspace:", "file:", "link:", "portal:")


def package_json(path: str, lines: _Lines) -> _Rows:
    """Yield the packages that a package.json names; `"x": "npm:y@1"` is the package y, which the code calls x."""
    file = _File.of_json(lines)
    for key, group in _NODE.items():
        for name, version in file.table((key,)).items():
            told = _text(version)
            published = told.removeprefix("npm:").rpartition("@") if told.startswith("npm:") else ("", "", "")
            row = file.key((key,), name, group, published[0] or published[2])
            if row is not None and not told.startswith(_OWN):
                yield row


def composer_json(path: str, lines: _Lines) -> _Rows:
    """Yield the packages that a composer.json names, without the language and its extensions."""
    file = _File.of_json(lines)
    for key, group in _PHP.items():
        yield from (row for row in file.names((key,), group) if "/" in row.name)


def version_catalogue(path: str, lines: _Lines) -> _Rows:
    """Yield the libraries of a Gradle version catalogue as `group:artifact`, with the lines of their aliases."""
    file = _File.of_toml(lines)
    for alias, told in file.table(("libraries",)).items():
        table = _table(told)
        module = _text(told) or _text(table.get("module")) or f"{table.get('group', '')}:{table.get('name', '')}"
        row = file.key(("libraries",), alias, group_of(alias))
        if row is not None and module != ":":
            yield row._replace(name=":".join(module.split(":")[:2]))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
