"""Large values, kept once by the hash of their content for as long as something refers to them.

They lie in the database of what refers to them, and every step is part of the caller's transaction: a value and its
references are kept together or not at all, and counting is never wrong. An owner is a run.
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
    """Where a value belongs: to number `seq` of `owner`, at an encoded `path` in it."""

    owner: str
    seq: int
    path: bytes
    hash: BlobHash


def keep(changes: Transaction, references: Sequence[Reference], bodies: Mapping[BlobHash, bytes]) -> None:
    """Keep values for their owners; what is there already is not written again."""
    missing = [name for name in bodies if not changes.rows("SELECT 1 FROM blobs WHERE hash = ?", (name,))]
    changes.execute_all(_KEEP, [(name, bodies[name]) for name in missing])
    changes.execute_all(_REFER, references)


def references(queries: Transaction, owner: str, after_seq: int) -> list[Reference]:
    """What numbers of an owner after `after_seq` refer to, in their order."""
    query = "SELECT seq, path, hash FROM blob_references WHERE owner = ? AND seq > ? ORDER BY seq, path"
    return [Reference(owner, seq, bytes(path), name) for seq, path, name in queries.rows(query, (owner, after_seq))]


def bodies(queries: Transaction, names: Iterable[BlobHash]) -> dict[BlobHash, bytes]:
    """The values of these hashes; those that are not there are left out."""
    found = {name: queries.rows("SELECT body FROM blobs WHERE hash = ?", (name,)) for name in dict.fromkeys(names)}
    return {name: bytes(rows[0][0]) for name, rows in found.items() if rows}


def release(changes: Transaction, owners: Sequence[str]) -> None:
    """These owners refer to nothing any more; what nobody else refers to goes."""
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
