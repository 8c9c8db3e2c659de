"""Keeps the effect journal in a database, so that outside effects of runs are known after a restart."""

from __future__ import annotations

from runtime.database.database import Database, Schema
from runtime.database.store_part import Counted, Dropped, StorePart, SweepTask
from runtime.effects.journal import JOURNAL_QUERIES, EffectKey, JournalRecord, overtaken
from runtime.effects.remote_journal import journal_queries
from runtime.primitives.ids import RunId, StageKey

_THE_CALL = "run_id = ? AND hop = ? AND item = ? AND call = ? AND request_hash = ?"
_THE_VISIT = "SELECT attempt, holder FROM journal_visits WHERE run_id = ? AND hop = ? AND item = ?"
_BEGIN = (
    "INSERT INTO journal_visits (run_id, hop, item, attempt, holder) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (run_id, hop, item) DO UPDATE SET attempt = excluded.attempt, holder = excluded.holder"
)
_INTEND = (
    "INSERT INTO journal_calls (run_id, hop, item, call, request_hash, attempt) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (run_id, hop, item, call, request_hash) DO NOTHING"
)
_DONE = (
    "INSERT INTO journal_calls (run_id, hop, item, call, request_hash, attempt, result) VALUES (?, ?, ?, ?, ?, 0, ?)"
    " ON CONFLICT (run_id, hop, item, call, request_hash)"
    " DO UPDATE SET result = coalesce(journal_calls.result, excluded.result)"
)


class SqlJournal:
    """Implements `runtime.effects.journal.Journal` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        SCHEMA.apply(database)

    def begin(self, key: StageKey, by: str) -> bool:
        visit = (key.run_id, key.hop, key.item)
        with self._database.transaction(f"let {key} begin", run_id=key.run_id) as changes:
            for newest, holder in changes.rows(_THE_VISIT, visit):
                if key.attempt <= newest:
                    return (key.attempt, by) == (newest, holder)
            changes.execute(_BEGIN, (*visit, key.attempt, by))
        return True

    def find(self, key: EffectKey) -> JournalRecord | None:
        with self._database.read() as queries:
            rows = queries.rows(f"SELECT attempt, result FROM journal_calls WHERE {_THE_CALL}", _row(key))
        return JournalRecord(key, *rows[0]) if rows else None

    def intend(self, key: EffectKey, attempt: int) -> None:
        with self._database.transaction(f"take call {key.call} of run {key.run_id}", run_id=key.run_id) as changes:
            for newest, _ in changes.rows(_THE_VISIT, (key.run_id, key.hop, key.item)):
                if attempt < newest:
                    raise overtaken(key, attempt, newest)
            changes.execute(_INTEND, (*_row(key), attempt))

    def done(self, key: EffectKey, result: bytes) -> None:
        doing = f"take the result of call {key.call} of run {key.run_id}"
        with self._database.transaction(doing, run_id=key.run_id) as changes:
            changes.execute(_DONE, (*_row(key), result))

    def run_ids(self) -> list[RunId]:
        """Return the runs that have entries, sorted."""
        query = "SELECT run_id FROM journal_visits UNION SELECT run_id FROM journal_calls ORDER BY run_id"
        with self._database.read() as queries:
            return [RunId(row[0]) for row in queries.rows(query)]

    def forget(self, run_id: RunId) -> None:
        with self._database.transaction(f"forget the calls of run {run_id}", run_id=run_id) as changes:
            for table in ("journal_visits", "journal_calls"):
                changes.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))


def _row(key: EffectKey) -> tuple[object, ...]:
    return (key.run_id, key.hop, key.item, key.call, key.request_hash)


SCHEMA = Schema(
    "journal",
    (
        (
            "CREATE TABLE journal_visits (run_id TEXT NOT NULL, hop BIGINT NOT NULL, item BIGINT NOT NULL,"
            " attempt BIGINT NOT NULL, holder TEXT NOT NULL, PRIMARY KEY (run_id, hop, item))",
            "CREATE TABLE journal_calls (run_id TEXT NOT NULL, hop BIGINT NOT NULL, item BIGINT NOT NULL,"
            " call BIGINT NOT NULL, request_hash TEXT NOT NULL, attempt BIGINT NOT NULL, result BYTEA,"
            " PRIMARY KEY (run_id, hop, item, call, request_hash))",
        ),
    ),
)


def _sweep(journal: SqlJournal, task: SweepTask) -> Dropped:
    """Drop the journals of finished runs, whatever their age.

    The unfinished runs are read after the journals were listed: a run that has a journal by then is in a run log.
    """
    over = set(journal.run_ids()) - task.unfinished_runs()
    for run_id in over if not task.is_dry else ():
        journal.forget(run_id)
    return Dropped({_COUNTED.key: len(over)}, bool(over))


_COUNTED = Counted("journals", "journal of a run that is over", "journals of runs that are over")

JOURNAL = StorePart(
    name="journal",
    label="journal",
    schema=SCHEMA,
    open=lambda database, clock: SqlJournal(database),
    queries=JOURNAL_QUERIES,
    handlers=journal_queries,
    counted=(_COUNTED,),
    sweep=_sweep,
)
