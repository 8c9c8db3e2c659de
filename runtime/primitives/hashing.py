"""Hashes content, so that equal bytes have one name."""

from __future__ import annotations

import hashlib
from typing import NewType

BlobHash = NewType("BlobHash", str)


def content_hash(data: bytes) -> BlobHash:
    """Return the SHA-256 of `data`, as 64 hexadecimal digits."""
    return BlobHash(hashlib.sha256(data).hexdigest())
