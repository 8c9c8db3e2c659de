"""Creates bearer tokens, and checks presented ones against the digests that are kept.

A token is `jeeves_ID_SECRET`: ID, 16 hexadecimal digits, finds its record; SECRET has 256 random bits. Only the SHA-256
digest of both is kept, which needs no salt and no slow hash for so many random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Literal, NamedTuple, get_args

import msgspec

Scope = Literal["ask", "watch", "operate"]
TokenState = Literal["valid", "expired", "revoked"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
ID_BYTES, SECRET_BYTES = 8, 32

_SHAPE = re.compile(rb"jeeves_([0-9a-f]{16})_([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
# What an unknown id is compared with; no token has this digest.
_NOBODY = bytes(hashlib.sha256().digest_size)


class TokenRecord(msgspec.Struct, frozen=True):
    """Describes an issued token; the principal of its holder is `token:NAME`. `expires_ms` is exclusive."""

    token_id: str
    name: str
    digest: bytes
    scopes: tuple[Scope, ...]
    created_ms: int
    expires_ms: int | None = None
    revoked_ms: int | None = None

    def state(self, now_ms: int) -> TokenState:
        """Return whether the token is accepted now, or why not."""
        if self.revoked_ms is not None:
            return "revoked"
        return "expired" if self.expires_ms is not None and now_ms >= self.expires_ms else "valid"


class NewToken(NamedTuple):
    """Holds a token that was just created: `text` is shown once and kept nowhere."""

    text: str
    token_id: str
    digest: bytes


class PresentedToken(NamedTuple):
    """Holds what a caller presented."""

    token_id: str
    digest: bytes

    def proves(self, record: TokenRecord | None) -> bool:
        """Return True if this is the token of `record`, the one of its id; None takes as long, and is never proved."""
        kept = _NOBODY if record is None else record.digest
        return hmac.compare_digest(self.digest, kept)


def new_token() -> NewToken:
    """Create a token."""
    token_id, secret = secrets.token_hex(ID_BYTES), secrets.token_hex(SECRET_BYTES)
    return NewToken(f"jeeves_{token_id}_{secret}", token_id, _digest(token_id.encode(), secret.encode()))


def read_token(text: bytes) -> PresentedToken | None:
    """Return what a text presents; None if it does not have the form of a token."""
    found = _SHAPE.fullmatch(text)
    return None if found is None else PresentedToken(found[1].decode(), _digest(found[1], found[2]))


def is_token_name(name: str) -> bool:
    """Return True for 1 to 64 ASCII letters, digits, `.`, `_`, `@` and `-`, the first a letter or digit."""
    return _NAME.fullmatch(name) is not None


def _digest(token_id: bytes, secret: bytes) -> bytes:
    return hashlib.sha256(token_id + b"_" + secret).digest()
