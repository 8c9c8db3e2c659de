"""Keeps the run log in a database: events, and a summary row per run in the same transaction.

An event is a change, never the resulting state, so that the log grows with the number of changes. Snapshots shorten the
replay of a long run; only the newest one is kept. Large values of events are stored beside them, once by hash
(`runtime.store.event_rows`). Dropping a run deletes all of its rows. The rules of pipelines, a few kilobytes for each
version of one, are never dropped: a process that has stored them need not look again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from runtime.database.database import Database, Schema, Transaction
from runtime.errors import WireError
from runtime.primitives.ids import RunId
from runtime.store import blobs
from runtime.store.event_rows import checked, event_of, row_of
from runtime.store.run_records import (
    Entry,
    Lease,
    RunPlace,
    RunSummary,
    RunUsage,
    Snapshot,
    UsedRun,
    check_lease,
    check_order,
    check_snapshot,
    fenced,
)
from runtime.supervision.events import Event, RunRequested, decode_event

_COLUMNS = (
    "run_id, pipeline, started_at_ms, last_seq, finished, last_at_ms, user_id, session_id, config_hash,"
    " lifecycle, terminal_reason"
)
_INSERT_EVENT = "INSERT INTO run_events (run_id, seq, at_ms, body) VALUES (?, ?, ?, ?)"
_UPSERT_RUN = (
    f"INSERT INTO runs ({_COLUMNS}, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (run_id) DO UPDATE SET last_seq = excluded.last_seq, last_at_ms = excluded.last_at_ms,"
    " finished = CASE WHEN excluded.finished = 1 THEN 1 ELSE runs.finished END,"
    " lifecycle = CASE WHEN excluded.lifecycle = '' THEN runs.lifecycle ELSE excluded.lifecycle END,"
    " terminal_reason = coalesce(excluded.terminal_reason, runs.terminal_reason),"
    " used = CASE WHEN excluded.used = '' THEN runs.used ELSE excluded.used END"
)
_INSERT_OLD_RUN = f"INSERT INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OWNER = "SELECT epoch, name, lease_until_ms FROM owner"
_TAKE_OVER = (
    "INSERT INTO owner (one, epoch, name, lease_until_ms) VALUES (1, 1, ?, ?) ON CONFLICT (one) DO UPDATE"
    " SET epoch = owner.epoch + 1, name = excluded.name, lease_until_ms = excluded.lease_until_ms RETURNING epoch"
)
_SAVE_SNAPSHOT = (
    "INSERT INTO run_snapshots (run_id, seq, state, config_hash) VALUES (?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE"
    " SET seq = excluded.seq, state = excluded.state, config_hash = excluded.config_hash"
    " WHERE run_snapshots.seq < excluded.seq"
)
_KEEP_RULES = "INSERT INTO run_rules (config_hash, rules) VALUES (?, ?) ON CONFLICT (config_hash) DO NOTHING"
_ALL = 2**62
IDS_AT_ONCE = 500
LAST_SEQ = 2**53
_DROPPED_TABLES = ("run_events", "run_snapshots", "runs")


class Started(NamedTuple):
    """Holds the fields of a summary that come from the first event of a run."""

    user_id: str = ""
    session_id: str = ""
    config_hash: str = ""


def started_by(event: Event) -> Started:
    """Return user, session and config hash of the run that an event starts; empty if it starts none."""
    if not isinstance(event.payload, RunRequested):
        return Started()
    request = event.payload.request
    return Started(_text(request.user_id), _text(request.session_id or ""), event.payload.config_hash)


def _text(value: str) -> str:
    # PostgreSQL has no text with a NUL in it.
    return value.replace("\x00", "\N{REPLACEMENT CHARACTER}")


class SqlRunLog:
    """Keeps a run log in a database of its own; safe to call from several threads of one process.

    Leases are kept in the time of the database's clock, and taken and told in that of the caller's.
    """

    def __init__(self, database: Database) -> None:
        """Migrate the tables. Raises StateStorageError and closes the database then."""
        self._database = database
        self.location = database.location
        try:
            SCHEMA.apply(database)
        except BaseException:
            database.close()
            raise

    def take_over(self, owner: str, now_ms: int | None = None, lease_ms: int | None = None, force: bool = False) -> int:
        ahead_ms = self._database.clock_ahead_ms()
        until_ms = 0 if now_ms is None or lease_ms is None else now_ms + ahead_ms + lease_ms
        with self._database.transaction(f"be taken over by '{owner}'") as changes:
            for _, holder, held_until_ms in changes.rows(_OWNER) if now_ms is not None and not force else ():
                check_lease(self._database.location, holder, held_until_ms - ahead_ms, now_ms or 0)
            return int(changes.rows(_TAKE_OVER, (_text(owner), until_ms))[0][0])

    def renew(self, epoch: int, now_ms: int, lease_ms: int) -> None:
        until_ms = now_ms + self._database.clock_ahead_ms() + lease_ms
        with self._database.transaction("have its lease renewed") as changes:
            _check_epoch(changes, epoch)
            changes.execute("UPDATE owner SET lease_until_ms = ? WHERE epoch = ?", (until_ms, epoch))

    def release(self, epoch: int, now_ms: int = 0) -> None:
        at_ms = now_ms + self._database.clock_ahead_ms() if now_ms else 0
        with self._database.transaction("be released") as changes:
            # Negative: no clock takes it for a lease, and older programs do not either.
            changes.execute("UPDATE owner SET lease_until_ms = ? WHERE epoch = ?", (-at_ms, epoch))

    def check_owner(self, epoch: int) -> None:
        with self._database.read() as queries:
            _check_epoch(queries, epoch)

    def lease(self, now_ms: int) -> Lease | None:
        last = self.last_lease()
        return last if last is not None and last.holds_at(now_ms) else None

    def last_lease(self) -> Lease | None:
        ahead_ms = self._database.clock_ahead_ms()
        with self._database.read() as queries:
            leases = (
                Lease(name, abs(until_ms) - ahead_ms, until_ms < 0)
                for _, name, until_ms in queries.rows(_OWNER)
                if until_ms
            )
            return next(leases, None)

    def append(self, pipeline: str, event: Event, epoch: int | None = None, ends: bool = False) -> None:
        self.append_all((Entry(pipeline, event, ends),), epoch)

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        if not entries:
            return
        first = entries[0].event
        others = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
        doing = f"take event {first.seq} of run {first.run_id}{others}"
        with self._database.transaction(doing, run_id=first.run_id) as changes:
            check_order(_last_seqs(changes, {entry.event.run_id for entry in entries}, epoch), entries)
            _keep_events(changes, [entry.event for entry in entries])
            changes.execute_all(_UPSERT_RUN, [_run_row(entry) for entry in entries])

    def events(self, run_id: RunId, after_seq: int = 0, to_seq: int = LAST_SEQ) -> list[Event]:
        query = "SELECT seq, at_ms, body FROM run_events WHERE run_id = ? AND seq > ? AND seq <= ? ORDER BY seq"
        with self._database.read() as queries:
            rows = queries.rows(query, (run_id, after_seq, to_seq))
            references = [each for each in blobs.references(queries, run_id, after_seq) if each.seq <= to_seq]
            bodies = blobs.bodies(queries, [reference.hash for reference in references])
        large: dict[int, list[tuple[bytes, bytes]]] = {}
        for reference in references:
            value = checked(self.location, bodies, reference.hash)
            large.setdefault(reference.seq, []).append((reference.path, value))
        return [event_of(run_id, seq, at_ms, body, large.get(seq, ())) for seq, at_ms, body in rows]

    def first_events(self, run_ids: Sequence[RunId]) -> list[Event]:
        """Return the first events of some runs, in any order; one that holds a large value is left out.

        For lists of runs, which show requests in short: one query for `IDS_AT_ONCE` of them.
        """
        found: list[Event] = []
        for at in range(0, len(run_ids), IDS_AT_ONCE):
            ids = run_ids[at : at + IDS_AT_ONCE]
            marks = ", ".join("?" * len(ids))
            query = f"SELECT run_id, seq, at_ms, body FROM run_events WHERE seq = 1 AND run_id IN ({marks})"
            with self._database.read() as queries:
                rows = queries.rows(query, ids)
            for run_id, seq, at_ms, body in rows:
                with suppress(WireError):  # a large value lies beside its row
                    found.append(event_of(run_id, seq, at_ms, body, ()))
        return found

    def runs_by_user(self, since_ms: int) -> list[tuple[str, int, int]]:
        """Return each user with their runs that began since then, and how many of these are not finished."""
        query = (
            "SELECT user_id, count(*), sum(1 - finished) FROM runs WHERE started_at_ms >= ? GROUP BY user_id"
            " ORDER BY user_id"
        )
        with self._database.read() as queries:
            rows = queries.rows(query, (since_ms,))
        return [(str(user_id), int(runs), int(unfinished)) for user_id, runs, unfinished in rows]

    def runs(
        self, limit: int, user_id: str | None = None, finished: bool | None = None, before: RunPlace | None = None
    ) -> list[RunSummary]:
        wanted: list[tuple[str, tuple[object, ...]]] = []
        if user_id is not None:
            wanted.append(("user_id = ?", (_text(user_id),)))
        if finished is not None:
            wanted.append(("finished = ?", (int(finished),)))
        if before is not None:
            at_ms = before.started_at_ms
            wanted.append(("(started_at_ms < ? OR (started_at_ms = ? AND run_id < ?))", (at_ms, at_ms, before.run_id)))
        where = " AND ".join(condition for condition, _ in wanted) or "1 = 1"
        values = [value for _, those in wanted for value in those]
        return self._summaries(f"WHERE {where} ORDER BY started_at_ms DESC, run_id DESC LIMIT ?", *values, limit)

    def used(self, since_ms: int, user_id: str | None = None, session_id: str | None = None) -> list[UsedRun]:
        """Return what each run has used that began since then, of all users and sessions or of one.

        Runs that were recorded before this was kept have used nothing.
        """
        query = "SELECT run_id, user_id, session_id, started_at_ms, used FROM runs WHERE started_at_ms >= ?"
        values: list[object] = [since_ms]
        for column, value in (("user_id", user_id), ("session_id", session_id)):
            if value is not None:
                query += f" AND {column} = ?"
                values.append(_text(value))
        with self._database.read() as queries:
            rows = queries.rows(query, values)
        return [
            UsedRun(run_id, user, session, at_ms, msgspec.json.decode(used, type=RunUsage) if used else RunUsage())
            for run_id, user, session, at_ms, used in rows
        ]

    def summary(self, run_id: RunId) -> RunSummary | None:
        return next(iter(self._summaries("WHERE run_id = ?", run_id)), None)

    def unfinished(self) -> list[RunSummary]:
        return self._summaries("WHERE finished = 0 ORDER BY started_at_ms, run_id")

    def _summaries(self, which: str, *values: object) -> list[RunSummary]:
        with self._database.read() as queries:
            rows = queries.rows(f"SELECT {_COLUMNS} FROM runs {which}", values)
        return [_summary(*row) for row in rows]

    def save_snapshot(self, snapshot: Snapshot, epoch: int | None = None) -> None:
        doing = f"take the state of run {snapshot.run_id}"
        with self._database.transaction(doing, run_id=snapshot.run_id) as changes:
            last_seqs = _last_seqs(changes, {snapshot.run_id}, epoch)
            check_snapshot(snapshot, last_seqs.get(snapshot.run_id, 0))
            row = (snapshot.run_id, snapshot.seq, snapshot.state, snapshot.config_hash)
            changes.execute(_SAVE_SNAPSHOT, row)

    def snapshot(self, run_id: RunId) -> Snapshot | None:
        query = "SELECT run_id, seq, state, config_hash FROM run_snapshots WHERE run_id = ?"
        with self._database.read() as queries:
            rows = queries.rows(query, (run_id,))
        return Snapshot(*rows[0]) if rows else None

    def keep_rules(self, config_hash: str, rules: bytes) -> None:
        if self.rules(config_hash) is not None:
            return
        with self._database.transaction(f"take the rules {config_hash}", config_hash=config_hash) as changes:
            changes.execute(_KEEP_RULES, (config_hash, rules))

    def rules(self, config_hash: str) -> bytes | None:
        with self._database.read() as queries:
            rows = queries.rows("SELECT rules FROM run_rules WHERE config_hash = ?", (config_hash,))
        return bytes(rows[0][0]) if rows else None

    def finished_before(self, before_ms: int, limit: int | None = None) -> list[RunId]:
        with self._database.read() as queries:
            return _finished_before(queries, before_ms, limit)

    def drop_finished(self, before_ms: int, limit: int | None = None) -> list[RunId]:
        with self._database.transaction("drop finished runs") as changes:
            dropped = _finished_before(changes, before_ms, limit)
            for table in _DROPPED_TABLES:
                changes.execute_all(f"DELETE FROM {table} WHERE run_id = ?", [(run_id,) for run_id in dropped])
            blobs.release(changes, dropped)
        return dropped

    def wait_at_most(self, patience_s: float) -> None:
        """Bound waits for the database: see `Database.wait_at_most`. Raises StateStorageError."""
        self._database.wait_at_most(patience_s)

    def compact(self) -> int:
        """Release the space of dropped rows and return the bytes freed. Raises StateStorageError."""
        return self._database.compact()

    def close(self) -> None:
        self._database.close()


def _finished_before(queries: Transaction, before_ms: int, limit: int | None) -> list[RunId]:
    query = "SELECT run_id FROM runs WHERE finished = 1 AND last_at_ms < ? ORDER BY last_at_ms, run_id LIMIT ?"
    return [RunId(row[0]) for row in queries.rows(query, (before_ms, _ALL if limit is None else limit))]


def _summary(run_id: str, pipeline: str, at_ms: int, last_seq: int, finished: int, *others: Any) -> RunSummary:
    return RunSummary(RunId(run_id), pipeline, at_ms, last_seq, bool(finished), *others)


def _check_epoch(queries: Transaction, epoch: int) -> None:
    for newest, owner, _ in queries.rows(_OWNER):
        if epoch < newest:
            raise fenced(epoch, newest, owner)


def _last_seqs(queries: Transaction, run_ids: set[RunId], epoch: int | None) -> dict[RunId, int]:
    """Return the last number of each run. Raises FencedError if `epoch` is not the newest: one query checks both."""
    marks = ", ".join("?" * len(run_ids))
    query = f"SELECT 0, run_id, last_seq FROM runs WHERE run_id IN ({marks}) UNION ALL SELECT 1, name, epoch FROM owner"
    last_seqs: dict[RunId, int] = {}
    for is_owner, name, number in queries.rows(query, tuple(run_ids)):
        if not is_owner:
            last_seqs[name] = number
        elif epoch is not None and epoch < number:
            raise fenced(epoch, number, name)
    return last_seqs


def _keep_events(changes: Transaction, events: Sequence[Event]) -> None:
    rows = [(event, row_of(event)) for event in events]
    changes.execute_all(_INSERT_EVENT, [(event.run_id, event.seq, event.at_ms, row.body) for event, row in rows])
    large = [(event, value) for event, row in rows for value in row.large]
    if large:
        references = [blobs.Reference(event.run_id, event.seq, value.path, value.hash) for event, value in large]
        blobs.keep(changes, references, {value.hash: value.body for _, value in large})


def _run_row(entry: Entry) -> tuple[Any, ...]:
    event = entry.event
    return (
        event.run_id,
        _text(entry.pipeline),
        event.at_ms,
        event.seq,
        int(entry.ends),
        event.at_ms,
        *started_by(event),
        entry.lifecycle or "",
        entry.terminal_reason,
        "" if entry.usage is None else msgspec.json.encode(entry.usage).decode(),
    )


def _copy_old_events(changes: Transaction) -> None:
    """Copy the events of schema 1 and 2, which had no summaries, and make the summaries from them."""
    ended = {row[0] for row in changes.rows("SELECT run_id FROM ended")}
    changes.execute(
        "INSERT INTO run_events (run_id, seq, at_ms, body) SELECT run_id, seq, at_ms, body FROM events"
        " ORDER BY at_ms, run_id, seq"
    )
    counted = (
        "SELECT run_id, MIN(pipeline), MIN(at_ms), MAX(seq), MAX(at_ms) FROM events GROUP BY run_id ORDER BY run_id"
    )
    for run_id, pipeline, started_at_ms, last_seq, last_at_ms in changes.rows(counted):
        bodies = changes.rows("SELECT body FROM events WHERE run_id = ? AND seq = 1", (run_id,))
        is_over = int(run_id in ended)
        row = (run_id, pipeline, started_at_ms, last_seq, is_over, last_at_ms, *_old_start(bodies), "", None)
        changes.execute(_INSERT_OLD_RUN, row)


def _old_start(bodies: list[tuple[Any, ...]]) -> Started:
    try:
        return started_by(decode_event(bodies[0][0])) if bodies else Started()
    except WireError:
        return Started()  # reading that run raises the error; the others stay readable


SCHEMA = Schema(
    "run_log",
    (
        (
            "CREATE TABLE IF NOT EXISTS events (run_id TEXT NOT NULL, seq BIGINT NOT NULL, at_ms BIGINT NOT NULL,"
            " pipeline TEXT NOT NULL, body BYTEA NOT NULL, PRIMARY KEY (run_id, seq)) WITHOUT ROWID",
        ),
        (
            "CREATE TABLE IF NOT EXISTS ended (run_id TEXT PRIMARY KEY) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS owner (one INTEGER PRIMARY KEY, epoch INTEGER, name TEXT)",
        ),
        (
            "ALTER TABLE owner ADD COLUMN lease_until_ms BIGINT NOT NULL DEFAULT 0",
            "CREATE TABLE run_events (run_id TEXT NOT NULL, seq BIGINT NOT NULL, at_ms BIGINT NOT NULL,"
            " body BYTEA NOT NULL, PRIMARY KEY (run_id, seq))",
            "CREATE TABLE runs (run_id TEXT PRIMARY KEY, pipeline TEXT NOT NULL, started_at_ms BIGINT NOT NULL,"
            " last_seq BIGINT NOT NULL, finished BIGINT NOT NULL, last_at_ms BIGINT NOT NULL, user_id TEXT NOT NULL,"
            " session_id TEXT NOT NULL, config_hash TEXT NOT NULL, lifecycle TEXT NOT NULL, terminal_reason TEXT)",
            "CREATE INDEX runs_by_start ON runs (started_at_ms)",
            "CREATE INDEX runs_of_user ON runs (user_id, started_at_ms)",
            "CREATE INDEX runs_unfinished ON runs (started_at_ms) WHERE finished = 0",
            "CREATE TABLE run_snapshots (run_id TEXT PRIMARY KEY, seq BIGINT NOT NULL, state BYTEA NOT NULL,"
            " config_hash TEXT NOT NULL)",
            _copy_old_events,
            "DROP TABLE events",
            "DROP TABLE ended",
        ),
        ("CREATE TABLE run_rules (config_hash TEXT PRIMARY KEY, rules BYTEA NOT NULL)",),
        blobs.TABLES,
        ("ALTER TABLE runs ADD COLUMN used TEXT NOT NULL DEFAULT ''",),
        # Bodies of small events are shortened from here on, which older programs cannot read.
        (),
    ),
)
