"""Reads what one agent hands on to another: each output has a type, and what does not fit it is told by name.

An output is checked when its agent writes it, so that the stage fails whose output is wrong and not a later one.
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
    """What an agent wrote, as its type. Raises HandoverError for what does not fit it."""
    try:
        return msgspec.convert(written, shape)
    except msgspec.ValidationError as error:
        raise _unreadable(agent, str(error)) from error


def required(view: StageView, key: str, shape: type[OutputT]) -> OutputT:
    """The output of a run under `key`. Raises HandoverError when it is not there or does not fit."""
    found = optional(view, key, shape)
    if found is None:
        raise missing(view, key)
    return found


def optional(view: StageView, key: str, shape: type[OutputT]) -> OutputT | None:
    """The output of a run under `key`, None when it is not there. Raises HandoverError when it does not fit."""
    found = view.outputs.get(key)
    return None if found is None else read(key, found, shape)


def missing(view: StageView, key: str) -> HandoverError:
    """That a run has no output under `key`."""
    there = ", ".join(sorted(view.outputs)) or "none"
    said = f"the run has no output '{key}' yet; it has {there}"
    return HandoverError(said, agent=key, field="", expected="an output")


def written(output: msgspec.Struct) -> dict[str, Any]:
    """An output as it goes on the wire and into the log."""
    fields: dict[str, Any] = msgspec.to_builtins(output)
    return fields


def checked(agent: str, fields: Mapping[str, Any], shape: type[OutputT]) -> dict[str, Any]:
    """The fields that an agent wrote, as they go on the wire. Raises HandoverError for what does not fit its type."""
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
