"""Reads the typed outputs that one agent hands to another, and reports misfits by field.

An output is checked when its agent writes it, so the stage with the wrong output fails, and not a later one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from runtime.errors import HandoverError
from runtime.run.stage_view import StageView

_PLACE = re.compile(r"^(?P<expected>.*?)(?: - at `\$\.?(?P<place>.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]+)`")


OutputT = TypeVar("OutputT", bound=msgspec.Struct)
T = TypeVar("T")


def read(agent: str, written: object, shape: type[T]) -> T:
    """Convert an agent's output to its type; raise HandoverError when it does not fit."""
    try:
        return msgspec.convert(written, shape)
    except msgspec.ValidationError as error:
        raise _unreadable(agent, str(error)) from error


def required(view: StageView, key: str, shape: type[OutputT]) -> OutputT:
    """Return the output of a run under `key`; raise HandoverError when it is missing or does not fit."""
    found = optional(view, key, shape)
    if found is None:
        raise missing(view, key)
    return found


def optional(view: StageView, key: str, shape: type[OutputT]) -> OutputT | None:
    """Return the output of a run under `key`, or None without one; raise HandoverError when it does not fit."""
    found = view.outputs.get(key)
    return None if found is None else read(key, found, shape)


def missing(view: StageView, key: str) -> HandoverError:
    """Build the error for a run without an output under `key`."""
    there = ", ".join(sorted(view.outputs)) or "none"
    said = f"the run has no output '{key}' yet; it has {there}"
    return HandoverError(said, agent=key, field="", expected="an output")


def written(output: msgspec.Struct) -> dict[str, Any]:
    """Encode an output for the wire and the log."""
    fields: dict[str, Any] = msgspec.to_builtins(output)
    return fields


def checked(agent: str, fields: Mapping[str, Any], shape: type[OutputT]) -> dict[str, Any]:
    """Validate an agent's fields and encode them for the wire; raise HandoverError when they do not fit."""
    return written(read(agent, fields, shape))


def _unreadable(agent: str, said: str) -> HandoverError:
    found = _PLACE.match(said)
    assert found is not None
    expected, place = found["expected"], found["place"] or ""
    if (missing := _MISSING.match(expected)) is not None:
        place = f"{place}.{missing['name']}" if place else missing["name"]
    where = f"field '{place}'" if place else "the output"
    return HandoverError(
        f"the output of agent '{agent}' does not have its form: {where}: {expected}",
        agent=agent,
        field=place,
        expected=expected,
    )
