"""Derives the run of an idempotency key from the key, so that a repeated request repeats no run.

The run log is the store of keys: a key is known as long as its run is, whichever process, connection or system died
in between, and it is forgotten when `jeeves gc` drops the run. The id depends on the caller, too: nobody finds the run
of another one's key.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from runtime.errors import InputError
from runtime.primitives.ids import RunId

KEY_HEADER = "Idempotency-Key"
MAX_KEY_CHARS = 255
ID_DIGITS = 32


def run_id_of_key(user_id: str, key: str) -> RunId:
    """Return the id of the run that a caller's key stands for. Raises InputError for a key that cannot be one."""
    check_key(key)
    digest = hashlib.sha256(f"{len(user_id)} {user_id} {key}".encode()).hexdigest()
    return RunId(f"k-{digest[:ID_DIGITS]}")


def check_key(key: str) -> None:
    """Raise InputError for a key that cannot be one."""
    if not (0 < len(key) <= MAX_KEY_CHARS and key.isascii() and key.isprintable()):
        raise InputError(f"{KEY_HEADER} has {len(key)} characters; send 1 to {MAX_KEY_CHARS} of printable ASCII")


def fingerprint(body: dict[str, Any]) -> str:
    """Return a digest of a validated body; the order of its keys does not matter."""
    return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()
