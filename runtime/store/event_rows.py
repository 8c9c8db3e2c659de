"""Encodes events as rows of a run log, with large values stored beside the row, once by hash.

A row holds the payload alone; run, number and time are columns. Older rows held the whole event and are still read, and
so are those from before small payloads were shortened (`runtime.store.compact_bodies`). A
value of more than `LARGE_BYTES` is taken out of the payload, the innermost of that size, and put back when the event is
read: a fork, or a request that comes again, does not store it twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from runtime.errors import StateStorageError, WireError
from runtime.primitives.hashing import BlobHash, content_hash
from runtime.primitives.ids import RunId
from runtime.store.compact_bodies import compacted, expanded
from runtime.supervision.events import Event, decode_event, decode_payload, encode_payload

LARGE_BYTES = 64 * 1024

# A whole event is a map that begins with its run; a payload begins with its type.
_WHOLE_EVENT = slice(1, 8), b"\xa6run_id"

_PATH_DECODER = msgspec.msgpack.Decoder(list[Any])


class Large(NamedTuple):
    """Holds a value taken out of an event: its path there (encoded), its hash, and the value (encoded)."""

    path: bytes
    hash: BlobHash
    body: bytes


class EventRow(NamedTuple):
    """Holds the stored form of an event: the body of its row, and its large values."""

    body: bytes
    large: tuple[Large, ...] = ()


def row_of(event: Event) -> EventRow:
    """Encode the payload of an event, with its large values taken out."""
    body = encode_payload(event)
    if len(body) <= LARGE_BYTES:
        return EventRow(compacted(event.run_id, body))
    large: list[Large] = []
    lean = _without_large(msgspec.msgpack.decode(body), [], large)
    return EventRow(msgspec.msgpack.encode(lean), tuple(large))


def event_of(run_id: RunId, seq: int, at_ms: int, body: bytes, large: Iterable[tuple[bytes, bytes]] = ()) -> Event:
    """Decode the event of a row; `large` gives paths and bodies of its large values.

    Raises WireError, and NewerVersionError for what a newer version wrote.
    """
    where, begin = _WHOLE_EVENT
    if body[where] == begin:
        return decode_event(body)
    try:
        whole = _whole(expanded(run_id, body), large)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, LookupError, TypeError) as error:
        raise WireError(f"these {len(body)} bytes are no event: {error}", size_bytes=len(body)) from error
    return decode_payload(run_id, seq, at_ms, whole)


def checked(location: str, bodies: Mapping[BlobHash, bytes], name: BlobHash) -> bytes:
    """Return the value of a hash. Raises StateStorageError if it is missing or damaged."""
    body = bodies.get(name)
    if body is not None and content_hash(body) == name:
        return body
    what = "is not there" if body is None else "is damaged: its content has another hash"
    raise StateStorageError(f"value {name} in {location} {what}; put a copy back", problem="damaged", hash=name)


def _without_large(value: Any, path: list[Any], large: list[Large]) -> Any:
    """Return the large `value` with None in place of the large values in it; the root itself always stays."""
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
