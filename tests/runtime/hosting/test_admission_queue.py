"""The admission queue against one that looks at every run each time, and what a user has spent against a plain sum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.hosting.limits.admission import PRIORITIES, WAITS_FOR_ROOM, AdmissionQueue, Candidate, Quotas
from runtime.hosting.limits.spending import Spending
from runtime.primitives.ids import RunId

DAY_MS = 86_400_000
USERS = ("u", "v")


def candidate(number: int) -> Candidate:
    """A run that is always the same under its number: users, sessions and priorities are mixed."""
    session = (None, "s", "t")[number % 3]
    return Candidate(RunId(f"r-{number}"), USERS[number % 2], session, PRIORITIES[number % 4])


class NaiveQueue:
    """Runs that wait in the order in which they came, their users in turn, and runs under way."""

    def __init__(self, quotas: Quotas, spent: set[str]) -> None:
        self.quotas = quotas
        self.spent = spent
        self.waiting: list[Candidate] = []
        self.under_way: list[Candidate] = []
        self.turns: list[tuple[str, str]] = []

    def note(self, run: Candidate, lifecycle: str) -> None:
        if lifecycle in WAITS_FOR_ROOM:
            self.under_way = [one for one in self.under_way if one != run]
            if run not in self.waiting:
                self.join(run)
            return
        if run in self.waiting:
            self.leave(run, is_served=lifecycle == "running")
        self.under_way = [one for one in self.under_way if one != run]
        self.under_way += [run] if lifecycle == "running" else []

    def join(self, run: Candidate) -> None:
        if not [one for one in self.waiting if (one.priority, one.user_id) == (run.priority, run.user_id)]:
            self.turns.append((run.priority, run.user_id))
        self.waiting.append(run)

    def leave(self, run: Candidate, is_served: bool) -> None:
        user = (run.priority, run.user_id)
        self.waiting.remove(run)
        still_waits = bool([one for one in self.waiting if (one.priority, one.user_id) == user])
        if is_served or not still_waits:
            self.turns.remove(user)
            self.turns += [user] if still_waits else []

    def has_room(self, run: Candidate) -> bool:
        def fits(allowed: int | None, taken: list[bool]) -> bool:
            return allowed is None or sum(taken) < allowed

        return (
            run.user_id not in self.spent
            and fits(self.quotas.running, [True for _ in self.under_way])
            and fits(self.quotas.running_per_user, [one.user_id == run.user_id for one in self.under_way])
            and (
                run.session_id is None
                or fits(self.quotas.running_per_session, [one.session_id == run.session_id for one in self.under_way])
            )
        )

    def next_run(self) -> RunId | None:
        fitting = [run for run in self.waiting if self.has_room(run)]
        if not fitting:
            return None
        return min(fitting, key=self.order).run_id

    def order(self, run: Candidate) -> tuple[int, int]:
        return PRIORITIES.index(run.priority), self.turns.index((run.priority, run.user_id))

    def may_begin(self, run: Candidate) -> bool:
        if not self.has_room(run):
            return False
        ahead = [
            one
            for one in self.waiting
            if self.has_room(one) and PRIORITIES.index(one.priority) <= PRIORITIES.index(run.priority)
        ]
        return not ahead or self.next_run() == run.run_id


some = st.none() | st.integers(0, 3)
LIFECYCLES = st.sampled_from(["ready", "blocked", "running", "waiting", "terminated"])


@given(
    st.builds(Quotas, running=some, running_per_user=some, running_per_session=some),
    st.lists(st.tuples(st.integers(0, 11), LIFECYCLES, st.sets(st.sampled_from(USERS))), max_size=60),
)
def test_whatever_happens_the_next_run_is_the_one_that_a_naive_queue_finds(
    quotas: Quotas, steps: list[tuple[int, str, set[str]]]
) -> None:
    spent: set[str] = set()
    queue, naive = AdmissionQueue(quotas, lambda user_id: user_id in spent), NaiveQueue(quotas, spent)
    for number, lifecycle, overspent in steps:
        spent.clear()
        spent.update(overspent)
        queue.note(candidate(number), lifecycle)
        naive.note(candidate(number), lifecycle)
        assert queue.next_run() == naive.next_run()
        assert queue.waiting == len(naive.waiting)
        for other in range(12):
            assert queue.may_begin(candidate(other)) == naive.may_begin(candidate(other))


@given(st.lists(st.integers(0, 11), unique=True, min_size=1), st.data())
def test_whoever_is_put_back_at_its_place_changes_nothing(numbers: list[int], data: st.DataObject) -> None:
    queue, untouched = AdmissionQueue(Quotas()), AdmissionQueue(Quotas())
    for number in numbers:
        queue.note(candidate(number), "ready")
        untouched.note(candidate(number), "ready")
    taken = data.draw(st.lists(st.sampled_from(numbers), unique=True))
    places = {number: queue.place(RunId(f"r-{number}")) for number in taken}
    for number in taken:
        queue.note(candidate(number), data.draw(st.sampled_from(["running", "terminated"])))
        assert queue.place(RunId(f"r-{number}")) is None
    for number in data.draw(st.permutations(taken)):
        queue.note(candidate(number), "ready", places[number])
    assert drained(queue) == drained(untouched)


def drained(queue: AdmissionQueue) -> list[RunId]:
    order: list[RunId] = []
    while (run_id := queue.next_run()) is not None:
        order.append(run_id)
        queue.note(candidate(int(run_id.removeprefix("r-"))), "terminated")
    return order


def test_who_comes_after_one_that_was_put_back_is_behind_all_who_wait() -> None:
    queue = AdmissionQueue(Quotas())
    for number in (0, 4):
        queue.note(candidate(number), "ready")
    place = queue.place(RunId("r-0"))
    queue.note(candidate(0), "running")
    queue.note(candidate(0), "ready", place)
    queue.note(candidate(8), "ready")
    assert drained(queue) == ["r-0", "r-4", "r-8"]


@pytest.mark.parametrize(("later_ms", "spent"), [(-1, 3), (0, None), (1, None)])
def test_what_was_spent_counts_for_a_day_and_not_a_millisecond_more(later_ms: int, spent: int | None) -> None:
    spending = Spending(Quotas(llm_calls_per_day=3))
    spending.book("u", 3, 0, 1_000)
    found = spending.exhausted("u", 1_000 + DAY_MS + later_ms)
    assert (found and found.spent) == spent


@given(
    st.integers(0, 6),
    st.lists(st.tuples(st.sampled_from(USERS), st.integers(0, 4), st.integers(0, DAY_MS // 2)), max_size=20),
)
def test_a_quota_is_used_up_exactly_when_the_sum_of_a_day_reaches_it_and_there_is_room_when_it_says(
    allowed: int, bookings: list[tuple[str, int, int]]
) -> None:
    spending, now_ms = Spending(Quotas(tokens_per_day=allowed)), 0
    booked: list[tuple[str, int, int]] = []
    for user_id, tokens, later_ms in bookings:
        now_ms += later_ms
        spending.book(user_id, 9, tokens, now_ms)
        booked.append((user_id, tokens, now_ms))
        for user in USERS:
            found = spending.exhausted(user, now_ms)
            assert (found is not None) == (_sum(booked, user, now_ms) >= allowed)
            if found is not None and allowed:
                assert found.spent == _sum(booked, user, now_ms)
                assert _sum(booked, user, found.room_at_ms) < allowed <= _sum(booked, user, found.room_at_ms - 1)


def _sum(booked: list[tuple[str, int, int]], user: str, now_ms: int) -> int:
    return sum(tokens for user_id, tokens, at_ms in booked if user_id == user and at_ms > now_ms - DAY_MS)
