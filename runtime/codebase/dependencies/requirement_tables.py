"""Reads the dependencies of metadata files in TOML and JSON, with their lines."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtime.codebase.dependencies import lines_of_names
from runtime.codebase.dependencies.requirement import Group

_Lines = Sequence[str]
_Rows = Iterator[tuple[str, int, Group]]
_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_FOR_TESTS = re.compile(r"dev|test|lint|doc|ci\b|typing|check|bench|example", re.IGNORECASE)


def pyproject(path: str, lines: _Lines) -> _Rows:
    """Yield what the project, its extras, its groups and its build need, by the standard tables and Poetry's."""
    data = tomllib.loads("\n".join(lines))
    tables = lines_of_names.of_tables(lines)
    project = _table(data, "project")
    yield from _of(lines, tables, "project", _texts(project.get("dependencies")), "runtime")
    for extra, texts in _table(project, "optional-dependencies").items():
        yield from _of(lines, tables, "project.optional-dependencies", _texts(texts), _extra(extra))
    for name, texts in _table(data, "dependency-groups").items():
        yield from _of(lines, tables, "dependency-groups", _texts(texts), _extra(name, "development"))
    yield from _of(lines, tables, "build-system", _texts(_table(data, "build-system").get("requires")), "build")
    poetry = _table(data, "tool", "poetry")
    needed = [name for name in _table(poetry, "dependencies") if name != "python"]
    yield from _of(lines, tables, "tool.poetry.dependencies", needed, "runtime")
    yield from _of(
        lines, tables, "tool.poetry.dev-dependencies", list(_table(poetry, "dev-dependencies")), "development"
    )
    for name, group in _table(poetry, "group").items():
        table = f"tool.poetry.group.{name}.dependencies"
        yield from _of(lines, tables, table, list(_table(group, "dependencies")), _extra(name, "development"))
    for name, texts in _table(data, "tool", "pdm", "dev-dependencies").items():
        yield from _of(lines, tables, "tool.pdm.dev-dependencies", _texts(texts), _extra(name, "development"))
    yield from _of(lines, tables, "tool.uv", _texts(_table(data, "tool", "uv").get("dev-dependencies")), "development")


def pipfile(path: str, lines: _Lines) -> _Rows:
    """Yield what the two tables of a Pipfile name."""
    data = tomllib.loads("\n".join(lines))
    tables = lines_of_names.of_tables(lines)
    yield from _of(lines, tables, "packages", list(_table(data, "packages")), "runtime")
    yield from _of(lines, tables, "dev-packages", list(_table(data, "dev-packages")), "development")


_CARGO: Mapping[str, Group] = {
    "dependencies": "runtime",
    "dev-dependencies": "development",
    "build-dependencies": "build",
}


def cargo(path: str, lines: _Lines) -> _Rows:
    """Yield the crates that a package or workspace needs, anywhere, on some targets, for tests or to build."""
    data = tomllib.loads("\n".join(lines))
    tables = lines_of_names.of_tables(lines)
    places = [("", data), ("workspace.", _table(data, "workspace"))]
    places += [(f"target.{target}.", table) for target, table in _table(data, "target").items()]
    for before, table in places:
        for key, group in _CARGO.items():
            crates = _table(table, key) if isinstance(table, Mapping) else {}
            for crate, told in crates.items():
                is_optional = group == "runtime" and isinstance(told, Mapping) and told.get("optional") is True
                wanted: Group = "optional" if is_optional else group
                # `[dependencies.serde]` is a table of its own.
                own = tables.get(_unquoted(f"{before}{key}.{crate}"))
                if own:
                    yield crate, min(own), wanted
                else:
                    yield from _of(lines, tables, f"{before}{key}", [crate], wanted)


_NODE: Mapping[str, Group] = {
    "dependencies": "runtime",
    "peerDependencies": "runtime",
    "optionalDependencies": "optional",
    "devDependencies": "development",
}
_PHP: Mapping[str, Group] = {"require": "runtime", "require-dev": "development"}


def package_json(path: str, lines: _Lines) -> _Rows:
    """Yield the packages that a package.json names."""
    yield from _of_objects(lines, _NODE)


def composer_json(path: str, lines: _Lines) -> _Rows:
    """Yield the packages that a composer.json names, without the language and its extensions."""
    return ((name, line, group) for name, line, group in _of_objects(lines, _PHP) if "/" in name)


def version_catalogue(path: str, lines: _Lines) -> _Rows:
    """Yield the libraries of a Gradle version catalogue as `group:artifact`, with the lines of their aliases."""
    data = tomllib.loads("\n".join(lines))
    tables = lines_of_names.of_tables(lines)
    for alias, told in _table(data, "libraries").items():
        if isinstance(told, str):
            module = ":".join(told.split(":")[:2])
        elif isinstance(told, Mapping):
            module = str(told.get("module") or f"{told.get('group', '')}:{told.get('name', '')}")
        else:
            continue
        group = _extra(alias, "runtime")
        for _, line, of in _of(lines, tables, "libraries", [alias], group):
            yield module, line, of


def _of_objects(lines: _Lines, keys: Mapping[str, Group]) -> _Rows:
    data = json.loads("\n".join(lines))
    for key, group in keys.items():
        names = _table(data, key)
        within = lines_of_names.of_object(lines, key)
        yield from lines_of_names.beginning(lines, [(name, group) for name in names], within)


def _of(lines: _Lines, tables: Mapping[str, set[int]], table: str, names: Sequence[str], group: Group) -> _Rows:
    """Yield the names of requirements with their lines within a TOML table."""
    within = tables.get(_unquoted(table)) or set()
    matched = [found.group(1) for text in names if (found := _NAME.match(text)) is not None]
    return lines_of_names.beginning(lines, [(name, group) for name in matched], within)


def _unquoted(table: str) -> str:
    return re.sub(r"[\"'\s]", "", table)


def _extra(name: str, otherwise: Group = "optional") -> Group:
    return "development" if _FOR_TESTS.search(name) else otherwise


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _table(data: Any, *keys: str) -> dict[str, Any]:
    """Return a table below others; empty where there is none, or something else in its place."""
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return dict(data) if isinstance(data, Mapping) else {}
