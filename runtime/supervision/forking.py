"""Copies the events of a run for a fork, which has the same past under another run id.

Every typed part of an event that names its run is renamed: stage keys and run ids wherever they are nested, and fields
of the types `TimerId` and `InterruptId`. Values of a capability (outputs, metadata), texts for people and the instants
of the past stay as they were recorded. What is still to come is moved by the `shift_ms` of the fork's `RunAdopted`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

import msgspec

from runtime.primitives.ids import INTERRUPT_ID, TIMER_ID, RunId, StageKey
from runtime.supervision.events import Event

Rename = Callable[[Any, RunId, RunId], Any]


def with_run_id(event: Event, run_id: RunId) -> Event:
    """Return the same event as one of another run."""
    return msgspec.structs.replace(event, run_id=run_id, payload=_renamed(event.payload, event.run_id, run_id))


def _renamed(value: Any, old: RunId, new: RunId) -> Any:
    if isinstance(value, StageKey):
        return msgspec.structs.replace(value, run_id=new)
    if isinstance(value, tuple):
        return tuple(_renamed(part, old, new) for part in value)
    if not isinstance(value, msgspec.Struct):
        return value
    changes = {name: rename(getattr(value, name), old, new) for name, rename in _renames_of(type(value)).items()}
    return msgspec.structs.replace(value, **changes)


@cache
def _renames_of(kind: type[msgspec.Struct]) -> dict[str, Rename]:
    """Map each field of a type to the function that renames the run in it."""
    return {name: _rename_of(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}


def _rename_of(hint: Any) -> Rename:
    if hint is RunId:
        return _renamed_run
    marks = getattr(hint, "__metadata__", ())
    return next((rename for mark, rename in _RENAME_OF_MARK.items() if mark in marks), _renamed)


def _renamed_run(text: Any, old: RunId, new: RunId) -> Any:
    return new if text == old else text


def _renamed_interrupt(text: Any, old: RunId, new: RunId) -> Any:
    return new + text.removeprefix(old) if text.startswith(old) else text


def _renamed_timer(text: Any, old: RunId, new: RunId) -> Any:
    kind, colon, named = text.partition(":")
    return kind + colon + _renamed_interrupt(named, old, new) if colon else text


_RENAME_OF_MARK: dict[str, Rename] = {TIMER_ID: _renamed_timer, INTERRUPT_ID: _renamed_interrupt}
