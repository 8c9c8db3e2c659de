"""Shortens the bodies of the most frequent events, which are small: a stage's start and its result.

Their names and keys weigh more than what they say. So the first fields become the items of a list, and the run, which
is a column beside the body, is left out:

    {type: stage_started, key: {run_id, hop, item, attempt}}            →  [0, hop, item, attempt]
    {type: stage_succeeded, key: {run_id, hop, item, attempt}, …}       →  [1, hop, item, attempt, {…}]

Fields that a newer version wrote are in the last item like any other. An event in any other form keeps its map.
"""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.primitives.ids import RunId

# Larger bodies would gain next to nothing, and cost more to take apart.
MAX_BYTES = 512

# A type is stored as its place here: new ones are appended, and none is ever removed.
_TYPES = ("stage_started", "stage_succeeded")
_NAMES = dict(enumerate(_TYPES))
_CODES = {type_: code for code, type_ in _NAMES.items()}
_KEY = ("run_id", "hop", "item", "attempt")
_SHORTEST, _LONGEST = len(_KEY), len(_KEY) + 1

# MessagePack's lists of up to fifteen items begin with these four bits; a payload is a map.
_LIST, _LIST_BITS = 0x90, 0xF0


def compacted(run_id: RunId, body: bytes) -> bytes:
    """Return the shorter form of a payload, or the payload itself."""
    if len(body) > MAX_BYTES:
        return body
    fields: dict[str, Any] = msgspec.msgpack.decode(body)
    code, key = _CODES.get(fields.pop("type", "")), fields.pop("key", None)
    if code is None or not isinstance(key, dict) or tuple(key) != _KEY or key["run_id"] != run_id:
        return body
    _, *place = key.values()
    return msgspec.msgpack.encode([code, *place, *([fields] if fields else [])])


def expanded(run_id: RunId, body: bytes) -> bytes:
    """Return the payload of either form. Raises LookupError, TypeError or msgspec's errors for what is neither."""
    if not body or body[0] & _LIST_BITS != _LIST:
        return body
    items: list[Any] = msgspec.msgpack.decode(body)
    if len(items) not in (_SHORTEST, _LONGEST):
        raise LookupError(f"a short event has {_SHORTEST} or {_LONGEST} items, not {len(items)}")
    code, *place = items[:_SHORTEST]
    key = dict(zip(_KEY, (run_id, *place), strict=True))
    return msgspec.msgpack.encode({"type": _NAMES[code], "key": key} | dict(*items[_SHORTEST:]))
