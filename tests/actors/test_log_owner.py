"""Whose run log it is: leases that are waited for, taken at once by who had them before, and given back."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from actors.log_owner import LEASE_MS, LogOwner, never_wait
from runtime.errors import FencedError, OwnedError
from runtime.primitives.clock import FakeClock, SystemClock
from runtime.primitives.ids import Address, RunId
from runtime.store.options import StoreOptions
from runtime.store.unowned_logs import unowned_logs
from runtime.supervision.events import CancelRequested, Event
from serve.http.answering.readiness import check_store
from tests.postgres_server import PostgresServer

FIRST = Address("supervisor")


class HandClock(FakeClock):
    """A clock for code that blocks."""

    def turn(self, span_ms: int) -> None:
        self._now_ms += span_ms


class Waiting:
    """A wait that turns the clock, by as much as it is asked for or by less."""

    def __init__(self, clock: HandClock, share: float = 1.0) -> None:
        self.clock = clock
        self.share = share
        self.waited_s: list[float] = []

    def __call__(self, delay_s: float) -> None:
        self.waited_s.append(delay_s)
        self.clock.turn(round(delay_s * self.share * 1000))


@pytest.fixture
def store(tmp_path: Path) -> StoreOptions:
    return StoreOptions(folder=str(tmp_path))


def owner(store: StoreOptions, clock: HandClock, system_id: str = "one", *names: str, **wait: Waiting) -> LogOwner:
    return LogOwner(FIRST, system_id, store, names or ("runs",), clock, wait.get("wait", Waiting(clock)))


def test_the_lease_of_another_is_waited_for_once_and_then_taken(store: StoreOptions) -> None:
    clock = HandClock()
    former = owner(store, clock, "one")
    waiting = Waiting(clock)
    later = owner(store, clock, "two", wait=waiting)
    assert waiting.waited_s == [LEASE_MS / 1000]
    assert later.epoch == former.epoch + 1
    with pytest.raises(FencedError):
        former.renew()


def test_of_several_logs_a_supervisor_that_follows_itself_takes_its_own(store: StoreOptions) -> None:
    clock = HandClock()
    first, mine = owner(store, clock, "one", "x", "y"), owner(store, clock, "two", "x", "y")
    first.release()
    again = LogOwner(FIRST, "two", store, ("x", "y"), clock, Waiting(clock), follows=True)
    assert again.epoch == mine.epoch + 1
    with pytest.raises(FencedError):
        mine.renew()
    assert owner(store, clock, "three", "x", "y").epoch == first.epoch + 1


def test_on_a_server_a_supervisor_that_follows_itself_has_no_other_log(postgres: PostgresServer) -> None:
    # The server lists `keeper-0` as `keeper_0`: taken for another log, it was taken over a second time, which deposed
    # the supervisor that had just taken it.
    clock, name = SystemClock(), f"keeper-{secrets.token_hex(4)}-0"
    store = StoreOptions(folder="", backend="postgres", dsn=postgres.dsn)
    first = LogOwner(FIRST, "one", store, (name,), clock, never_wait)
    again = LogOwner(FIRST, "one", store, (name, "other"), clock, never_wait, follows=True)
    try:
        assert again.epoch == first.epoch + 1
        assert unowned_logs(store, clock.now_ms(), (again.log_name,), again.name).unowned == []
        check_store(store, name.removesuffix("-0"))
    finally:
        first.log.close()
        again.log.close()


def test_who_lives_and_renews_keeps_the_log(store: StoreOptions) -> None:
    clock = HandClock()
    former = owner(store, clock, "one")

    class Renewing(Waiting):
        def __call__(self, delay_s: float) -> None:
            super().__call__(delay_s)
            former.renew()

    with pytest.raises(OwnedError) as caught:
        owner(store, clock, "two", wait=Renewing(clock))
    assert caught.value.values["holder"] == "supervisor of system one"


def test_a_supervisor_that_follows_itself_does_not_wait(store: StoreOptions) -> None:
    clock = HandClock()
    former, waiting = owner(store, clock, "one"), Waiting(clock)
    later = owner(store, clock, "one", wait=waiting)
    assert (waiting.waited_s, later.epoch) == ([], former.epoch + 1)
    with pytest.raises(FencedError):
        former.renew()


def test_a_log_that_was_released_is_taken_at_once(store: StoreOptions) -> None:
    clock = HandClock()
    owner(store, clock, "one").release()
    waiting = Waiting(clock)
    owner(store, clock, "two", wait=waiting)
    assert waiting.waited_s == []


def test_an_owner_that_was_released_does_not_take_its_lease_again(store: StoreOptions) -> None:
    clock = HandClock()
    former = owner(store, clock, "one")
    former.release()
    former.renew()
    assert former.log.lease(clock.now_ms()) is None


@pytest.mark.parametrize(("early_ms", "waits"), [(1, True), (0, False), (-1, False)])
def test_a_lease_holds_until_its_last_millisecond(store: StoreOptions, early_ms: int, waits: bool) -> None:
    clock = HandClock()
    owner(store, clock, "one")
    clock.turn(LEASE_MS - early_ms)
    waiting = Waiting(clock)
    owner(store, clock, "two", wait=waiting)
    assert bool(waiting.waited_s) is waits


def test_a_renewed_lease_holds_from_then_on(store: StoreOptions) -> None:
    clock = HandClock()
    former = owner(store, clock, "one")
    clock.turn(2_000)
    former.renew()
    waiting = Waiting(clock)
    owner(store, clock, "two", wait=waiting)
    assert waiting.waited_s == [LEASE_MS / 1000]


def test_a_clock_that_was_set_back_does_not_make_anybody_wait_for_longer_than_a_lease(store: StoreOptions) -> None:
    clock = HandClock()
    owner(store, clock, "one")
    clock.turn(-3_600_000)
    waiting = Waiting(clock)
    with pytest.raises(OwnedError):
        owner(store, clock, "two", wait=waiting)
    assert waiting.waited_s == [LEASE_MS / 1000]


def test_of_several_logs_the_first_that_nobody_owns_is_taken_without_waiting(store: StoreOptions) -> None:
    clock = HandClock()
    owner(store, clock, "one", "x", "y")
    waiting = Waiting(clock)
    second = owner(store, clock, "two", "x", "y", wait=waiting)
    with pytest.raises(OwnedError):
        owner(store, clock, "three", "x", "y", wait=waiting)
    assert waiting.waited_s == []
    assert second.log.events(RunId("r-1")) == []


def test_what_a_deposed_owner_writes_is_refused(store: StoreOptions) -> None:
    clock = HandClock()
    former = owner(store, clock, "one")
    owner(store, clock, "two")
    with pytest.raises(FencedError):
        former.log.append("p", Event(RunId("r-1"), 1, 0, CancelRequested()), former.epoch)


def test_a_deposed_owner_that_goes_down_does_not_release_its_successors_lease(store: StoreOptions) -> None:
    clock = HandClock()
    former = owner(store, clock, "one")
    later = owner(store, clock, "two")
    former.release()
    later.renew()
    waiting = Waiting(clock)
    owner(store, clock, "three", wait=waiting)
    assert waiting.waited_s == [LEASE_MS / 1000]


def test_an_owner_that_adopts_nothing_leaves_logs_with_open_runs_to_others_while_there_are_clean_ones(
    store: StoreOptions,
) -> None:
    clock = HandClock()
    left = owner(store, clock, "one", "x", "y")
    left.log.append("line", Event(RunId("r-1"), 1, 0, CancelRequested()))
    left.release()
    names = ("x", "y")
    second = LogOwner(FIRST, "two", store, names, clock, Waiting(clock), prefers_clean=True)
    third = LogOwner(FIRST, "three", store, names, clock, Waiting(clock), prefers_clean=True)
    assert (second.log_name, third.log_name) == ("y", "x")
    with pytest.raises(OwnedError):
        LogOwner(FIRST, "four", store, names, clock, Waiting(clock), prefers_clean=True)


def test_an_owner_knows_since_when_its_log_had_none(store: StoreOptions) -> None:
    clock = HandClock()
    first = owner(store, clock, "one")
    assert first.unowned_since_ms == 0
    clock.turn(10)
    first.release()
    released_ms = clock.now_ms()
    clock.turn(10)
    assert owner(store, clock, "two").unowned_since_ms == released_ms
