"""An agent reports to the supervisor that drives the run now, and takes no orders from those before it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.addresses import SUPERVISOR
from actors.run_owners import RunOwners
from runtime.primitives.ids import Address, RunId

FRAMES = st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 5), st.sampled_from(["one", "two"])), max_size=40)


@given(FRAMES)
def test_frames_of_a_run_are_taken_from_its_newest_owner_alone_whatever_other_runs_do(
    frames: list[tuple[str, int, str]],
) -> None:
    owners, newest = RunOwners(100), dict[str, tuple[int, str]]()
    for run_id, epoch, supervisor in frames:
        taken = owners.admit(RunId(run_id), epoch, Address(supervisor))
        assert taken is (epoch >= newest.get(run_id, (0, ""))[0])
        if taken:
            newest[run_id] = (epoch, supervisor)
        assert owners.address_of(RunId(run_id)) == newest.get(run_id, (0, SUPERVISOR))[1]


def test_each_owner_that_takes_runs_over_is_told_of_once() -> None:
    told: list[str] = []
    owners = RunOwners(10, on_successor=lambda: told.append("again"))
    first, second = Address("one"), Address("two")
    for run_id in ("x", "y"):
        owners.admit(RunId(run_id), 1, first)
    assert told == [], "nobody had these runs before"
    for run_id in ("x", "y", "x"):
        owners.admit(RunId(run_id), 2, first)
    assert told == ["again"]
    owners.admit(RunId("x"), 1, first)
    owners.admit(RunId("z"), 2, second)
    assert told == ["again"], "an owner that was replaced, and one of a new run, take nothing over"
    owners.admit(RunId("y"), 3, second)
    assert told == ["again"] * 2


def test_the_owners_of_the_last_runs_are_remembered() -> None:
    owners = RunOwners(2)
    for number in range(3):
        assert owners.admit(RunId(f"r-{number}"), 3, Address(f"supervisor#{number + 2}"))
    assert [owners.address_of(RunId(f"r-{number}")) for number in range(3)] == [
        SUPERVISOR,
        "supervisor#3",
        "supervisor#4",
    ]
