"""Defines principals, which identify callers, and whose runs each of them may control.

A principal is recorded as the `user_id` of a run:

    user:NAME       a user of the operating system, at a terminal of the machine
    batch:NAME      batch work of that user
    token:NAME      a bearer token over HTTP
    address:HOST    an HTTP client without a token: an IPv4 address, or the /64 of an IPv6 address
    operator:NAME   the holder of a token with the scope `operate`, who acts on the runs of others; owns none

Runs recorded before principals existed belong to `local` or `batch`; every user at the terminal may control them.
Which door makes which principal: `serve.principals`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Literal, get_args

import msgspec

PrincipalKind = Literal["user", "batch", "token", "address", "operator"]

KINDS: tuple[PrincipalKind, ...] = get_args(PrincipalKind)
LIMITED_KINDS: tuple[PrincipalKind, ...] = ("token", "address")
FORMER_USERS: frozenset[str] = frozenset({"local", "batch"})
MAX_NAME_CHARS = 128

_ROOT = "root"
_HTTP_KINDS: frozenset[PrincipalKind] = frozenset({"token", "address"})
_HASH_CHARS = 32


class Principal(msgspec.Struct, frozen=True):
    """Identifies a caller. Make one with `principal`, which makes any name fit."""

    kind: PrincipalKind
    name: str

    @property
    def user_id(self) -> str:
        """The form in which runs record it."""
        return f"{self.kind}:{self.name}"


def principal(kind: PrincipalKind, name: str) -> Principal:
    """Return a principal whose name is printable, without spaces, and at most 128 characters long.

    Different names stay different: other characters are percent-encoded, and the end of a long name becomes a hash.
    """
    quoted = "".join(_quoted(char) for char in name)
    if len(quoted) > MAX_NAME_CHARS:
        digest = hashlib.sha256(quoted.encode()).hexdigest()[:_HASH_CHARS]
        quoted = f"{quoted[: MAX_NAME_CHARS - _HASH_CHARS - 2]}%~{digest}"
    return Principal(kind, quoted)


def read_principal(user_id: str) -> Principal | None:
    """Return the principal recorded as `user_id`; None for former users and foreign names."""
    kind, separator, name = user_id.partition(":")
    return next((Principal(known, name) for known in KINDS if separator and name and known == kind), None)


def is_limited(user_id: str, kinds: Collection[str] = LIMITED_KINDS) -> bool:
    """Return True if rates, daily quotas and ceilings apply: to these kinds of principals, and to foreign names."""
    found = read_principal(user_id)
    return user_id not in FORMER_USERS if found is None else found.kind in kinds


def may_control(user_id: str, owner_id: str) -> bool:
    """Return True if `user_id` may see, answer, pause, cancel and fork the runs of `owner_id`.

    Everyone controls their own runs. A user at the terminal also controls those of their batches, of HTTP clients and
    of former users, since the files of the store are in their hands; root controls all. An operator controls those of
    HTTP clients.
    """
    if user_id == owner_id:
        return True
    person, owner = read_principal(user_id), read_principal(owner_id)
    if person is not None and person.kind == "operator":
        return owner is not None and owner.kind in _HTTP_KINDS
    if person is None or person.kind != "user":
        return False
    if person.name == _ROOT or owner_id in FORMER_USERS:
        return True
    if owner is None:
        return False
    return owner.kind in _HTTP_KINDS or (owner.kind == "batch" and owner.name == person.name)


def _quoted(char: str) -> str:
    if char.isprintable() and not char.isspace() and char != "%":
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
