"""Stores the entity graph (L4): relations between symbols and files by repository, for all sessions.

A relation is kept once per repository, with the lines that showed it last. Beyond MAX_RELATIONS_PER_REPOSITORY the
relations shown longest ago are deleted. Each `keep` is one transaction, so that concurrent sessions lose none of their
relations. Before using a relation, check that its file is unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.codebase.knowledge.relation import Relation, bare_name
from runtime.database.database import Database, Schema
from runtime.database.store_part import Counted, StorePart, sweep_unused
from runtime.primitives.clock import Clock

MAX_RELATIONS_PER_REPOSITORY = 5_000
MAX_RELATIONS_AT_ONCE = 200
MAX_NAMES_AT_ONCE = 8
MAX_NAME_CHARS = 300

_PUT = (
    "INSERT INTO relations (id, repo, source_name, target_name, body, shown, at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET body = excluded.body, shown = excluded.shown, at_ms = excluded.at_ms"
)
_CUT = (
    "DELETE FROM relations WHERE repo = ? AND id NOT IN"
    " (SELECT id FROM relations WHERE repo = ? ORDER BY shown DESC, id LIMIT ?)"
)
_ABOUT = (
    "SELECT body FROM relations WHERE repo = ? AND (target_name = ? OR source_name = ?) ORDER BY shown DESC, id LIMIT ?"
)


class RelationStore:
    """Keeps relations by repository; safe for several threads and several processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        SCHEMA.apply(database)

    def keep(self, repo: str, relations: Sequence[Relation]) -> int:
        """Keep the first MAX_RELATIONS_AT_ONCE relations, the first as the newest; return how many were kept.

        A relation with a name of more than MAX_NAME_CHARS is left out.
        """
        named = [r for r in relations if max(len(r.source), len(r.target)) <= MAX_NAME_CHARS]
        kept = list({_id(repo, relation): relation for relation in reversed(named[:MAX_RELATIONS_AT_ONCE])}.items())
        if not kept:
            return 0
        key, now_ms = _repo_key(repo), self._clock.now_ms()
        with self._database.transaction("take relations of a repository") as changes:
            (newest,) = changes.rows("SELECT coalesce(max(shown), 0) FROM relations WHERE repo = ?", (key,))[0]
            rows = [
                (name, key, bare_name(r.source), bare_name(r.target), msgspec.msgpack.encode(r), shown, now_ms)
                for shown, (name, r) in enumerate(kept, int(newest) + 1)
            ]
            changes.execute_all(_PUT, rows)
            (known,) = changes.rows("SELECT count(*) FROM relations WHERE repo = ?", (key,))[0]
            if int(known) > MAX_RELATIONS_PER_REPOSITORY:
                changes.execute(_CUT, (key, key, MAX_RELATIONS_PER_REPOSITORY))
        return len(kept)

    def about(self, repo: str, names: Sequence[str], limit: int = MAX_RELATIONS_AT_ONCE) -> list[Relation]:
        """Return the relations with a source or target of these names, compared by their last parts, newest first.

        `limit` applies to each of the first MAX_NAMES_AT_ONCE names, whose relations follow one after the other.
        """
        key = _repo_key(repo)
        wanted = list(dict.fromkeys(bare_name(name) for name in names))[:MAX_NAMES_AT_ONCE]
        with self._database.read() as queries:
            rows = [row for name in wanted for row in queries.rows(_ABOUT, (key, name, name, limit))]
        found = [_read(bytes(row[0])) for row in rows]
        return list(dict.fromkeys(relation for relation in found if relation is not None))

    def count(self, repo: str) -> int:
        """Return the number of relations of a repository."""
        with self._database.read() as queries:
            return int(queries.rows("SELECT count(*) FROM relations WHERE repo = ?", (_repo_key(repo),))[0][0])

    def unused(self, before_ms: int) -> int:
        """Return the number of relations last shown before `before_ms`."""
        with self._database.read() as queries:
            return int(queries.rows("SELECT count(*) FROM relations WHERE at_ms < ?", (before_ms,))[0][0])

    def drop_unused(self, before_ms: int) -> int:
        """Delete the relations that `unused` counts, and return their number."""
        with self._database.transaction("drop old relations") as changes:
            return changes.execute("DELETE FROM relations WHERE at_ms < ?", (before_ms,))

    def close(self) -> None:
        """Close the database."""
        self._database.close()


# Paths and names may be longer than a server's index takes, so that rows and repositories go by hashes of them.
SCHEMA = Schema(
    "relations",
    (
        (
            "CREATE TABLE relations (id TEXT PRIMARY KEY, repo TEXT NOT NULL, source_name TEXT NOT NULL,"
            " target_name TEXT NOT NULL, body BYTEA NOT NULL, shown BIGINT NOT NULL, at_ms BIGINT NOT NULL)",
            "CREATE INDEX relations_by_target ON relations (repo, target_name)",
            "CREATE INDEX relations_by_source ON relations (repo, source_name)",
            "CREATE INDEX relations_by_age ON relations (repo, shown)",
        ),
    ),
)

RELATION_QUERIES = ("memory.relations", "memory.keep_relations")


def relation_queries(store: RelationStore) -> dict[str, QueryHandler]:
    """Return the handlers of the queries that agents send.

    `memory.relations` {repo, names} → {relations}, `memory.keep_relations` {repo, relations} → {kept}.
    """

    async def about(body: dict[str, Any]) -> dict[str, Any]:
        return {"relations": msgspec.to_builtins(store.about(body["repo"], body["names"]))}

    async def keep(body: dict[str, Any]) -> dict[str, Any]:
        return {"kept": store.keep(body["repo"], msgspec.convert(body["relations"], list[Relation]))}

    return dict(zip(RELATION_QUERIES, (about, keep), strict=True))


_COUNTED = Counted("relations", "relation of symbols and files", "relations of symbols and files")

RELATIONS = StorePart(
    name="relations",
    label="relations",
    schema=SCHEMA,
    open=RelationStore,
    queries=RELATION_QUERIES,
    handlers=relation_queries,
    counted=(_COUNTED,),
    sweep=sweep_unused(_COUNTED.key),
    is_disposable=True,
    cost_of_loss="relations of symbols and files are found again",
)


def _id(repo: str, relation: Relation) -> str:
    ends = (relation.source, relation.source_file, relation.kind, relation.target, relation.target_file)
    return _sha256(msgspec.msgpack.encode((_repo_key(repo), *ends)))


def _repo_key(repo: str) -> str:
    return _sha256(repo.encode("utf-8", "surrogatepass"))


def _sha256(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()


def _read(value: bytes) -> Relation | None:
    """Return the relation, or None if it was written in another shape by another version."""
    try:
        return msgspec.msgpack.decode(value, type=Relation)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
