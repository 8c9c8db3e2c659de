"""Answers as objects: a pydantic model as a bounded JSON schema, narrowed to what may be chosen, and read back.

Bounded means that the schema itself ends every answer: strings have a length, lists a number of items, objects no keys
of the model's own. A weak model under guided decoding would otherwise write to its last token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from runtime.errors import InvalidOutputError
from runtime.primitives.yaml_documents import dotted

Shape = TypeVar("Shape", bound=BaseModel)

# The key by which a field says that its values come from a list known only when the model is asked.
CHOICES = "x-choices"
MAX_TOLD_PROBLEMS = 5
_HALF_A_CHARACTER = re.compile("[\ud800-\udbff]$")
_DROPPED = frozenset({"title", "description", "default", "$defs", CHOICES})


def bounded_schema(shape: type[BaseModel], choices: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """The JSON schema of a shape, references resolved; fields marked with `x-choices` take only what `choices` lists.

    A list of choices that is empty leaves the field as it is. Raises ValueError that names every unbounded part.
    """
    schema = shape.model_json_schema()
    resolved: dict[str, Any] = _resolved(schema, schema.get("$defs", {}), dict(choices or {}))
    loose = list(unbounded_parts(resolved))
    if loose:
        raise ValueError(f"{shape.__name__} does not bound {', '.join(loose)}")
    return resolved


def chosen(name: str) -> dict[str, Any]:
    """For `Field(json_schema_extra=…)`: the values of this field are the choices called `name`."""
    return {CHOICES: name}


def unbounded_parts(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    """The places of a resolved schema at which an answer could go on for ever."""
    here = ".".join(path) or "the whole"
    if "enum" in schema or "const" in schema:
        return
    for option in schema.get("anyOf", ()):
        yield from unbounded_parts(option, path)
    kind = schema.get("type")
    if kind == "string" and "maxLength" not in schema:
        yield here
    if kind in {"integer", "number"} and not {"minimum", "maximum"} <= schema.keys():
        yield here
    if kind == "array":
        if "maxItems" not in schema:
            yield here
        yield from unbounded_parts(schema.get("items", {"type": "string"}), (*path, "[]"))
    if kind == "object":
        if schema.get("additionalProperties") is not False:
            yield here
        for name, part in schema.get("properties", {}).items():
            yield from unbounded_parts(part, (*path, name))


def read_object(text: str, shape: type[Shape]) -> Shape:
    """The object in a model's answer. Raises InvalidOutputError that says what is wrong, in words a model can use."""
    try:
        return shape.model_validate(_json_in(text))
    except ValidationError as error:
        problems = [
            f"{dotted(item['loc']) or 'the object'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        told = "; ".join(problems[:MAX_TOLD_PROBLEMS])
        raise InvalidOutputError(f"the answer does not fit {shape.__name__}: {told}", problem=told) from error


def strings_so_far(written: str, key: str) -> list[str]:
    """The texts under `key` in an answer that is still being written, in order; the last may not be whole yet."""
    found = re.findall(rf'"{re.escape(key)}"\s*:\s*"((?:[^"\\]|\\.)*)', written, re.DOTALL)
    return [_unescaped(text) for text in found]


def _unescaped(text: str) -> str:
    """A JSON string's text, without what an escape at its end has begun."""
    for end in range(len(text), max(-1, len(text) - 12), -1):
        try:
            return _HALF_A_CHARACTER.sub("", json.loads(f'"{text[:end]}"', strict=False))
        except ValueError:
            continue  # the end cuts an escape in two; the text before it is whole
    return ""


def _json_in(text: str) -> Any:
    """The first JSON object in a text: models put words or a fence around it, and bare line ends into its strings."""
    start = text.find("{")
    if start < 0:
        raise InvalidOutputError("the answer holds no JSON object", problem="it holds no JSON object")
    try:
        found, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        problem = f"it is not valid JSON: {error}"
        raise InvalidOutputError(f"the answer holds no JSON object: {error}", problem=problem) from error
    return found


def _resolved(part: Any, definitions: Mapping[str, Any], choices: Mapping[str, Sequence[str]]) -> Any:
    if isinstance(part, list):
        return [_resolved(item, definitions, choices) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _resolved(definitions[part["$ref"].rpartition("/")[2]], definitions, choices)
    if choices.get(part.get(CHOICES, "")):
        return {"enum": list(choices[part[CHOICES]]), "type": "string"}
    return {
        key: {name: _resolved(value, definitions, choices) for name, value in inner.items()}
        if key == "properties"
        else _resolved(inner, definitions, choices)
        for key, inner in part.items()
        if key not in _DROPPED
    }
