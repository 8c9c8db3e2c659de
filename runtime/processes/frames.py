"""Frames the messages between a worker process and its parent: four bytes of length, then a pickle.

The parent unpickles only plain data and the errors of `runtime.errors`: a worker that has been taken over by what it
reads cannot have the parent run anything.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any

import runtime.errors
from runtime.errors import JeevesError

HEADER = struct.Struct("!I")
MAX_FRAME_BYTES = 512 * 1024 * 1024
_REBUILD = "_rebuild"


def encode(message: Any) -> bytes:
    """Return the frame of a message. ValueError if it is larger than 512 MB."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    if len(data) > MAX_FRAME_BYTES:
        raise ValueError(f"a message has {len(data)} bytes, at most {MAX_FRAME_BYTES} are allowed")
    return HEADER.pack(len(data)) + data


def take(buffer: bytearray) -> bytes | None:
    """Remove the first whole frame from the buffer and return its content; None if more bytes are needed.

    ValueError if the frame is larger than 512 MB.
    """
    if len(buffer) < HEADER.size:
        return None
    (length,) = HEADER.unpack_from(buffer)
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a message has {length} bytes, at most {MAX_FRAME_BYTES} are allowed")
    end = HEADER.size + length
    if len(buffer) < end:
        return None
    content = bytes(memoryview(buffer)[HEADER.size : end])
    del buffer[:end]
    return content


def decode_plain(content: bytes) -> Any:
    """Return a message of plain data and errors of ours. pickle.UnpicklingError for anything else."""
    return _PlainUnpickler(io.BytesIO(content)).load()


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = getattr(runtime.errors, name, None) if module == "runtime.errors" else None
        if name == _REBUILD or (isinstance(found, type) and issubclass(found, JeevesError)):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")
