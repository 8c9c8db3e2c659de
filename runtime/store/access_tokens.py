"""Keeps the access tokens of HTTP callers: digests, scopes, expiry and revocation.

A revision counts the changes, so that a door that holds a copy sees with one small read whether it is still right.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from runtime.database.database import Database, Schema, Transaction
from runtime.database.store_part import Counted, StorePart, sweep_unused
from runtime.errors import InputError, UnknownNameError
from runtime.primitives.clock import Clock
from runtime.run.bearer_tokens import NewToken, Scope, TokenRecord, is_token_name, new_token, read_token

_COLUMNS = "token_id, name, digest, scopes, created_ms, expires_ms, revoked_ms"
_CHANGED = "UPDATE access_token_revision SET revision = revision + 1"
# No longer accepted since before a time.
_UNUSED = "(revoked_ms IS NOT NULL AND revoked_ms < ?) OR (expires_ms IS NOT NULL AND expires_ms < ?)"


class TokenTable(NamedTuple):
    """Holds all tokens by id, as they were at a revision."""

    revision: int
    tokens: dict[str, TokenRecord]


class Rotation(NamedTuple):
    """Holds a token that was created to replace another of its name, and what it has of that one or was given."""

    made: NewToken
    scopes: tuple[Scope, ...]
    expires_ms: int | None
    replaces: str


class AccessTokens:
    """Stores access tokens; safe to call from several threads and processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        SCHEMA.apply(database)

    def create(self, name: str, scopes: tuple[Scope, ...], expires_ms: int | None = None) -> NewToken:
        """Create a token for `name`. Its text is in the result alone.

        Raises InputError for a name that cannot be one, no scopes, and for a name that has a valid token: two holders
        would be one principal and see each other's runs.
        """
        if not is_token_name(name):
            raise InputError(
                "a token's name has 1 to 64 letters, digits, '.', '_', '@' and '-', a letter or digit first"
            )
        _refuse_no_scope(name, scopes)
        with self._database.transaction("create a token") as changes:
            if valid := self._valid(changes, name):
                raise InputError(
                    f"'{name}' has a valid token already ({valid[0].token_id}): two holders would see each other's "
                    "runs; revoke it first, or choose another name, or replace it without a gap with --rotate",
                    name=name,
                )
            return self._add(changes, name, scopes, expires_ms)

    def rotate(self, name: str, scopes: tuple[Scope, ...] | None = None, expires_ms: int | None = None) -> Rotation:
        """Create a token beside the newest valid one of `name`, with its scopes and its end where none are given.

        Raises InputError for no scopes, and for a name without a valid token: nothing says what a new one may do.
        """
        if scopes is not None:
            _refuse_no_scope(name, scopes)
        with self._database.transaction("rotate a token") as changes:
            if not (valid := self._valid(changes, name)):
                raise InputError(
                    f"{name[:80]!r} has no valid token to replace; create one without --rotate, with the scopes and "
                    "the end that it is to have",
                    name=name[:80],
                )
            old = valid[-1]
            scopes = old.scopes if scopes is None else scopes
            expires_ms = old.expires_ms if expires_ms is None else expires_ms
            return Rotation(self._add(changes, name, scopes, expires_ms), scopes, expires_ms, old.token_id)

    def _valid(self, queries: Transaction, name: str) -> list[TokenRecord]:
        now_ms = self._clock.now_ms()
        return [each for each in _records(queries, "name = ?", (name,)) if each.state(now_ms) == "valid"]

    def _add(self, changes: Transaction, name: str, scopes: tuple[Scope, ...], expires_ms: int | None) -> NewToken:
        made = new_token()
        values = (made.token_id, name, made.digest, ",".join(scopes), self._clock.now_ms(), expires_ms, None)
        changes.execute(f"INSERT INTO access_tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        changes.execute(_CHANGED)
        return made

    def revoke(self, named: str) -> list[TokenRecord]:
        """Revoke the valid tokens of a name, or the one of an id or of its own text, and return them as they were.

        Raises UnknownNameError if there is none. Expired tokens can be revoked, too.
        """
        presented = read_token(named.encode("utf-8", "replace"))
        token_id = named if presented is None else presented.token_id
        with self._database.transaction("revoke a token") as changes:
            where = "(token_id = ? OR name = ?) AND revoked_ms IS NULL"
            found = _records(changes, where, (token_id, token_id))
            if not found:
                told = f"no token that is not revoked has the name or id {token_id[:80]!r}; see jeeves token list"
                raise UnknownNameError(told, name=token_id[:80], known=[])
            now_ms = self._clock.now_ms()
            changes.execute_all(
                "UPDATE access_tokens SET revoked_ms = ? WHERE token_id = ?",
                [(now_ms, record.token_id) for record in found],
            )
            changes.execute(_CHANGED)
        return found

    def all(self) -> list[TokenRecord]:
        """Return all tokens, oldest first."""
        with self._database.read() as queries:
            return _records(queries)

    def table(self, known: TokenTable | None = None) -> TokenTable:
        """Return all tokens by id; `known` itself, if nothing has changed since."""
        with self._database.read() as queries:
            revision = int(queries.rows("SELECT revision FROM access_token_revision")[0][0])
            if known is not None and known.revision == revision:
                return known
            return TokenTable(revision, {record.token_id: record for record in _records(queries)})

    def is_current(self) -> bool:
        """Return False if another file took the place of the tokens. Raises StateStorageError if none is there."""
        return self._database.is_current()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def unused(self, before_ms: int) -> int:
        """Return how many tokens were revoked or expired before `before_ms`."""
        query = f"SELECT count(*) FROM access_tokens WHERE {_UNUSED}"
        with self._database.read() as queries:
            return int(queries.rows(query, (before_ms, before_ms))[0][0])

    def drop_unused(self, before_ms: int) -> int:
        """Delete the tokens that `unused` counts and return their number."""
        with self._database.transaction("drop old tokens") as changes:
            count = changes.execute(f"DELETE FROM access_tokens WHERE {_UNUSED}", (before_ms, before_ms))
            if count:
                changes.execute(_CHANGED)
            return count


def _refuse_no_scope(name: str, scopes: tuple[Scope, ...]) -> None:
    if not scopes:
        raise InputError(f"token '{name}' would have no scope; give it at least one", name=name)


def _records(queries: Transaction, where: str = "1 = 1", values: tuple[object, ...] = ()) -> list[TokenRecord]:
    query = f"SELECT {_COLUMNS} FROM access_tokens WHERE {where} ORDER BY created_ms, token_id"
    return [_record(row) for row in queries.rows(query, values)]


def _record(row: tuple[Any, ...]) -> TokenRecord:
    token_id, name, digest, scopes, created_ms, expires_ms, revoked_ms = row
    return TokenRecord(
        str(token_id),
        str(name),
        bytes(digest),
        cast("tuple[Scope, ...]", tuple(str(scopes).split(","))),
        int(created_ms),
        None if expires_ms is None else int(expires_ms),
        None if revoked_ms is None else int(revoked_ms),
    )


SCHEMA = Schema(
    "access_tokens",
    (
        (
            "CREATE TABLE access_tokens (token_id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BYTEA NOT NULL,"
            " scopes TEXT NOT NULL, created_ms BIGINT NOT NULL, expires_ms BIGINT, revoked_ms BIGINT)",
            "CREATE INDEX access_tokens_by_name ON access_tokens (name)",
            "CREATE TABLE access_token_revision (revision BIGINT NOT NULL)",
            "INSERT INTO access_token_revision VALUES (0)",
        ),
    ),
)

TOKENS = StorePart(
    name="tokens",
    label="access tokens",
    schema=SCHEMA,
    open=AccessTokens,
    counted=(Counted("tokens", "token", "tokens"),),
    sweep=sweep_unused("tokens"),
)
