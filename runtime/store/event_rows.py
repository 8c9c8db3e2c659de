"""How an event lies in a run log: what happened in one row, and what is large in it once by its hash, beside the row.

A row holds the payload alone; run, number and instant are columns of it. Rows of before held the whole event and are
read as well. A value of more than `LARGE_BYTES` is taken out of the payload, the innermost that is so large, and put
back in when the event is read: a fork, or a request that comes again, does not keep it twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from runtime.errors import StateStorageError, WireError
from runtime.primitives.hashing import BlobHash, content_hash
from runtime.primitives.ids import RunId
from runtime.supervision.events import Event, Payload, decode_event

LARGE_BYTES = 64 * 1024

# A whole event is a map that begins with its run; a payload begins with its type.
_WHOLE_EVENT = slice(1, 8), b"\xa6run_id"

_PAYLOAD_DECODER = msgspec.msgpack.Decoder(Payload)
_PATH_DECODER = msgspec.msgpack.Decoder(list[Any])


class Large(NamedTuple):
    """A value that was taken out of an event: where from (encoded), under which hash it is kept, and itself."""

    path: bytes
    hash: BlobHash
    body: bytes


class EventRow(NamedTuple):
    """An event as it is kept."""

    body: bytes
    large: tuple[Large, ...] = ()


def row_of(event: Event) -> EventRow:
    """What is kept of an event beside its run, number and instant."""
    body = msgspec.msgpack.encode(event.payload)
    if len(body) <= LARGE_BYTES:
        return EventRow(body)
    large: list[Large] = []
    lean = _without_large(msgspec.msgpack.decode(body), [], large)
    return EventRow(msgspec.msgpack.encode(lean), tuple(large))


def event_of(run_id: RunId, seq: int, at_ms: int, body: bytes, large: Iterable[tuple[bytes, bytes]] = ()) -> Event:
    """The event of a row, with what was taken out of it: paths and bodies. Raises WireError when it is none."""
    where, begin = _WHOLE_EVENT
    if body[where] == begin:
        return decode_event(body)
    try:
        return Event(run_id, seq, at_ms, _PAYLOAD_DECODER.decode(_whole(body, large)))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, LookupError, TypeError) as error:
        raise WireError(f"these {len(body)} bytes are no event: {error}", size_bytes=len(body)) from error


def checked(location: str, bodies: Mapping[BlobHash, bytes], name: BlobHash) -> bytes:
    """The value of a hash. Raises StateStorageError when it is gone or damaged."""
    body = bodies.get(name)
    if body is not None and content_hash(body) == name:
        return body
    what = "is not there" if body is None else "is damaged: its content has another hash"
    raise StateStorageError(f"value {name} in {location} {what}; put a copy back", problem="damaged", hash=name)


def _without_large(value: Any, path: list[Any], large: list[Large]) -> Any:
    """`value`, which is large, with nothing in the place of the large values in it; the root itself always stays."""
    kept = dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else None
    places = [] if kept is None else list(kept) if isinstance(kept, dict) else list(range(len(kept)))
    found = False
    for place in places:
        body = msgspec.msgpack.encode(kept[place])  # type: ignore[index]
        if len(body) > LARGE_BYTES:
            found = True
            kept[place] = _without_large(kept[place], [*path, place], large)  # type: ignore[index]
    if found or not path:
        return kept
    body = msgspec.msgpack.encode(value)
    large.append(Large(msgspec.msgpack.encode(path), content_hash(body), body))
    return None


def _whole(body: bytes, large: Iterable[tuple[bytes, bytes]]) -> bytes:
    lean: Any = None
    for path, taken in large:
        lean = msgspec.msgpack.decode(body) if lean is None else lean
        *outer, last = _PATH_DECODER.decode(path)
        holder = lean
        for place in outer:
            holder = holder[place]
        holder[last] = msgspec.msgpack.decode(taken)
    return body if lean is None else msgspec.msgpack.encode(lean)
