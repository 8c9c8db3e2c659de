"""A server that takes connections and says nothing: whoever has an event loop to serve is not held up for long."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from actors.log_owner import LEASE_MS, PATIENCE_S, LogOwner
from runtime.database.postgres_database import PostgresDatabase
from runtime.database.postgres_patience import SilentServerError, heard
from runtime.database.sqlite_database import SqliteDatabase
from runtime.errors import StateStorageError
from runtime.hosting.failure_detector import HANGS_AFTER_S
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import Address, RunId
from runtime.store.options import StoreOptions
from runtime.store.run_log import SqlRunLog
from runtime.supervision.events import CancelRequested, Event
from tests.postgres_server import PostgresServer
from tests.runtime.store.conftest import Place

# Beside much other work a test may be late; a server that is waited for without a bound is later.
LATE_S = 2.0


class Wire:
    """A way to a server that can be cut without anybody being told: connections stay, and are taken, in silence."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._is_open = threading.Event()
        self._is_open.set()
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.taken = 0
        threading.Thread(target=self._take, daemon=True).start()

    def cut(self) -> None:
        self._is_open.clear()

    def mend(self) -> None:
        self._is_open.set()

    def close(self) -> None:
        self._is_open.set()
        for one in [self._listening, *self._sockets]:
            with suppress(OSError):  # not connected, or closed by the other side
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _take(self) -> None:
        with suppress(OSError):  # closed by the end of the test, or by one of the two sides
            while True:
                near, _ = self._listening.accept()
                self.taken += 1
                far = socket.create_connection(("127.0.0.1", self._to_port))
                self._sockets += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # closed by the end of the test, or by one of the two sides
            while data := source.recv(65_536):
                self._is_open.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def wire(postgres: PostgresServer) -> Iterator[Wire]:
    made = Wire(postgres.port)
    yield made
    made.close()


def dsn_by(wire: Wire, postgres: PostgresServer) -> str:
    return postgres.dsn_with(host="127.0.0.1", port=str(wire.port))


def event(seq: int) -> Event:
    return Event(RunId("r-1"), seq, seq, CancelRequested("why"))


def refused(call: Callable[[], object]) -> tuple[StateStorageError, float]:
    """What a call raises, and after how long."""
    began_s = time.monotonic()
    with pytest.raises(StateStorageError) as caught:
        call()
    return caught.value, time.monotonic() - began_s


@pytest.mark.long
def test_a_log_whose_server_falls_silent_says_so_in_time_and_goes_on_when_it_is_back(
    postgres: PostgresServer, wire: Wire, place_on_server: str
) -> None:
    log = SqlRunLog(PostgresDatabase(dsn_by(wire, postgres), place_on_server))
    log.wait_at_most(2.0)
    log.append("p", event(1))
    wire.cut()
    error, waited_s = refused(lambda: log.append("p", event(2)))
    assert (error.values["problem"], "has been silent for 2 s" in str(error)) == ("away", True)
    assert waited_s < 2.0 + LATE_S
    error, waited_s = refused(lambda: log.append("p", event(2)))
    assert "left alone for now" in str(error)
    assert waited_s < 2.0, "it waited for the server"
    wire.mend()
    seen = goes_on(log)
    log.append("p", event(len(seen) + 1))
    assert [one.seq for one in log.events(RunId("r-1"))] == [*seen, len(seen) + 1]
    log.close()


def goes_on(log: SqlRunLog) -> list[int]:
    """The numbers in the log, as soon as it can be read again."""
    until_s = time.monotonic() + 30
    while True:
        try:
            return [one.seq for one in log.events(RunId("r-1"))]
        except StateStorageError:
            assert time.monotonic() < until_s
            threading.Event().wait(0.1)


@pytest.fixture
def place_on_server(postgres: PostgresServer) -> Iterator[str]:
    schema = f"t_{secrets.token_hex(6)}"
    yield schema
    database = PostgresDatabase(postgres.dsn, schema)
    with database.transaction("be dropped") as changes:
        changes.execute(f'DROP SCHEMA "{schema}" CASCADE')
    database.close()


@pytest.mark.long
def test_an_owner_that_cannot_reach_its_log_is_free_again_long_before_its_lease_ends(
    postgres: PostgresServer, wire: Wire, place_on_server: str
) -> None:
    store = StoreOptions("/nowhere", "postgres", dsn_by(wire, postgres), "normal", place_on_server)
    owner = LogOwner(Address("supervisor"), "one", store, ("x",), FakeClock())
    wire.cut()
    error, waited_s = refused(owner.renew)
    assert error.values["problem"] == "away"
    assert waited_s < PATIENCE_S + LATE_S
    owner.log.close()
    wire.mend()
    database = PostgresDatabase(postgres.dsn, f"{place_on_server}_runs_x")
    with database.transaction("be dropped") as changes:
        changes.execute(f'DROP SCHEMA "{place_on_server}_runs_x" CASCADE')
    database.close()


def test_two_calls_in_a_row_are_shorter_than_what_a_process_is_replaced_for() -> None:
    assert PATIENCE_S < LEASE_MS / 1000 / 1.5
    assert 2 * PATIENCE_S < HANGS_AFTER_S


@pytest.mark.long
def test_a_host_that_takes_connections_and_says_nothing_is_given_up(
    postgres: PostgresServer, wire: Wire, place_on_server: str
) -> None:
    database = PostgresDatabase(dsn_by(wire, postgres), place_on_server)
    database.wait_at_most(2.0)
    wire.cut()
    refused(lambda: reads(database))
    taken = wire.taken
    until_s = time.monotonic() + 30
    while wire.taken == taken:
        error, waited_s = refused(lambda: reads(database))
        assert time.monotonic() < until_s
    assert ("timeout" in str(error), error.values["problem"]) == (True, "away")
    assert waited_s < 2.0 + LATE_S
    database.close()


def reads(database: PostgresDatabase) -> list[Any]:
    with database.read() as queries:
        return queries.rows("SELECT 1")


def test_another_writer_that_takes_too_long_is_busy_and_not_away(place: Place) -> None:
    first, second = place.open(), place.open()
    second.wait_at_most(0.2)
    has_begun, is_enough = threading.Event(), threading.Event()

    def hold() -> None:
        with first.transaction("be held"):
            has_begun.set()
            is_enough.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert has_begun.wait(30)

    def write() -> None:
        with second.transaction("be written"):
            raise AssertionError("two writers at once")

    error, waited_s = refused(write)
    assert error.values["problem"] == "busy"
    assert waited_s < 0.2 + LATE_S
    is_enough.set()
    holder.join()
    with second.transaction("be written"):
        pass


def test_a_file_is_waited_for_as_long_as_it_was_opened_with_until_told_otherwise(tmp_path: Any) -> None:
    database = SqliteDatabase(tmp_path / "x.sqlite")
    with database.read() as queries:
        assert queries.rows("PRAGMA busy_timeout") == [(10_000,)]
    database.wait_at_most(2.5)
    with database.read() as queries:
        assert queries.rows("PRAGMA busy_timeout") == [(2_500,)]
    database.close()


READ, NOTHING = 1, 0


def exchange(answers: int) -> Generator[int, int, str]:
    """Waits for so many answers."""
    while answers:
        answers -= bool((yield READ))
    return "done"


def driven(script: list[tuple[float, int]], answers: int, patience_s: float = 2.0) -> str:
    """What an exchange gives that is told at each instant whether something has come."""
    instants = iter([0.0, *(instant for instant, _ in script)])
    going = heard(exchange(answers), patience_s, lambda: next(instants))
    try:
        next(going)
        for _, ready in script:
            going.send(ready)
    except StopIteration as over:
        return str(over.value)
    raise AssertionError("it waits on")


def test_silence_is_counted_from_what_came_last() -> None:
    assert driven([(1.9, NOTHING), (1.9, READ), (3.8, NOTHING), (3.8, READ)], 2) == "done"
    assert driven([], 0) == "done"


@pytest.mark.parametrize("at_s", [2.0, 2.1])
def test_a_silence_as_long_as_the_patience_ends_the_exchange(at_s: float) -> None:
    with pytest.raises(SilentServerError, match="silent for 2 s"):
        driven([(1.9, NOTHING), (at_s, NOTHING)], 1)
