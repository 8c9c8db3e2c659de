"""Fair turns: no principal's flood keeps another's runs from beginning, however long it has been going on."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.capability import StageContext, StageResult
from runtime.errors import RateLimitedError
from runtime.hosting.limits.admission import AdmissionQueue, Candidate, Quotas
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.run.stage_view import StageView
from runtime.testing import PipelineBuilder
from tests.runtime.hosting.hosted import Hosted
from tests.runtime.hosting.test_quotas import Table

FLOODER, OTHER, PERSON, BATCH = "address:192.0.2.1", "address:192.0.2.2", "user:ann", "batch:ann"
PIPELINE = PipelineBuilder().stage("a").build()


def run(number: int, user_id: str, priority: str = "normal") -> Candidate:
    return Candidate(RunId(f"{user_id}-{number}"), user_id, None, priority)


def begun(queue: AdmissionQueue, known: dict[RunId, Candidate], places: int) -> list[str]:
    """The users of the next runs, of which each ends before the next begins."""
    users = []
    for _ in range(places):
        run_id = queue.next_run()
        if run_id is None:
            break
        queue.note(known[run_id], "running")
        queue.note(known[run_id], "terminated")
        users.append(known[run_id].user_id)
    return users


def flooded(*waiting: Candidate, running: int = 1) -> tuple[AdmissionQueue, dict[RunId, Candidate]]:
    """A queue with a thousand runs of one client, as many under way as may be, and then others that wait."""
    queue, flood = AdmissionQueue(Quotas(running=running)), [run(number, FLOODER) for number in range(1_000)]
    for number, candidate in enumerate(flood):
        queue.note(candidate, "running" if number < running else "ready")
    for candidate in waiting:
        queue.note(candidate, "ready")
    for candidate in flood[:running]:
        queue.note(candidate, "terminated")
    return queue, {candidate.run_id: candidate for candidate in (*flood, *waiting)}


@pytest.mark.parametrize("running", [1, 64])
@pytest.mark.parametrize("other", [OTHER, PERSON])
def test_behind_a_thousand_runs_of_one_client_another_waits_for_one_of_them(other: str, running: int) -> None:
    queue, known = flooded(run(1, other), running=running)
    assert begun(queue, known, 2) == [FLOODER, other]


def test_two_who_wait_get_room_in_turn() -> None:
    queue, known = flooded(*(run(number, OTHER) for number in range(5)))
    users = begun(queue, known, 10)
    assert users.count(OTHER) == 5
    assert {users[number] for number in (1, 3, 5, 7, 9)} == {OTHER}


def test_a_run_that_waits_is_not_passed_for_ever_by_clients_that_are_new_each_time() -> None:
    queue, known = flooded(run(1, OTHER), run(2, OTHER))
    users: list[str] = []
    for number in range(50):
        late = run(1, f"address:198.51.100.{number}")
        known[late.run_id] = late
        queue.note(late, "ready")
        users += begun(queue, known, 1)
    assert [number for number, user in enumerate(users) if user == OTHER] == [1, 5]


def test_priorities_go_before_turns() -> None:
    queue, known = flooded(run(1, BATCH, "low"), run(1, PERSON, "high"), run(2, PERSON, "high"))
    assert begun(queue, known, 3) == [PERSON, PERSON, FLOODER]


@given(st.lists(st.sampled_from("abc"), max_size=60), st.integers(1, 4))
def test_while_two_wait_neither_gets_more_than_one_run_ahead_of_the_other(arrivals: list[str], running: int) -> None:
    queue, known = AdmissionQueue(Quotas(running=running)), {}
    for number, user in enumerate(arrivals):
        known[RunId(f"{user}-{number}")] = run(number, user)
        queue.note(known[RunId(f"{user}-{number}")], "ready")
    left, had = {user: arrivals.count(user) for user in "abc"}, dict.fromkeys("abc", 0)
    for user in begun(queue, known, len(arrivals)):
        had[user] += 1
        left[user] -= 1
        waiting = [other for other in "abc" if left[other]]
        assert all(had[user] - had[other] <= 1 for other in waiting)
    assert not any(left.values())


@pytest.mark.parametrize(("waiting", "is_taken"), [(1, True), (2, False)])
def test_as_many_runs_of_one_user_wait_as_may_and_the_next_one_is_refused(waiting: int, is_taken: bool) -> None:
    table = Table(Quotas(running=0, queued_per_user=2))
    for number in range(waiting):
        table.submit(RunId(f"r-{number}"), user_id=FLOODER)
    table.submit(RunId("other"), user_id=OTHER)
    if is_taken:
        table.submit(RunId("r-more"), user_id=FLOODER)
        return
    with pytest.raises(
        RateLimitedError, match=r"2 runs of user 'address:192\.0\.2\.1' wait already, limit 2"
    ) as refused:
        table.submit(RunId("r-more"), user_id=FLOODER)
    assert refused.value.values["retry_after_s"] == 10


async def test_on_the_real_host_a_flood_of_one_client_holds_up_another_by_one_run() -> None:
    order: list[str] = []

    async def work(context: StageContext, view: StageView) -> StageResult:
        order.append(view.user_id)
        await context.clock.sleep(1)
        return StageResult({})

    kit = Hosted(PIPELINE, {"a": [work]}, quotas=Quotas(running=1))
    for number in range(100):
        await kit.runner.submit(Request("sample", str(number), user_id=FLOODER))
    await kit.runner.submit(Request("sample", "?", user_id=OTHER))
    for _ in range(4):
        await asyncio.sleep(0)
        await kit.clock.advance(1)
    assert order.index(OTHER) <= 2
    await kit.runner.close()
