"""A PostgreSQL server that refuses, is away, comes back, or dies."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from runtime.database.postgres_database import PostgresDatabase
from runtime.errors import StateStorageError
from runtime.primitives.ids import RunId
from runtime.store.run_log import SqlRunLog
from runtime.supervision.events import CancelRequested, Event
from tests.postgres_server import MISSING, PASSWORD, PostgresServer, binaries

RUN = RunId("r-1")


@pytest.fixture(scope="module")
def own_server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that may be broken: nobody else uses it."""
    found = binaries()
    assert found is not None, MISSING
    server = PostgresServer(found)
    yield server
    server.close()


def event(seq: int) -> Event:
    return Event(RUN, seq, seq, CancelRequested("why"))


def refused(dsn: str, schema: str = "jeeves") -> StateStorageError:
    with pytest.raises(StateStorageError) as caught:
        PostgresDatabase(dsn, schema)
    assert PASSWORD not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("host", ["socket", "127.0.0.1"])
def test_a_wrong_password_is_said_without_it(postgres: PostgresServer, host: str) -> None:
    where = {} if host == "socket" else {"host": host}
    error = refused(postgres.dsn_with(password="guessed wrong", **where))
    assert error.values["problem"] == "refused"
    assert "refuses the user or the password" in str(error)
    assert "check store.dsn" in str(error)
    assert "guessed" not in str(error)


def test_a_database_that_is_not_there_is_said(postgres: PostgresServer) -> None:
    error = refused(postgres.dsn_with(dbname="nowhere"))
    assert (error.values["problem"], "no such database" in str(error)) == ("refused", True)


def test_a_server_that_is_away_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = refused(f"postgresql://ann:open%20sesame@127.0.0.1:{taken.getsockname()[1]}/db")
    assert error.values["problem"] == "away"
    assert "cannot be reached" in str(error)


def test_what_is_no_connection_string_is_said_without_quoting_it() -> None:
    error = refused(f"postgresql://ann:{PASSWORD}@[host/db")
    assert error.values["problem"] == "invalid"


@pytest.mark.parametrize("schema", ["", "Jeeves", "a b", 'a"; DROP', "1a", "x" * 64])
def test_a_schema_name_that_is_none_is_refused(postgres: PostgresServer, schema: str) -> None:
    assert "cannot be the name of a schema" in str(refused(postgres.dsn, schema))


def test_a_user_without_rights_is_told(postgres: PostgresServer) -> None:
    database = PostgresDatabase(postgres.dsn, "t_rights")
    with database.transaction("make a user") as changes:
        changes.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    database.close()
    error = refused(postgres.dsn_with(user="guest", password="guest"), "t_guest")
    assert error.values["problem"] == "refused"
    assert "lacks a right" in str(error)


def test_after_a_restart_of_the_server_a_log_goes_on(own_server: PostgresServer) -> None:
    log = SqlRunLog(PostgresDatabase(own_server.dsn, "restarted"))
    log.append("p", event(1))
    own_server.stop()
    with pytest.raises(StateStorageError) as caught:
        log.append("p", event(2))
    assert caught.value.values["problem"] == "away"
    own_server.start()
    log.append("p", event(2))
    own_server.stop()
    own_server.start()
    log.append("p", event(3))
    assert [one.seq for one in log.events(RUN)] == [1, 2, 3]
    log.close()


def test_what_was_accepted_outlives_a_crash_of_the_server(own_server: PostgresServer) -> None:
    log = SqlRunLog(PostgresDatabase(own_server.dsn, "crashed", "full"))
    accepted: list[int] = []
    enough = threading.Event()

    def write() -> None:
        for seq in range(1, 1_000_000):
            try:
                log.append("p", event(seq))
            except StateStorageError:
                return  # the server was killed, as it should be: what it accepted is checked below
            accepted.append(seq)
            if seq == 50:
                enough.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert enough.wait(60)
    own_server.kill()
    writer.join()
    own_server.start()
    kept = [one.seq for one in log.events(RUN)]
    assert kept[: len(accepted)] == accepted
    assert len(kept) - len(accepted) in (0, 1)
    log.append("p", event(len(kept) + 1))
    log.close()


def test_a_transaction_that_loses_its_server_keeps_nothing(own_server: PostgresServer) -> None:
    database = PostgresDatabase(own_server.dsn, "lost")
    with database.transaction("make a table") as changes:
        changes.execute("CREATE TABLE kept (n BIGINT)")
    with pytest.raises(StateStorageError, match="could not write"), database.transaction("write") as changes:
        changes.execute("INSERT INTO kept VALUES (1)")
        own_server.stop()
        changes.execute("INSERT INTO kept VALUES (2)")
    own_server.start()
    with database.read() as queries:
        assert queries.rows("SELECT n FROM kept") == []
    database.close()
