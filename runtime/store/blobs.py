"""Stores large values once, by content hash, for as long as something refers to them.

They lie in the same database as their references, and every step is part of the caller's transaction: a value and its
references are kept together or not at all, so no reference dangles and no value leaks. An owner is a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from runtime.database.database import Step, Transaction
from runtime.primitives.hashing import BlobHash

_KEEP = "INSERT INTO blobs (hash, body) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING"
_REFER = "INSERT INTO blob_references (owner, seq, path, hash) VALUES (?, ?, ?, ?)"
_DROP = (
    "DELETE FROM blobs WHERE hash = ?"
    " AND NOT EXISTS (SELECT 1 FROM blob_references WHERE blob_references.hash = blobs.hash)"
)


class Reference(NamedTuple):
    """Refers to a value from number `seq` of `owner`, at an encoded `path` in it."""

    owner: str
    seq: int
    path: bytes
    hash: BlobHash


def keep(changes: Transaction, references: Sequence[Reference], bodies: Mapping[BlobHash, bytes]) -> None:
    """Store values and their references; a value that exists already is not written again."""
    missing = [name for name in bodies if not changes.rows("SELECT 1 FROM blobs WHERE hash = ?", (name,))]
    changes.execute_all(_KEEP, [(name, bodies[name]) for name in missing])
    changes.execute_all(_REFER, references)


def references(queries: Transaction, owner: str, after_seq: int) -> list[Reference]:
    """Return the references of an owner from numbers after `after_seq`, in order of number and path."""
    query = "SELECT seq, path, hash FROM blob_references WHERE owner = ? AND seq > ? ORDER BY seq, path"
    return [Reference(owner, seq, bytes(path), name) for seq, path, name in queries.rows(query, (owner, after_seq))]


def bodies(queries: Transaction, names: Iterable[BlobHash]) -> dict[BlobHash, bytes]:
    """Return the values of these hashes; missing ones are left out."""
    found = {name: queries.rows("SELECT body FROM blobs WHERE hash = ?", (name,)) for name in dict.fromkeys(names)}
    return {name: bytes(rows[0][0]) for name, rows in found.items() if rows}


def release(changes: Transaction, owners: Sequence[str]) -> None:
    """Delete the references of these owners, and the values that no other owner refers to."""
    held: dict[BlobHash, None] = {}
    for owner in owners:
        held |= dict.fromkeys(
            row[0] for row in changes.rows("SELECT hash FROM blob_references WHERE owner = ?", (owner,))
        )
    changes.execute_all("DELETE FROM blob_references WHERE owner = ?", [(owner,) for owner in owners])
    changes.execute_all(_DROP, [(name,) for name in held])


TABLES: tuple[Step, ...] = (
    "CREATE TABLE blobs (hash TEXT PRIMARY KEY, body BYTEA NOT NULL)",
    "CREATE TABLE blob_references (owner TEXT NOT NULL, seq BIGINT NOT NULL, path BYTEA NOT NULL, hash TEXT NOT NULL,"
    " PRIMARY KEY (owner, seq, path))",
    "CREATE INDEX blob_references_by_hash ON blob_references (hash)",
)
