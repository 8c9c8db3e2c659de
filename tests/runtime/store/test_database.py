"""The database layer, on every backend: all or nothing, one writer, schemas that go forward, errors that help."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from runtime.database.database import Database, Migration, Transaction, migrate
from runtime.errors import StateStorageError
from tests.runtime.store.conftest import Place

FIRST: Migration = ("CREATE TABLE counts (name TEXT PRIMARY KEY, n BIGINT NOT NULL, body BYTEA)",)
SECOND: Migration = ("ALTER TABLE counts ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",)
ADD = "INSERT INTO counts (name, n) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = counts.n + excluded.n"


@pytest.fixture
def database(place: Place) -> Iterator[Database]:
    opened = place.open()
    migrate(opened, "counts", [FIRST])
    yield opened
    opened.close()


def count(database: Database, name: str = "a") -> int | None:
    with database.read() as queries:
        rows = queries.rows("SELECT n FROM counts WHERE name = ?", (name,))
    return rows[0][0] if rows else None


def test_what_was_written_comes_back_as_it_was(database: Database) -> None:
    row = ("ä%?'\"", -(2**63), b"\x00\xff%?")
    with database.transaction("write") as changes:
        assert changes.execute("INSERT INTO counts VALUES (?, ?, ?)", row) == 1
    with database.read() as queries:
        assert queries.rows("SELECT * FROM counts") == [row]
        assert queries.rows("SELECT n % 2 FROM counts WHERE name LIKE '%\"'") == [(0,)]
        assert queries.has_table("counts")
        assert not queries.has_table("other")


def test_a_transaction_that_fails_keeps_nothing(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.transaction("write") as changes:
        changes.execute(ADD, ("a", 1))
        raise ZeroDivisionError
    assert count(database) is None
    with (
        pytest.raises(StateStorageError, match="could not write it down: ") as caught,
        database.transaction("write it down", run_id="r-1") as changes,
    ):
        changes.execute_all(ADD, [("a", 1), ("b", None)])
    assert caught.value.values["run_id"] == "r-1"
    assert count(database) is None
    with database.transaction("write") as changes:
        changes.execute(ADD, ("a", 1))
    assert count(database) == 1


def test_writers_at_once_lose_nothing(place: Place) -> None:
    databases = [place.open() for _ in range(4)]
    for database in databases:
        migrate(database, "counts", [FIRST])

    def write(database: Database) -> None:
        for _ in range(50):
            with database.transaction("count") as changes:
                known = changes.rows("SELECT n FROM counts WHERE name = 'a'")
                changes.execute("DELETE FROM counts")
                changes.execute("INSERT INTO counts (name, n) VALUES ('a', ?)", (known[0][0] + 1 if known else 1,))

    # Two threads share each connection.
    threads = [threading.Thread(target=write, args=(database,)) for database in databases for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(databases[0]) == 400


def test_a_reader_sees_one_state_while_others_write(place: Place, database: Database) -> None:
    other = place.open()
    with database.read() as queries:
        assert queries.rows("SELECT n FROM counts") == []
        with other.transaction("write") as changes:
            changes.execute(ADD, ("a", 1))
        assert queries.rows("SELECT n FROM counts") == []
    assert count(database) == 1


def test_openers_at_once_migrate_once(place: Place) -> None:
    ran: list[int] = []

    def note(changes: Transaction) -> None:
        ran.append(1)
        changes.execute(ADD, ("a", 1))

    def start() -> None:
        database = place.open()
        migrate(database, "counts", [(*FIRST, note)])

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ran), count(place.open())) == (1, 1)


@pytest.mark.long
def test_a_place_that_many_open_at_once_for_the_first_time_is_there_for_all(
    place: Place,
) -> None:
    failed: list[StateStorageError] = []
    all_there = threading.Barrier(4)

    def start(fresh: Place) -> None:
        all_there.wait()
        try:
            migrate(fresh.open(), "counts", [FIRST])
        except StateStorageError as error:
            failed.append(error)

    for _ in range(40):
        fresh = place.beside()
        threads = [threading.Thread(target=start, args=(fresh,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        fresh.close()
    assert failed == []


def test_who_was_overtaken_while_migrating_does_not_migrate_again(place: Place) -> None:
    first = place.open()

    class Overtaken:
        """A database in which somebody else is faster between looking and writing."""

        def __getattr__(self, name: str) -> Any:
            if name == "transaction":
                migrate(place.open(), "counts", [FIRST, SECOND])
            return getattr(first, name)

    migrate(cast("Database", Overtaken()), "counts", [FIRST, SECOND])
    with first.read() as queries:
        assert queries.rows("SELECT version FROM schema_versions") == [(2,)]


def test_a_schema_goes_forward_and_keeps_what_is_there(place: Place, database: Database) -> None:
    with database.transaction("write") as changes:
        changes.execute(ADD, ("a", 1))
    newer = place.open()
    migrate(newer, "counts", [FIRST, SECOND])
    migrate(newer, "counts", [FIRST, SECOND])
    with newer.read() as queries:
        assert queries.rows("SELECT name, n, note FROM counts") == [("a", 1, "none")]


def test_a_newer_schema_is_refused_and_left_alone(place: Place, database: Database) -> None:
    migrate(database, "counts", [FIRST, SECOND])
    for readonly in (False, True):
        with pytest.raises(
            StateStorageError, match="schema 2 of counts, this version reads up to 1; upgrade"
        ) as caught:
            migrate(place.open(readonly=readonly), "counts", [FIRST])
        assert caught.value.values["problem"] == "newer"
    migrate(place.open(), "others", [("CREATE TABLE others (x TEXT)",)])
    with place.open().read() as queries:
        assert queries.rows("SELECT component, version FROM schema_versions ORDER BY 1") == [
            ("counts", 2),
            ("others", 1),
        ]


def test_a_migration_that_fails_changes_nothing(place: Place, database: Database) -> None:
    def fail(changes: Transaction) -> None:
        changes.execute(ADD, ("a", 1))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        migrate(database, "counts", [FIRST, (*SECOND, fail)])
    assert count(database) is None
    migrate(database, "counts", [FIRST, SECOND])


def test_who_only_looks_writes_nothing(place: Place, database: Database) -> None:
    with database.transaction("write") as changes:
        changes.execute(ADD, ("a", 1))
    looking = place.open(readonly=True)
    migrate(looking, "counts", [FIRST])
    assert count(looking) == 1
    with (
        pytest.raises(StateStorageError, match="could not write: it was opened to look only"),
        looking.transaction("write") as changes,
    ):
        changes.execute(ADD, ("a", 1))
    with database.transaction("write") as changes:
        changes.execute(ADD, ("a", 1))
    assert count(looking) == 2


def test_a_closed_database_says_so(database: Database) -> None:
    database.close()
    database.close()
    with pytest.raises(StateStorageError, match="closed") as caught, database.read() as queries:
        queries.rows("SELECT 1")
    assert caught.value.values["problem"] == "closed"
