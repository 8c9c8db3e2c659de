"""Reads records of newer versions, and keeps the fields and words that this version does not know.

A record is converted to its type from plain data. Unknown fields go into a tree beside it and come back when it is
written; words that a field's type does not list stay as text where the caller permits it.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

# One level of a tree: `fields` that are unknown here, `parts` below, and the `id` of the record that they belong to.
Unknown = dict[str, Any]

Place = tuple[str | int, ...]
T = TypeVar("T")


def convert_known(raw: Any, kind: type[T], keeps_words: bool = False) -> tuple[T, Unknown]:
    """Convert plain data to `kind` and return it with the tree of its unknown fields, which is empty for most.

    `keeps_words`: a word that a Literal does not list is kept as it is. Raises msgspec.ValidationError, TypeError.
    """
    words: list[tuple[Place, str]] = []
    plain, unknown = _known(raw, kind, (), words if keeps_words else None)
    value = msgspec.convert(plain, kind)
    for place, word in words:
        _put(value, place, word)
    return value, unknown


def with_unknown(plain: Any, unknown: Unknown) -> Any:
    """Return plain data with unknown fields beside the known ones, where the records that had them are still there."""
    if not unknown:
        return plain
    if isinstance(plain, dict):
        if "id" in unknown and plain.get("id") != unknown["id"]:
            return plain
        parts = {key: with_unknown(plain[key], part) for key, part in unknown["parts"].items() if key in plain}
        return {**unknown["fields"], **plain, **parts}
    if isinstance(plain, list):
        return [with_unknown(part, unknown["parts"].get(str(place), {})) for place, part in enumerate(plain)]
    return plain


def _known(raw: Any, hint: Any, place: Place, words: list[tuple[Place, str]] | None) -> tuple[Any, Unknown]:
    """Return the part of `raw` that the type knows, and the tree of the rest; new `words` are noted and replaced."""
    hint = _chosen(hint, raw)
    if get_origin(hint) is Literal:
        if words is None or not isinstance(raw, str) or raw in get_args(hint):
            return raw, {}
        words.append((place, raw))
        return get_args(hint)[0], {}
    if isinstance(raw, dict) and isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        types_of = _types_of(hint)
        tag = hint.__struct_config__.tag_field
        fields = {name: value for name, value in raw.items() if name not in types_of and name != tag}
        below = {name: types_of.get(name, Any) for name in raw if name not in fields}
        return _level(raw, below, fields, place, words)
    if isinstance(raw, dict) and get_origin(hint) in (dict, Mapping):
        return _level(raw, dict.fromkeys(raw, get_args(hint)[1]), {}, place, words)
    if isinstance(raw, list) and get_origin(hint) in (tuple, list):
        plain, unknown = _level(
            dict(enumerate(raw)), dict.fromkeys(range(len(raw)), get_args(hint)[0]), {}, place, words
        )
        return list(plain.values()), unknown
    return raw, {}


def _level(
    raw: Mapping[Any, Any],
    below: Mapping[Any, Any],
    fields: dict[str, Any],
    place: Place,
    words: list[tuple[Place, str]] | None,
) -> tuple[dict[Any, Any], Unknown]:
    plain, parts = {}, {}
    for key, hint in below.items():
        plain[key], part = _known(raw[key], hint, (*place, key), words)
        if part:
            parts[str(key)] = part
    if not fields and not parts:
        return plain, {}
    identity = {"id": raw["id"]} if "id" in plain else {}
    return plain, {"fields": fields, "parts": parts, **identity}


def _chosen(hint: Any, raw: Any) -> Any:
    """Return the member of a union that the data is of: by its tag, or the one that is not None."""
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    members = [part for part in get_args(hint) if part is not type(None)]
    tagged = [part for part in members if isinstance(part, type) and issubclass(part, msgspec.Struct)]
    for part in tagged if len(tagged) > 1 and isinstance(raw, dict) else ():
        config = part.__struct_config__
        if config.tag_field is not None and raw.get(config.tag_field) == config.tag:
            return part
    return members[0] if len(members) == 1 else Any


@cache
def _types_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(kind)


def _put(value: Any, place: Place, word: str) -> None:
    *outer, last = place
    for step in outer:
        value = getattr(value, str(step)) if isinstance(value, msgspec.Struct) else value[step]
    if isinstance(value, msgspec.Struct):
        msgspec.structs.force_setattr(value, str(last), word)
    else:
        value[last] = word
