"""Generates the page of settings: keys and forms from the model, defaults and meanings from configs/jeeves.yaml."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from runtime.settings import ENV_DELIMITER, ENV_PREFIX, Settings, shipped_config_dir
from tests.documentation.markdown import code, form, prose, table

_LINE = re.compile(r"^(?P<indent> *)(?P<key>[a-z_]+):(?P<value>[^#]*)(?:#\s*(?P<told>.*))?$")


def settings_page() -> str:
    """Return the page: each key with its form, default and meaning."""
    schema = Settings.model_json_schema(by_alias=True)
    meanings = meanings_of((shipped_config_dir() / "jeeves.yaml").read_text(encoding="utf-8"))
    lines = [
        "# Settings",
        "",
        "Generated from the settings model and from `configs/jeeves.yaml`. A value comes from its environment",
        "variable, else from the file of `--config` or of `JEEVES_CONFIG_DIR`, else it is the default.",
        f"The variable of `store.backend` is `{variable('store.backend')}`, and so on.",
        "",
    ]
    sections = {name: _section(each, schema) for name, each in schema["properties"].items()}
    plain = {name: each for name, each in schema["properties"].items() if sections[name] is None}
    lines += _keys(plain, "", meanings)
    for name, section in sections.items():
        if section is not None:
            lines += _of_section(name, section, schema, meanings, 2)
    lines += _shared(schema)
    return "\n".join(lines) + "\n"


def meanings_of(text: str) -> dict[str, str]:
    """Return dotted key → its comment, of a settings file whose comments stand behind the values."""
    found: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in text.splitlines():
        if (match := _LINE.match(line)) is None:
            continue
        indent = len(match["indent"])
        path = [*((at, key) for at, key in path if at < indent), (indent, match["key"])]
        if match["told"]:
            found[".".join(key for _, key in path)] = match["told"].strip()
    return found


def variable(key: str) -> str:
    """Return the environment variable of a dotted key."""
    return ENV_PREFIX + key.upper().replace(".", ENV_DELIMITER)


def _section(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of a section, None for a value."""
    if "$ref" not in schema:
        return None
    found: dict[str, Any] = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    return found if found.get("type") == "object" else None


def _of_section(
    name: str, section: dict[str, Any], whole: dict[str, Any], meanings: dict[str, str], level: int
) -> Iterator[str]:
    yield from (f"{'#' * level} `{name}`", "")
    for paragraph in section.get("description", "").split("\n\n"):
        yield from (prose(paragraph), "")
    properties = section["properties"]
    below = {key: _section(each, whole) for key, each in properties.items()}
    yield from _keys({key: each for key, each in properties.items() if below[key] is None}, f"{name}.", meanings)
    for key, each in below.items():
        if each is not None:
            yield from _of_section(f"{name}.{key}", each, whole, meanings, level + 1)


def _keys(properties: dict[str, Any], prefix: str, meanings: dict[str, str]) -> Iterator[str]:
    rows = []
    for key, each in properties.items():
        name = f"{prefix}{key}"
        rows.append((code(name), form(each), _default(each), prose(meanings.get(name, ""))))
    yield from table(("key", "form", "default", "what it sets"), rows)


def _default(schema: dict[str, Any]) -> str:
    value = schema.get("default")
    return "" if value is None else code(json.dumps(value, ensure_ascii=False))


def _shared(whole: dict[str, Any]) -> Iterator[str]:
    """Yield the forms that values of maps have, such as the modes of a capability."""
    sections = {each.get("$ref", "").rpartition("/")[2] for each in _references(whole["properties"])}
    for name, schema in whole["$defs"].items():
        if name in _values_of_maps(whole) and name not in sections and schema.get("type") == "object":
            description = schema.get("description", "")
            told = told_of_keys(description)
            yield from (f"## {code(name)}", "", prose(description.split("\n\n")[0]), "")
            rows = [
                (code(key), form(each), _default(each), prose(told.get(key, "")))
                for key, each in schema["properties"].items()
            ]
            yield from table(("key", "form", "default", "what it sets"), rows)


def told_of_keys(description: str) -> dict[str, str]:
    """Return key → its meaning, of a docstring that lists them as `key`: meaning, with semicolons between."""
    pieces = re.split(r"`(\w+)`: ", " ".join(description.split()))
    return {key: meaning.rstrip(" ;.") for key, meaning in zip(pieces[1::2], pieces[2::2], strict=True)}


def _references(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node
        for each in node.values():
            yield from _references(each)


def _values_of_maps(node: Any) -> set[str]:
    """Return the names of the forms that are values of some map."""
    found: set[str] = set()
    if isinstance(node, dict):
        below = [*node.get("patternProperties", {}).values()]
        if isinstance(node.get("additionalProperties"), dict):
            below.append(node["additionalProperties"])
        found |= {each["$ref"].rpartition("/")[2] for value in below for each in _references(value)}
        for each in node.values():
            found |= _values_of_maps(each)
    return found
