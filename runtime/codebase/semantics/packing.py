"""Packs vectors of length 1 into one byte per number: a scale and 384 integers from -127 to 127.

Cosines of packed vectors differ from those of the exact ones by some thousandths, which changes no order that matters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors

PACKED_BYTES = DIMENSIONS + 4
_MOST = 127

Integers = NDArray[np.int8]

# Kept for a text that cannot be embedded, so that it is not tried again; it is never compared.
NO_VECTOR: Vectors = np.zeros(DIMENSIONS, np.float32)


def pack(vector: Vectors) -> bytes:
    """Return a vector as its scale (float32) and its numbers (int8); the scale of a vector of zeros is 0."""
    scale = np.float32(float(np.abs(vector).max()) / _MOST)
    numbers = np.rint(vector / scale) if scale else vector
    return bytes(scale.tobytes() + numbers.astype(np.int8).tobytes())


def unpack(data: bytes) -> Vectors:
    """Return the vector that was packed."""
    scale, numbers = unpack_parts(data)
    return np.asarray(numbers.astype(np.float32) * scale, np.float32)


def unpack_parts(data: bytes) -> tuple[np.float32, Integers]:
    """Return the scale and the integers of a packed vector."""
    return np.frombuffer(data, np.float32, count=1)[0], np.frombuffer(data, np.int8, offset=4)


def as_kept(vector: Vectors) -> Vectors:
    """Return a vector as it will be when it is read again, so that the first answer and later ones agree."""
    return unpack(pack(vector))
