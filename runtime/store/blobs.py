"""Large values, kept once by the hash of their content, as long as something refers to them.

A value up to `INLINE_BYTES` is best carried where it is used; `packed` makes that choice. References are by owner, most
often a run: whoever drops the owner calls `release`, and `drop_unreferenced` takes away what nobody refers to any more.
"""

from __future__ import annotations

import hashlib
from typing import NewType

import msgspec

from runtime.errors import StateStorageError
from runtime.store.database import Database, Migration, migrate

BlobHash = NewType("BlobHash", str)

INLINE_BYTES = 16 * 1024
_KEEP = "INSERT INTO blobs (hash, body, kept_at_ms) VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET kept_at_ms = ?"
_UNREFERENCED = "kept_at_ms < ? AND NOT EXISTS (SELECT 1 FROM blob_references WHERE blob_references.hash = blobs.hash)"


class Packed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value as it travels: itself, or the hash under which it is kept; `size_bytes` in both cases."""

    size_bytes: int
    inline: bytes | None = None
    hash: BlobHash | None = None


def content_hash(data: bytes) -> BlobHash:
    """SHA-256, as 64 hexadecimal digits."""
    return BlobHash(hashlib.sha256(data).hexdigest())


class BlobStore:
    """Bytes by content hash."""

    def __init__(self, database: Database, inline_bytes: int = INLINE_BYTES) -> None:
        self._database = database
        self._inline_bytes = inline_bytes
        migrate(database, "blobs", MIGRATIONS)

    def put(self, data: bytes, owner: str, now_ms: int) -> BlobHash:
        """Keep `data` for `owner`; what is there already is not written again."""
        name = content_hash(data)
        with self._database.transaction(f"take a value of {len(data)} bytes") as changes:
            if changes.rows("SELECT 1 FROM blobs WHERE hash = ?", (name,)):
                changes.execute("UPDATE blobs SET kept_at_ms = ? WHERE hash = ?", (now_ms, name))
            else:
                changes.execute(_KEEP, (name, data, now_ms, now_ms))
            changes.execute(
                "INSERT INTO blob_references (owner, hash) VALUES (?, ?) ON CONFLICT (owner, hash) DO NOTHING",
                (owner, name),
            )
        return name

    def get(self, name: BlobHash) -> bytes | None:
        """The bytes of a hash; None when they are not kept. Raises StateStorageError when they are damaged."""
        with self._database.read() as queries:
            rows = queries.rows("SELECT body FROM blobs WHERE hash = ?", (name,))
        if not rows:
            return None
        data = bytes(rows[0][0])
        if content_hash(data) != name:
            raise StateStorageError(
                f"value {name} in {self._database.location} is damaged: its content has another hash",
                problem="damaged",
                hash=name,
            )
        return data

    def packed(self, data: bytes, owner: str, now_ms: int) -> Packed:
        """`data` itself when it is small, else a reference to it."""
        if len(data) <= self._inline_bytes:
            return Packed(len(data), inline=data)
        return Packed(len(data), hash=self.put(data, owner, now_ms))

    def unpacked(self, value: Packed) -> bytes:
        """What was packed. Raises StateStorageError when it is not kept any more."""
        if value.inline is not None:
            return value.inline
        data = self.get(value.hash) if value.hash is not None else None
        if data is None:
            raise StateStorageError(
                f"value {value.hash} of {value.size_bytes} bytes is not in {self._database.location}", hash=value.hash
            )
        return data

    def release(self, owner: str) -> None:
        """`owner` refers to nothing any more."""
        with self._database.transaction(f"release the values of {owner}") as changes:
            changes.execute("DELETE FROM blob_references WHERE owner = ?", (owner,))

    def unreferenced(self, before_ms: int) -> int:
        """How many values nobody refers to and were last put before `before_ms`."""
        with self._database.read() as queries:
            return int(queries.rows(f"SELECT count(*) FROM blobs WHERE {_UNREFERENCED}", (before_ms,))[0][0])

    def drop_unreferenced(self, before_ms: int) -> int:
        """Forget what `unreferenced` counts; how many values that were."""
        with self._database.transaction("drop unreferenced values") as changes:
            return changes.execute(f"DELETE FROM blobs WHERE {_UNREFERENCED}", (before_ms,))


MIGRATIONS: tuple[Migration, ...] = (
    (
        "CREATE TABLE blobs (hash TEXT PRIMARY KEY, body BYTEA NOT NULL, kept_at_ms BIGINT NOT NULL)",
        "CREATE TABLE blob_references (owner TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (owner, hash))",
        "CREATE INDEX blob_references_by_hash ON blob_references (hash)",
    ),
)
