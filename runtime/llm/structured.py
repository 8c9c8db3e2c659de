"""Converts pydantic models to bounded JSON schemas, and parses answers back into objects.

Bounded means that the schema itself ends every answer: strings have a length, lists a number of items, objects no keys
of the model's own. A weak model under guided decoding would otherwise write up to its last token. Hosted services
refuse such bounds (`strict_schema`), so answers are cut to them here as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from runtime.errors import InvalidOutputError
from runtime.primitives.yaml_documents import dotted

Shape = TypeVar("Shape", bound=BaseModel)

# What holds answers to a form, from the strictest: an endpoint that refuses one is asked with the next.
StructuredOutput = Literal["bounded_json_schema", "json_schema", "json_object", "none"]
STRUCTURED_OUTPUTS: tuple[StructuredOutput, ...] = get_args(StructuredOutput)

# The key that marks a field whose values come from a list known only when the model is called.
CHOICES = "x-choices"
MAX_TOLD_PROBLEMS = 5
_HALF_A_CHARACTER = re.compile("[\ud800-\udbff]$")
# Keywords that hosted services refuse in the schemas of their strict mode.
BOUNDS = frozenset(
    {"maxLength", "minLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"maxItems", "minItems", "uniqueItems", "pattern", "format", "minProperties", "maxProperties"}
)
_DROPPED = frozenset({"title", "description", "default", "$defs", CHOICES})


def bounded_schema(shape: type[BaseModel], choices: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """Return the JSON schema of a shape, with references resolved and `x-choices` fields limited to `choices`.

    An empty list of choices leaves the field as it is. Raises ValueError that names every unbounded part.
    """
    schema = shape.model_json_schema()
    resolved: dict[str, Any] = _resolved(schema, schema.get("$defs", {}), dict(choices or {}))
    loose = list(unbounded_parts(resolved))
    if loose:
        raise ValueError(f"{shape.__name__} does not bound {', '.join(loose)}")
    return resolved


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resolved schema as hosted services take it in strict mode: all keys required, and nothing bounded."""
    kept = {key: value for key, value in schema.items() if key not in BOUNDS}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), Mapping):
            kept[key] = strict_schema(kept[key])
    if "anyOf" in kept:
        kept["anyOf"] = [strict_schema(option) for option in kept["anyOf"]]
    if kept.get("properties"):
        kept["properties"] = {name: strict_schema(part) for name, part in kept["properties"].items()}
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def within_bounds(value: Any, schema: Mapping[str, Any]) -> Any:
    """Cut an answer to its bounded schema: long texts and lists at the end, numbers to their limits, unknown keys."""
    kind = schema.get("type")
    if isinstance(value, str) and kind == "string":
        return value[: schema.get("maxLength")]
    if isinstance(value, list) and kind == "array":
        return [within_bounds(item, schema.get("items", {})) for item in value[: schema.get("maxItems")]]
    if isinstance(value, dict) and kind == "object":
        parts = schema.get("properties", {})
        return {name: within_bounds(item, parts[name]) for name, item in value.items() if name in parts}
    if kind in {"integer", "number"} and isinstance(value, int | float) and not isinstance(value, bool):
        return max(schema.get("minimum", value), min(schema.get("maximum", value), value))
    return value


def chosen(name: str) -> dict[str, Any]:
    """Return the `json_schema_extra` of a field whose values are the choices called `name`."""
    return {CHOICES: name}


def unbounded_parts(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the paths in a resolved schema at which an answer could grow without end."""
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


def read_object(text: str, shape: type[Shape], schema: Mapping[str, Any] | None = None) -> Shape:
    """Parse the object in a model's answer, cut to its bounded schema: what is only too long is not asked for again.

    Raises InvalidOutputError, whose `problem` can be sent to the model.
    """
    try:
        return shape.model_validate(within_bounds(_json_in(text), schema or bounded_schema(shape)))
    except ValidationError as error:
        problems = [
            f"{dotted(item['loc']) or 'the object'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        told = "; ".join(problems[:MAX_TOLD_PROBLEMS])
        raise InvalidOutputError(f"the answer does not fit {shape.__name__}: {told}", problem=told) from error


def strings_so_far(written: str, key: str) -> list[str]:
    """Return the texts under `key` in a partial answer, in order; the last may be incomplete."""
    found = re.findall(rf'"{re.escape(key)}"\s*:\s*"((?:[^"\\]|\\.)*)', written, re.DOTALL)
    return [_unescaped(text) for text in found]


def _unescaped(text: str) -> str:
    """Decode the text of a JSON string, without an incomplete escape at its end."""
    for end in range(len(text), max(-1, len(text) - 12), -1):
        try:
            return _HALF_A_CHARACTER.sub("", json.loads(f'"{text[:end]}"', strict=False))
        except ValueError:
            continue  # the end cuts an escape in two; the text before it is complete
    return ""


def _json_in(text: str) -> Any:
    """Parse the first JSON object in a text: models put words or a fence around it, and newlines into its strings."""
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
