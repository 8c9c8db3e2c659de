"""The rules of work queues: order, leases, retries, dead letters; and that no task is ever lost or held twice."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from runtime.errors import LeaseLostError, QueueFullError
from runtime.pipeline.run_terms import Priority
from runtime.queues import work_table
from runtime.queues.work_table import (
    MAX_LOST_LEASES,
    MAX_RETRY_DELAY_MS,
    TRANSITIONS,
    Lease,
    TaskId,
    WorkerId,
    WorkTable,
    retry_delay_ms,
)

ANN, BOB = WorkerId("ann"), WorkerId("bob")
LEASE_MS = 10_000


@pytest.fixture
def table() -> WorkTable:
    return table_with(ANN, BOB)


def table_with(*workers: WorkerId, queues: Iterable[str] = ("q",)) -> WorkTable:
    table = WorkTable()
    for worker in workers:
        table.register(worker, queues, LEASE_MS, 0)
    return table


def put(
    table: WorkTable, payload: str = "x", priority: Priority = "normal", queue: str = "q", retries: int = 3
) -> TaskId:
    return table.enqueue(queue, payload.encode(), priority, retries)


def take(table: WorkTable, worker: WorkerId = ANN, now_ms: int = 0) -> Lease:
    lease = table.dequeue(worker, now_ms)
    assert lease is not None
    return lease


def payloads(table: WorkTable, worker: WorkerId = ANN, now_ms: int = 0) -> list[str]:
    taken = []
    while (lease := table.dequeue(worker, now_ms)) is not None:
        taken.append(lease.task.payload.decode())
    return taken


def test_the_higher_priority_goes_first_and_within_one_the_older(table: WorkTable) -> None:
    for number, priority in enumerate(("idle", "low", "normal", "high", "realtime") * 2):
        put(table, f"{priority} {number}", priority)  # type: ignore[arg-type]
    assert payloads(table) == [
        *("realtime 4", "realtime 9", "high 3", "high 8", "normal 2", "normal 7"),
        *("low 1", "low 6", "idle 0", "idle 5"),
    ]


def test_a_worker_gets_tasks_of_its_queues_alone_and_the_best_of_them() -> None:
    table = table_with(ANN, queues=("a", "b"))
    for queue, priority in (("a", "low"), ("b", "high"), ("c", "realtime")):
        put(table, queue, priority, queue)  # type: ignore[arg-type]
    assert payloads(table) == ["b", "a"]
    assert table.queues() == ["a", "b", "c"]


def test_a_completed_task_is_done_with(table: WorkTable) -> None:
    put(table)
    lease = take(table)
    table.complete(lease.id, 0)
    assert table.dequeue(BOB, 0) is None
    with pytest.raises(LeaseLostError):
        table.complete(lease.id, 0)
    with pytest.raises(LeaseLostError):
        table.fail(lease.id, True, "late", 0)
    assert (table.stats("q").completed, table.stats("q").leased) == (1, 0)


@pytest.mark.parametrize(("now_ms", "comes"), [(9_999, False), (10_000, True), (10_001, True)])
def test_tasks_of_a_worker_that_is_not_heard_of_come_back_when_its_lease_is_over(
    table: WorkTable, now_ms: int, comes: bool
) -> None:
    put(table)
    lease = take(table)
    table.heartbeat(BOB, 5_000)
    assert (table.dequeue(BOB, now_ms) is not None) is comes
    if comes:
        with pytest.raises(LeaseLostError, match=f"lease {lease.id} is over"):
            table.complete(lease.id, now_ms)
        with pytest.raises(LeaseLostError, match="worker ann is not known"):
            table.heartbeat(ANN, now_ms)
    else:
        table.complete(lease.id, now_ms)


@pytest.mark.parametrize("retry", [None, True, False])
def test_a_worker_that_comes_too_late_is_refused_though_nobody_asked_in_between(
    table: WorkTable, retry: bool | None
) -> None:
    put(table)
    lease = take(table)
    with pytest.raises(LeaseLostError):
        if retry is None:
            table.complete(lease.id, LEASE_MS)
        else:
            table.fail(lease.id, retry, "late", LEASE_MS)
    table.register(BOB, ("q",), LEASE_MS, LEASE_MS)
    assert take(table, BOB, LEASE_MS).task.failures == 0


def test_a_heartbeat_keeps_the_tasks(table: WorkTable) -> None:
    put(table)
    lease = take(table)
    for now_ms in (9_999, 19_998, 29_997):
        table.heartbeat(ANN, now_ms)
    table.complete(lease.id, 39_996)


def test_a_task_that_comes_back_keeps_its_place(table: WorkTable) -> None:
    for name in ("first", "second"):
        put(table, name)
    take(table, ANN)
    table.deregister(ANN, 0)
    assert payloads(table, BOB) == ["first", "second"]


def test_a_worker_that_leaves_or_begins_anew_gives_its_tasks_back_at_once(table: WorkTable) -> None:
    put(table)
    lease = take(table)
    table.register(ANN, ("q",), LEASE_MS, 1)
    with pytest.raises(LeaseLostError):
        table.complete(lease.id, 1)
    table.deregister(ANN, 1)
    assert take(table, BOB, 1).task.lost == 0
    with pytest.raises(LeaseLostError):
        table.dequeue(ANN, 1)


@pytest.mark.parametrize(("failures", "delay_ms"), [(1, 1_000), (2, 2_000), (3, 4_000), (9, 256_000), (10, 300_000)])
def test_the_pause_before_a_retry_doubles_up_to_a_bound(failures: int, delay_ms: int) -> None:
    assert retry_delay_ms(failures) == delay_ms
    assert retry_delay_ms(10_000) == MAX_RETRY_DELAY_MS


@pytest.mark.parametrize(("waited_ms", "comes"), [(999, False), (1_000, True)])
def test_a_failed_task_comes_back_after_its_pause(table: WorkTable, waited_ms: int, comes: bool) -> None:
    put(table)
    table.fail(take(table).id, True, "once", 0)
    assert table.next_change_ms() == 1_000
    lease = table.dequeue(BOB, waited_ms)
    assert (lease is not None) is comes
    if lease is not None:
        assert (lease.task.failures, lease.task.error) == (1, "once")


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_after_its_last_retry_a_task_is_dead_with_its_last_error(table: WorkTable, retries: int) -> None:
    task_id = put(table, retries=retries)
    now_ms = 0
    for number in range(retries + 1):
        assert not table.dead
        now_ms += 5_000
        table.fail(take(table, ANN, now_ms).id, True, f"error {number}", now_ms)
    assert [(task.id, task.error, task.failures) for task in table.dead] == [(task_id, f"error {retries}", retries + 1)]
    assert table.stats("q").dead == 1


def test_a_task_that_is_not_to_be_retried_is_dead_at_once(table: WorkTable) -> None:
    put(table)
    table.fail(take(table).id, False, "hopeless", 0)
    assert [task.error for task in table.dead] == ["hopeless"]


def test_a_task_that_its_workers_do_not_survive_is_given_up_in_the_end() -> None:
    table = WorkTable()
    put(table, retries=0)
    for number in range(MAX_LOST_LEASES):
        assert not table.dead
        table.register(ANN, ("q",), LEASE_MS, number * LEASE_MS)
        take(table, ANN, number * LEASE_MS)
        table.advance((number + 1) * LEASE_MS)
    assert [(task.lost, task.error) for task in table.dead] == [(MAX_LOST_LEASES, "worker ann was lost")]


@pytest.mark.parametrize(("pending", "full"), [(2, False), (3, True)])
def test_a_queue_holds_a_bounded_number_of_tasks(
    table: WorkTable, monkeypatch: pytest.MonkeyPatch, pending: int, full: bool
) -> None:
    monkeypatch.setattr(work_table, "MAX_PENDING_PER_QUEUE", 3)
    for _ in range(pending):
        put(table)
    take(table)
    put(table, queue="another")
    if full:
        with pytest.raises(QueueFullError, match="queue 'q' holds 3 tasks already"):
            put(table)
    else:
        put(table)


def test_the_numbers_of_a_queue(table: WorkTable) -> None:
    for priority in ("high", "high", "low", "low", "low"):
        put(table, priority=priority)
    table.complete(take(table).id, 0)
    table.fail(take(table).id, True, "x", 0)
    take(table)
    stats = table.stats("q")
    assert (stats.ready, stats.leased, stats.delayed, stats.completed, stats.dead) == (2, 1, 1, 1, 0)
    assert stats.ready_by_priority == {"realtime": 0, "high": 0, "normal": 0, "low": 2, "idle": 0}
    assert table.stats("never").ready == 0


def test_what_is_completed_or_dead_has_no_way_back() -> None:
    assert not [state for state, _ in TRANSITIONS if state in ("completed", "dead")]
    assert set(TRANSITIONS.values()) == {"ready", "leased", "delayed", "completed", "dead"}


class Workplace(RuleBasedStateMachine):
    """Workers that come, die, work, fail and come too late, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.table = WorkTable()
        self.now_ms = 0
        self.put: set[TaskId] = set()
        self.completed: list[TaskId] = []
        self.heard: dict[WorkerId, int] = {}
        self.held: list[Lease] = []

    workers = st.sampled_from([ANN, BOB, WorkerId("cid")])

    def alive(self, worker: WorkerId) -> bool:
        return worker in self.heard and self.now_ms < self.heard[worker] + LEASE_MS

    @rule(priority=st.sampled_from(["high", "normal"]), retries=st.integers(0, 2))
    def enqueue(self, priority: Priority, retries: int) -> None:
        self.put.add(self.table.enqueue("q", b"", priority, retries))

    @rule(worker=workers)
    def register(self, worker: WorkerId) -> None:
        self.table.register(worker, ("q",), LEASE_MS, self.now_ms)
        self.held = [lease for lease in self.held if lease.worker != worker]
        self.heard[worker] = self.now_ms

    @rule(worker=workers)
    def deregister(self, worker: WorkerId) -> None:
        self.table.deregister(worker, self.now_ms)
        self.held = [lease for lease in self.held if lease.worker != worker]
        self.heard.pop(worker, None)

    @rule(worker=workers)
    def dequeue(self, worker: WorkerId) -> None:
        if not self.alive(worker):
            with pytest.raises(LeaseLostError):
                self.table.dequeue(worker, self.now_ms)
            return
        lease = self.table.dequeue(worker, self.now_ms)
        self.heard[worker] = self.now_ms
        if lease is not None:
            live = {held.task.id for held in self.held if self.alive(held.worker)}
            assert lease.task.id not in live, "handed to two at once"
            self.held.append(lease)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), ending=st.sampled_from(["complete", "retry", "give up"]))
    def end(self, data: st.DataObject, ending: str) -> None:
        lease = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        try:
            if ending == "complete":
                self.table.complete(lease.id, self.now_ms)
                self.completed.append(lease.task.id)
            else:
                self.table.fail(lease.id, ending == "retry", ending, self.now_ms)
        except LeaseLostError:
            assert not self.alive(lease.worker), "refused though the worker is alive"
        else:
            assert self.alive(lease.worker), "taken though the lease is over"

    @rule(passed_ms=st.sampled_from([1, 1_000, LEASE_MS - 1, LEASE_MS]))
    def wait(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self.heard = {worker: at for worker, at in self.heard.items() if self.alive(worker)}

    @invariant()
    def every_task_is_somewhere_exactly_once(self) -> None:
        stats = self.table.stats("q")
        assert stats.completed == len(self.completed) == len(set(self.completed))
        assert stats.ready == sum(stats.ready_by_priority.values())
        assert stats.dead == len(self.table.dead)
        assert stats.ready + stats.leased + stats.delayed + stats.dead + stats.completed == len(self.put)
        assert not {task.id for task in self.table.dead} & set(self.completed)

    def teardown(self) -> None:
        """Whatever happened, a worker that stays finishes all that is not dead."""
        self.table.register(ANN, ("q",), LEASE_MS, self.now_ms)
        for _ in range(400):
            while (lease := self.table.dequeue(ANN, self.now_ms)) is not None:
                self.table.complete(lease.id, self.now_ms)
                self.completed.append(lease.task.id)
            self.now_ms += LEASE_MS - 1
        dead = [task.id for task in self.table.dead]
        assert sorted(self.completed + dead) == sorted(self.put)


Workplace.TestCase.settings = hypothesis_settings(max_examples=60, stateful_step_count=40, deadline=None)
test_whatever_happens_no_task_is_lost_or_held_twice_and_each_completes_once = Workplace.TestCase


@given(st.lists(st.sampled_from(["realtime", "high", "normal", "low", "idle"])))
def test_tasks_leave_sorted_by_priority_and_age(priorities: list[Priority]) -> None:
    table = table_with(ANN)
    ranks = ["realtime", "high", "normal", "low", "idle"]
    for number, priority in enumerate(priorities):
        put(table, str(number), priority)
    expected = sorted(range(len(priorities)), key=lambda number: (ranks.index(priorities[number]), number))
    assert payloads(table) == [str(number) for number in expected]
