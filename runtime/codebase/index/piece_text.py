"""Defines the text from which the vector of a piece is made, and the key of that vector."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

MAX_PIECE_CHARS = 3_000
KEY_BYTES = 16


def piece_text(path: str, symbol: str, lines: Sequence[str]) -> str:
    """Return the text of a piece: its path, the qualified name it belongs to, and its lines, cut to 3000 characters."""
    return f"{path} {symbol}\n" + "\n".join(lines)[:MAX_PIECE_CHARS]


def piece_key(text: str) -> bytes:
    """Return the key of a text's vector: a hash of the text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()
