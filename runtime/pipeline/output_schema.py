"""Validates stage outputs against their declared JSON schema.

The schema is checked with its pipeline, an output where its stage runs, before its result is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.errors import SettingsError


class OutputSchema:
    """Validates one agent's outputs. The constructor raises SettingsError for an invalid schema (JSON schema 2020-12).

    In that error, `problem` describes the fault and `path` locates it in the schema.
    """

    def __init__(self, agent: str, schema: dict[str, Any]) -> None:
        # Imported here: most agents declare no schema, and each runs in a process that should start fast.
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from referencing.jsonschema import DRAFT202012, EMPTY_REGISTRY

        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise _unusable(agent, f"is no JSON schema: {error.message}", tuple(error.absolute_path)) from error
        root = DRAFT202012.create_resource(schema)
        lost = next(_unresolved(root, EMPTY_REGISTRY.resolver_with_root(root)), None)
        if lost is not None:
            raise _unusable(agent, f"refers to '{lost}', which is not in it; nothing is fetched")
        self._agent = agent
        # With an explicit registry the validator fetches nothing from the network.
        self._validator = Draft202012Validator(schema, registry=EMPTY_REGISTRY)

    def fault(self, output: dict[str, Any]) -> str | None:
        """Return the gravest fault of an output, with its path, or None."""
        from jsonschema.exceptions import best_match

        try:
            worst = best_match(self._validator.iter_errors(output))
        except RecursionError:
            return f"output of stage '{self._agent}' cannot be checked: its schema leads round in a circle"
        if worst is None:
            return None
        place = ".".join(str(part) for part in worst.absolute_path) or "the output"
        return f"output of stage '{self._agent}' does not fit its schema: {place}: {worst.message}"


def forbids(schema: Mapping[str, Any], field: str) -> str | None:
    """Return why no output that fits `schema` can have `field`, or None.

    Requirements in `allOf` count as well; those behind references and conditions do not.
    """
    for part in schema.get("allOf", ()):
        if isinstance(part, Mapping) and (why := forbids(part, field)) is not None:
            return why
    properties = schema.get("properties", {})
    if properties.get(field, True) is False:
        return "its property is false"
    if any(re.search(pattern, field) and part is False for pattern, part in _patterns(schema)):
        return "a pattern in patternProperties that is false matches it"
    is_named = field in properties or any(re.search(pattern, field) for pattern, _ in _patterns(schema))
    if schema.get("additionalProperties", True) is False and not is_named:
        return "additionalProperties is false, and properties does not name it"
    return None


def _patterns(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from schema.get("patternProperties", {}).items()


def _unusable(agent: str, problem: str, path: tuple[str | int, ...] = ()) -> SettingsError:
    return SettingsError(f"output_schema of agent '{agent}' {problem}", problem=problem, path=path)


def _unresolved(resource: Any, resolver: Any) -> Iterator[str]:
    """Yield the references in a schema and its parts that cannot be resolved."""
    from referencing.exceptions import Unresolvable

    if isinstance(resource.contents, Mapping):
        for keyword in ("$ref", "$dynamicRef"):
            if keyword not in resource.contents:
                continue
            try:
                resolver.lookup(resource.contents[keyword])
            except Unresolvable:
                yield str(resource.contents[keyword])
    for part in resource.subresources():
        yield from _unresolved(part, resolver.in_subresource(part))
