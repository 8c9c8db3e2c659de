"""Checks and reports the events that a capability's hooks emit to the callers of a run."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from runtime.errors import StageError
from runtime.primitives.ids import StageKey
from runtime.supervision.events import EMITTED_NAME, MAX_EMITTED, StageEmitted

MAX_EVENT_BYTES = 4_096
MAX_EVENT_DEPTH = 20

Report = Callable[[StageEmitted], Awaitable[None]]


class OwnEvents:
    """Numbers the events of one attempt; without `report` they are checked and dropped."""

    def __init__(self, key: StageKey, report: Report | None) -> None:
        self._key = key
        self._report = report
        self._emitted = 0

    async def emit(self, name: str, data: Mapping[str, Any]) -> None:
        """Report an event. Raises StageError if its name, its data or their number is not permitted."""
        if not isinstance(name, str) or not EMITTED_NAME.fullmatch(name):
            raise StageError(f"the name of an event is 1 to 64 of a-z, 0-9 and _, a letter first, not {name!r:.80}")
        if self._emitted >= MAX_EMITTED:
            raise StageError(
                f"a visit of a stage may emit {MAX_EMITTED} events; '{name}' is one more",
                actual=self._emitted + 1,
                allowed=MAX_EMITTED,
            )
        plain = plain_data(name, data)
        self._emitted += 1
        if self._report is not None:
            await self._report(StageEmitted(self._key, name, self._emitted, plain))


def plain_data(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of an event's data as every wire and door has it. Raises StageError unless it is a JSON object."""
    try:
        text = json.dumps(dict(data), ensure_ascii=False, allow_nan=False).encode()
        if len(text) > MAX_EVENT_BYTES:
            raise StageError(
                f"the data of event '{name}' takes {len(text)} bytes as JSON, at most {MAX_EVENT_BYTES} are allowed",
                actual=len(text),
                allowed=MAX_EVENT_BYTES,
            )
        plain: dict[str, Any] = json.loads(text)
        msgspec.msgpack.encode(plain)
        depth = _depth(plain)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StageError(f"the data of event '{name}' is no JSON object: {error}") from error
    if depth > MAX_EVENT_DEPTH:
        raise StageError(f"the data of event '{name}' is nested more than {MAX_EVENT_DEPTH} levels deep")
    return plain


def _depth(value: object) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)
