"""On a server leases go by its clock: a machine whose own is wrong takes nothing from the living, and loses nothing."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator

import pytest

from runtime.database.postgres_database import LEAST_SKEW_S, PostgresDatabase
from runtime.errors import LeaseLostError, OwnedError
from runtime.queues.work_table import WorkerId
from runtime.store.run_log import SqlRunLog
from runtime.store.sql_work_table import SqlWorkTable
from tests.postgres_server import PostgresServer

LEASE_MS = 5_000
SKEWS_S = (-30.0, -2.0, 2.0, 30.0)


class Machine:
    """A machine whose clock is wrong by so much."""

    def __init__(self, server: PostgresServer, schema: str, wrong_by_s: float) -> None:
        self.wrong_by_s = wrong_by_s
        self.database = PostgresDatabase(server.dsn, schema, wall_s=self.wall_s)
        self.log = SqlRunLog(self.database)

    def wall_s(self) -> float:
        return time.time() + self.wrong_by_s

    def now_ms(self, later_ms: int = 0) -> int:
        return round(self.wall_s() * 1000) + later_ms


@pytest.fixture
def machine(postgres: PostgresServer) -> Iterator[Callable[[float], Machine]]:
    schema, opened = f"jeeves_clocks_{secrets.token_hex(4)}", []

    def with_clock(wrong_by_s: float) -> Machine:
        opened.append(Machine(postgres, schema, wrong_by_s))
        return opened[-1]

    yield with_clock
    for each in opened:
        each.log.close()


@pytest.mark.parametrize("wrong_by_s", SKEWS_S)
def test_a_living_owner_keeps_its_log_whatever_another_machine_takes_the_time_for(
    machine: Callable[[float], Machine], wrong_by_s: float
) -> None:
    right, wrong = machine(0.0), machine(wrong_by_s)
    for owner, other in ((right, wrong), (wrong, right)):
        epoch = owner.log.take_over("owner", owner.now_ms(), LEASE_MS, force=True)
        with pytest.raises(OwnedError) as refused:
            other.log.take_over("other", other.now_ms(), LEASE_MS)
        left_ms = refused.value.values["until_ms"] - other.now_ms()
        assert 0 < left_ms <= LEASE_MS + 1_000 * LEAST_SKEW_S
        owner.log.renew(epoch, owner.now_ms(), LEASE_MS)
        lease = other.log.lease(other.now_ms())
        assert lease is not None
        assert lease.holder == "owner"
        owner.log.release(epoch, owner.now_ms())


@pytest.mark.parametrize("wrong_by_s", SKEWS_S)
def test_a_lease_that_is_over_is_over_for_all_machines(machine: Callable[[float], Machine], wrong_by_s: float) -> None:
    right, wrong = machine(0.0), machine(wrong_by_s)
    for owner, other in ((right, wrong), (wrong, right)):
        owner.log.take_over("owner", owner.now_ms(), LEASE_MS, force=True)
        late_ms = LEASE_MS + round(1_000 * LEAST_SKEW_S)
        assert other.log.lease(other.now_ms(late_ms)) is None
        other.log.take_over("other", other.now_ms(late_ms), LEASE_MS)
        last = owner.log.last_lease()
        assert last is not None
        assert abs(last.until_ms - owner.now_ms(late_ms + LEASE_MS)) <= 1_000 * LEAST_SKEW_S + 500


def test_a_clock_that_is_set_while_its_machine_works_changes_no_lease(machine: Callable[[float], Machine]) -> None:
    right, wrong = machine(0.0), machine(0.0)
    epoch = wrong.log.take_over("owner", wrong.now_ms(), LEASE_MS)
    for wrong.wrong_by_s in (30.0, -30.0, 0.0):
        wrong.log.renew(epoch, wrong.now_ms(), LEASE_MS)
        last = right.log.last_lease()
        assert last is not None
        assert abs(last.until_ms - right.now_ms(LEASE_MS)) < 1_000 * LEAST_SKEW_S


@pytest.mark.parametrize("wrong_by_s", SKEWS_S)
def test_a_living_worker_keeps_its_task(machine: Callable[[float], Machine], wrong_by_s: float) -> None:
    right, wrong = machine(0.0), machine(wrong_by_s)
    one, two = SqlWorkTable(right.database), SqlWorkTable(wrong.database)
    one.register(WorkerId("one"), ["q"], LEASE_MS, right.now_ms())
    two.register(WorkerId("two"), ["q"], LEASE_MS, wrong.now_ms())
    one.enqueue("q", b"task", "normal", 0, None, right.now_ms())
    lease = one.dequeue(WorkerId("one"), right.now_ms())
    assert lease is not None
    assert two.dequeue(WorkerId("two"), wrong.now_ms()) is None
    assert not two.may_have_changed(WorkerId("two"), wrong.now_ms())
    following_ms = two.next_change_ms()
    assert following_ms is not None
    assert 0 < following_ms - wrong.now_ms() <= LEASE_MS
    one.complete(lease.id, right.now_ms())
    late_ms = LEASE_MS + round(1_000 * LEAST_SKEW_S)
    two.advance(wrong.now_ms(late_ms))
    with pytest.raises(LeaseLostError):
        one.heartbeat(WorkerId("one"), right.now_ms())


@pytest.mark.parametrize(("wrong_by_s", "is_told"), [(0.9, False), (-0.9, False), (1.2, True), (-1.2, True)])
def test_clocks_that_differ_by_less_than_a_second_count_as_one(
    machine: Callable[[float], Machine], wrong_by_s: float, is_told: bool
) -> None:
    ahead_ms = machine(wrong_by_s).database.clock_ahead_ms()
    assert (ahead_ms != 0) == is_told
    assert abs(ahead_ms + 1_000 * wrong_by_s * is_told) < 200
