"""Copies values from code of other authors as JSON that every wire and door can carry."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from runtime.errors import InputError

MAX_DEPTH = 20


def plain_json(value: Any, max_bytes: int, what: str) -> Any:
    """Return a copy of a value as it is after a trip through JSON; `what` names it in errors.

    Raises InputError for values that are no JSON, take more than `max_bytes`, or are nested more than MAX_DEPTH deep.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        if len(text) > max_bytes:
            raise InputError(
                f"the {what} takes {len(text)} bytes as JSON, at most {max_bytes} are allowed",
                actual=len(text),
                allowed=max_bytes,
            )
        plain = json.loads(text)
        msgspec.msgpack.encode(plain)
        depth = _depth(plain)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"the {what} is no JSON: {error}") from error
    if depth > MAX_DEPTH:
        raise InputError(f"the {what} is nested more than {MAX_DEPTH} levels deep")
    return plain


def _depth(value: object) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)
